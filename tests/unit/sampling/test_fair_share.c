/* SPDX-License-Identifier: Apache-2.0 */
/* test_fair_share.c - who is slowed, how much, and who is left out. */
#include "agent/sampling/fair_share.h"

#include <math.h>

#include "tests/unit/unit_test.h"

#define US                           1e3
#define MS                           1e6
#define assert_near(value, expected) assert_true(fabs((value) - (expected)) < 0.001 * (expected))

/* A target of an owner. */
#define OF(whose, tick, hz)                                    \
    {                                                          \
        .owner = (whose), .tick_ns = (tick), .wanted_hz = (hz) \
    }

static double use(const struct fair_share_target *targets, size_t count, double share)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        if (!targets[i].left_out)
            sum +=
                targets[i].tick_ns * fair_share_hz(share, targets[i].tick_ns, targets[i].wanted_hz);
    return sum;
}

static double use_of(const struct fair_share_target *targets, size_t count, uint64_t owner)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        if (targets[i].owner == owner)
            sum += targets[i].tick_ns *
                   fair_share_hz(targets[i].share_ns, targets[i].tick_ns, targets[i].wanted_hz);
    return sum;
}

static void slows_nobody_within_the_budget(void **state)
{
    struct fair_share_target targets[] = {OF(0, 100 * US, 19), OF(0, 200 * US, 19)};

    (void)state;
    assert_true(isinf(fair_share_divide(targets, 2, 10 * MS)));
    assert_true(fair_share_hz(INFINITY, 100 * US, 19) == 19);
    assert_true(isinf(fair_share_divide(NULL, 0, 10 * MS)));
}

static void slows_the_most_expensive_only(void **state)
{
    struct fair_share_target targets[10];
    double share;

    (void)state;
    for (size_t i = 0; i < 10; i++)
        targets[i] = (struct fair_share_target)OF(0, 20 * US, 19);
    targets[7].tick_ns = 3 * MS; /* 57 ms a second */
    (void)fair_share_divide(targets, 10, 10 * MS);
    share = targets[7].share_ns;

    for (size_t i = 0; i < 10; i++)
        if (i != 7)
            assert_true(fair_share_hz(share, targets[i].tick_ns, 19) == 19);
    assert_near(fair_share_hz(share, targets[7].tick_ns, 19), (10 - 9 * 0.38) / 3);
    assert_near(use(targets, 10, share), 10 * MS);
}

static void divides_what_cheap_ones_leave_between_the_expensive(void **state)
{
    struct fair_share_target targets[] = {OF(0, 10 * US, 10), OF(0, 1 * MS, 100),
                                          OF(0, 2 * MS, 100)};
    double share;

    (void)state;
    (void)fair_share_divide(targets, 3, 10 * MS);
    share = targets[1].share_ns;
    assert_near(share, (10 * MS - 100 * US) / 2);
    assert_near(fair_share_hz(share, targets[1].tick_ns, 100), 4.95);
    assert_near(fair_share_hz(share, targets[2].tick_ns, 100), 2.475);
}

static void goes_down_to_a_sample_a_second_and_no_further(void **state)
{
    struct fair_share_target targets[] = {OF(0, 6 * MS, 19), OF(0, 6 * MS, 0.1)};

    (void)state;
    assert_true(fair_share_divide(targets, 2, 1 * MS) == 0);
    assert_true(fair_share_hz(0, 6 * MS, 19) == 1);
    assert_true(fair_share_hz(0, 6 * MS, 0.1) == 0.1); /* what is asked for is less */
}

static void a_floor_is_paid_by_the_others(void **state)
{
    struct fair_share_target targets[] = {OF(0, 8 * MS, 19), OF(0, 1 * MS, 19)};
    double share;

    (void)state;
    (void)fair_share_divide(targets, 2, 10 * MS);
    share = targets[1].share_ns;
    assert_true(fair_share_hz(share, 8 * MS, 19) == 1);
    assert_near(fair_share_hz(share, 1 * MS, 19), 2);
}

static void leaves_out_only_those_that_break_the_budget_at_a_sample_a_second(void **state)
{
    struct fair_share_target targets[] = {OF(0, 100 * US, 19), OF(0, 50 * MS, 19),
                                          OF(0, 100 * US, 19), OF(0, 9 * MS, 19)};

    (void)state;
    assert_int_equal(fair_share_leave_out(targets, 4, INFINITY, 10 * MS), 1);
    assert_true(targets[1].left_out);
    assert_near(use(targets, 4, 0), 9.2 * MS);
    assert_int_equal(fair_share_leave_out(targets, 4, INFINITY, 10 * MS), 0);
}

static void divides_between_owners_first(void **state)
{
    struct fair_share_target targets[] = {OF(7, 1 * MS, 19), OF(5, 100 * US, 19), OF(7, 1 * MS, 19),
                                          OF(7, 1 * MS, 19), OF(5, 200 * US, 19)};

    (void)state;
    fair_share_sort(targets, 5);
    assert_near(fair_share_divide(targets, 5, 10 * MS), 5 * MS);

    for (size_t i = 0; i < 5; i++)
        assert_near(targets[i].share_ns, targets[i].owner == 7 ? 5 * MS / 3 : 3.1 * MS);
    assert_near(use_of(targets, 5, 7), 5 * MS);
    assert_near(use_of(targets, 5, 5), 5 * MS);
}

static void nobody_gets_more_by_having_more_processes(void **state)
{
    struct fair_share_target targets[101];

    (void)state;
    for (size_t i = 0; i < 101; i++)
        targets[i] = (struct fair_share_target)OF(i > 0, 60 * US, 19);
    (void)fair_share_divide(targets, 101, 10 * MS);

    assert_near(fair_share_hz(targets[0].share_ns, 60 * US, 19), 19);
    assert_near(use_of(targets, 101, 1), 10 * MS - 19 * 60 * US);
}

static void leaves_out_what_an_owner_has_too_much_of(void **state)
{
    struct fair_share_target targets[] = {OF(1, 2 * MS, 19), OF(2, 1 * MS, 19), OF(2, 800 * US, 19),
                                          OF(2, 700 * US, 19)};

    (void)state;
    assert_near(fair_share_most_at_floor(targets, 4), 2.5 * MS);
    assert_int_equal(fair_share_leave_out(targets, 4, 2 * MS, 10 * MS), 1);
    assert_true(targets[1].left_out);
    assert_near(fair_share_most_at_floor(targets, 4), 2 * MS);
    assert_int_equal(fair_share_leave_out(targets, 4, 2 * MS, 1 * MS), 2);
    assert_false(targets[3].left_out);
}

static void knows_no_cost_of_a_new_one(void **state)
{
    struct fair_share_target targets[] = {OF(0, 0, 19), OF(0, 1 * MS, 19)};
    double share;

    (void)state;
    (void)fair_share_divide(targets, 2, 5 * MS);
    share = targets[1].share_ns;
    assert_true(fair_share_hz(share, 0, 19) == 19);
    assert_near(share, 5 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slows_nobody_within_the_budget),
        cmocka_unit_test(slows_the_most_expensive_only),
        cmocka_unit_test(divides_what_cheap_ones_leave_between_the_expensive),
        cmocka_unit_test(goes_down_to_a_sample_a_second_and_no_further),
        cmocka_unit_test(a_floor_is_paid_by_the_others),
        cmocka_unit_test(leaves_out_only_those_that_break_the_budget_at_a_sample_a_second),
        cmocka_unit_test(divides_between_owners_first),
        cmocka_unit_test(nobody_gets_more_by_having_more_processes),
        cmocka_unit_test(leaves_out_what_an_owner_has_too_much_of),
        cmocka_unit_test(knows_no_cost_of_a_new_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

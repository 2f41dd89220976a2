/* SPDX-License-Identifier: Apache-2.0 */
/* test_fair_share.c - who is slowed, how much, and who is left out. */
#include "agent/sampling/fair_share.h"

#include <math.h>

#include "tests/unit/unit_test.h"

#define US                           1e3
#define MS                           1e6
#define assert_near(value, expected) assert_true(fabs((value) - (expected)) < 0.001 * (expected))

static double use(const struct fair_share_target *targets, size_t count, double share)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        if (!targets[i].left_out)
            sum +=
                targets[i].tick_ns * fair_share_hz(share, targets[i].tick_ns, targets[i].wanted_hz);
    return sum;
}

static void slows_nobody_within_the_budget(void **state)
{
    const struct fair_share_target targets[] = {{100 * US, 19, false}, {200 * US, 19, false}};

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
        targets[i] = (struct fair_share_target){20 * US, 19, false};
    targets[7].tick_ns = 3 * MS; /* 57 ms a second */
    share = fair_share_divide(targets, 10, 10 * MS);

    for (size_t i = 0; i < 10; i++)
        if (i != 7)
            assert_true(fair_share_hz(share, targets[i].tick_ns, 19) == 19);
    assert_near(fair_share_hz(share, targets[7].tick_ns, 19), (10 - 9 * 0.38) / 3);
    assert_near(use(targets, 10, share), 10 * MS);
}

static void divides_what_cheap_ones_leave_between_the_expensive(void **state)
{
    const struct fair_share_target targets[] = {
        {10 * US, 10, false}, {1 * MS, 100, false}, {2 * MS, 100, false}};
    const double share = fair_share_divide(targets, 3, 10 * MS);

    (void)state;
    assert_near(share, (10 * MS - 100 * US) / 2);
    assert_near(fair_share_hz(share, targets[1].tick_ns, 100), 4.95);
    assert_near(fair_share_hz(share, targets[2].tick_ns, 100), 2.475);
}

static void goes_down_to_a_sample_a_second_and_no_further(void **state)
{
    const struct fair_share_target targets[] = {{6 * MS, 19, false}, {6 * MS, 0.1, false}};

    (void)state;
    assert_true(fair_share_divide(targets, 2, 1 * MS) == 0);
    assert_true(fair_share_hz(0, 6 * MS, 19) == 1);
    assert_true(fair_share_hz(0, 6 * MS, 0.1) == 0.1); /* what is asked for is less */
}

static void a_floor_is_paid_by_the_others(void **state)
{
    const struct fair_share_target targets[] = {{8 * MS, 19, false}, {1 * MS, 19, false}};
    const double share = fair_share_divide(targets, 2, 10 * MS);

    (void)state;
    assert_true(fair_share_hz(share, 8 * MS, 19) == 1);
    assert_near(fair_share_hz(share, 1 * MS, 19), 2);
}

static void leaves_out_only_those_that_break_the_budget_at_a_sample_a_second(void **state)
{
    struct fair_share_target targets[] = {
        {100 * US, 19, false}, {50 * MS, 19, false}, {100 * US, 19, false}, {9 * MS, 19, false}};

    (void)state;
    assert_int_equal(fair_share_leave_out(targets, 4, 10 * MS), 1);
    assert_true(targets[1].left_out);
    assert_near(use(targets, 4, 0), 9.2 * MS);
    assert_int_equal(fair_share_leave_out(targets, 4, 10 * MS), 0);
}

static void knows_no_cost_of_a_new_one(void **state)
{
    const struct fair_share_target targets[] = {{0, 19, false}, {1 * MS, 19, false}};
    const double share = fair_share_divide(targets, 2, 5 * MS);

    (void)state;
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
        cmocka_unit_test(knows_no_cost_of_a_new_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

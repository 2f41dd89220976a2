/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpu_attribution.c - CPU time is divided in proportion, and not a nanosecond is lost. */
#include <stdlib.h>

#include "agent/sampling/cpu_attribution.h"
#include "tests/unit/unit_test.h"

enum { ROWS = 2 * CPU_ATTRIBUTION_MAX };

struct given {
    uint64_t shares[ROWS], sum;
    size_t calls;
};

static void give(void *ctx, uint32_t row, uint64_t share)
{
    struct given *given = ctx;

    assert_true(row < ROWS);
    given->shares[row] += share;
    given->sum += share;
    given->calls++;
}

static struct given divide_by(struct cpu_attribution *cpu_attribution,
                              enum cpu_attribution_kind kind, uint64_t amount)
{
    struct given given = {.calls = 0};
    uint64_t total = cpu_attribution_divide(cpu_attribution, kind, amount, give, &given);

    assert_true(total == given.sum);
    return given;
}

static struct given divide(struct cpu_attribution *cpu_attribution, uint64_t amount)
{
    const struct given given = divide_by(cpu_attribution, CPU_ATTRIBUTION_RAN, amount);

    cpu_attribution_clear(cpu_attribution);
    return given;
}

static void divides_in_proportion(void **state)
{
    struct cpu_attribution cpu_attribution;
    struct given given;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 7, 300, CPU_ATTRIBUTION_RAN));
    assert_true(cpu_attribution_add(&cpu_attribution, 3, 100, CPU_ATTRIBUTION_RAN));
    assert_true(cpu_attribution_add(&cpu_attribution, 7, 300, CPU_ATTRIBUTION_RAN));
    assert_true(cpu_attribution_add(&cpu_attribution, 9, 100, CPU_ATTRIBUTION_RAN));
    given = divide(&cpu_attribution, 8000);

    assert_int_equal(given.calls, 3);
    assert_int_equal(given.shares[7], 6000);
    assert_int_equal(given.shares[3], 1000);
    assert_int_equal(given.shares[9], 1000);
    cpu_attribution_finish(&cpu_attribution);
}

static void gives_nothing_where_no_row_was_seen(void **state)
{
    struct cpu_attribution cpu_attribution;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_int_equal(divide(&cpu_attribution, 8000).sum, 0);
    cpu_attribution_finish(&cpu_attribution);
}

static void divides_evenly_where_no_row_has_weight(void **state)
{
    struct cpu_attribution cpu_attribution;
    struct given given;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    for (uint32_t row = 0; row < 4; row++)
        assert_true(cpu_attribution_add(&cpu_attribution, row, 0, CPU_ATTRIBUTION_RAN));
    given = divide(&cpu_attribution, 400);
    for (uint32_t row = 0; row < 4; row++)
        assert_int_equal(given.shares[row], 100);
    cpu_attribution_finish(&cpu_attribution);
}

static void forgets_what_it_has_given(void **state)
{
    struct cpu_attribution cpu_attribution;
    struct given given;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 500, CPU_ATTRIBUTION_RAN));
    assert_int_equal(divide(&cpu_attribution, 100).sum, 100);
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 1, CPU_ATTRIBUTION_RAN));
    given = divide(&cpu_attribution, 100);

    assert_int_equal(given.shares[1], 0);
    assert_int_equal(given.shares[2], 100);
    cpu_attribution_finish(&cpu_attribution);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 16;
}

static void gives_out_every_nanosecond_whatever_the_weights(void **state)
{
    enum { ROUNDS = 3000, MOST = 40 };
    uint64_t seed = 1, amount, weight;
    struct cpu_attribution cpu_attribution;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + next_random(&seed) % MOST;
        unsigned shift = (unsigned)(next_random(&seed) % 48);

        for (size_t i = 0; i < count; i++) {
            weight = next_random(&seed) >> shift;
            assert_true(cpu_attribution_add(&cpu_attribution, (uint32_t)(next_random(&seed) % MOST),
                                            weight, CPU_ATTRIBUTION_RAN));
        }
        amount = next_random(&seed) >> (next_random(&seed) % 48);
        assert_true(divide(&cpu_attribution, amount).sum == amount);
    }
    cpu_attribution_finish(&cpu_attribution);
}

static void keeps_each_share_near_its_proportion(void **state)
{
    enum { COUNT = 1000 };
    struct cpu_attribution cpu_attribution;
    struct given given;
    uint64_t seed = 5, weights[COUNT], total = 0, amount = UINT64_C(15000000000);
    double exact, off;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    for (uint32_t i = 0; i < COUNT; i++) {
        weights[i] = next_random(&seed) % 60000000;
        total += weights[i];
        assert_true(cpu_attribution_add(&cpu_attribution, i, weights[i], CPU_ATTRIBUTION_RAN));
    }
    given = divide(&cpu_attribution, amount);

    for (uint32_t i = 0; i < COUNT; i++) {
        exact = (double)weights[i] / (double)total * (double)amount;
        off = (double)given.shares[i] - exact;
        assert_true(off < 2 && off > -2);
    }
    cpu_attribution_finish(&cpu_attribution);
}

static void takes_no_more_rows_than_its_maximum(void **state)
{
    struct cpu_attribution cpu_attribution;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    for (uint32_t row = 0; row < CPU_ATTRIBUTION_MAX; row++)
        assert_true(cpu_attribution_add(&cpu_attribution, row, 1, CPU_ATTRIBUTION_RAN));
    assert_false(
        cpu_attribution_add(&cpu_attribution, CPU_ATTRIBUTION_MAX, 1, CPU_ATTRIBUTION_RAN));
    assert_true(
        cpu_attribution_add(&cpu_attribution, 5, 1, CPU_ATTRIBUTION_RAN)); /* one that it has */
    assert_int_equal(divide(&cpu_attribution, 12345).sum, 12345);
    assert_true(cpu_attribution_add(&cpu_attribution, CPU_ATTRIBUTION_MAX, 1, CPU_ATTRIBUTION_RAN));
    cpu_attribution_finish(&cpu_attribution);
}

static void divides_what_it_waited_over_the_stacks_where_it_waited(void **state)
{
    struct cpu_attribution cpu_attribution;
    struct given given;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    for (int part = 0; part < 2; part++) {
        assert_true(cpu_attribution_add(&cpu_attribution, 1, 300, CPU_ATTRIBUTION_RAN));
        assert_true(cpu_attribution_add(&cpu_attribution, 2, 100, CPU_ATTRIBUTION_RAN));
        assert_true(cpu_attribution_add(&cpu_attribution, 2, 100, CPU_ATTRIBUTION_WAITED));
        assert_true(cpu_attribution_add(&cpu_attribution, 3, 300, CPU_ATTRIBUTION_WAITED));
        cpu_attribution_end_part(&cpu_attribution, 40);
    }
    given = divide_by(&cpu_attribution, CPU_ATTRIBUTION_WAITED, 8000);
    assert_int_equal(given.shares[1], 0);
    assert_int_equal(given.shares[2], 2000);
    assert_int_equal(given.shares[3], 6000);
    given = divide(&cpu_attribution, 80);
    assert_int_equal(given.shares[1], 60);
    assert_int_equal(given.shares[2], 20);
    assert_int_equal(given.shares[3], 0);
    cpu_attribution_finish(&cpu_attribution);
}

static void divides_by_what_there_is_where_a_kind_was_not_seen(void **state)
{
    struct cpu_attribution cpu_attribution;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 300, CPU_ATTRIBUTION_RAN));
    assert_int_equal(divide_by(&cpu_attribution, CPU_ATTRIBUTION_WAITED, 90).shares[1], 90);
    cpu_attribution_clear(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 100, CPU_ATTRIBUTION_WAITED));
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 200, CPU_ATTRIBUTION_WAITED));
    assert_int_equal(divide(&cpu_attribution, 90).shares[2], 60);
    cpu_attribution_finish(&cpu_attribution);
}

/* Else the CPU time that it used meanwhile would have no stack. */
static void a_part_goes_on_until_it_was_seen_running(void **state)
{
    struct cpu_attribution cpu_attribution;
    struct given given;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 500, CPU_ATTRIBUTION_WAITED));
    assert_false(cpu_attribution_end_part(&cpu_attribution, 100));
    assert_int_equal(cpu_attribution.ended, 0);
    assert_int_equal(cpu_attribution.samples, 0);
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 500, CPU_ATTRIBUTION_RAN));
    assert_int_equal(cpu_attribution.samples, 1);
    assert_true(cpu_attribution_end_part(&cpu_attribution, 200));
    given = divide(&cpu_attribution, 200);
    assert_int_equal(given.shares[1], 0);
    assert_int_equal(given.shares[2], 200);
    cpu_attribution_finish(&cpu_attribution);
}

/* Another program took the CPU for half of the second part. */
static void scales_weights_to_the_cpu_time_of_their_part(void **state)
{
    struct cpu_attribution cpu_attribution;
    struct given given;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 1000, CPU_ATTRIBUTION_RAN));
    cpu_attribution_end_part(&cpu_attribution, 1000);
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 1000, CPU_ATTRIBUTION_RAN));
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 1000, CPU_ATTRIBUTION_RAN));
    cpu_attribution_end_part(&cpu_attribution, 1000);
    given = divide(&cpu_attribution, 2000);

    assert_int_equal(given.shares[1], 1500);
    assert_int_equal(given.shares[2], 500);
    cpu_attribution_finish(&cpu_attribution);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divides_what_it_waited_over_the_stacks_where_it_waited),
        cmocka_unit_test(divides_by_what_there_is_where_a_kind_was_not_seen),
        cmocka_unit_test(a_part_goes_on_until_it_was_seen_running),
        cmocka_unit_test(scales_weights_to_the_cpu_time_of_their_part),
        cmocka_unit_test(divides_in_proportion),
        cmocka_unit_test(gives_nothing_where_no_row_was_seen),
        cmocka_unit_test(divides_evenly_where_no_row_has_weight),
        cmocka_unit_test(forgets_what_it_has_given),
        cmocka_unit_test(gives_out_every_nanosecond_whatever_the_weights),
        cmocka_unit_test(keeps_each_share_near_its_proportion),
        cmocka_unit_test(takes_no_more_rows_than_its_maximum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

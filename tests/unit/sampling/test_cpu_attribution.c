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

static struct given divide(struct cpu_attribution *cpu_attribution, uint64_t amount)
{
    struct given given = {.calls = 0};
    uint64_t total = cpu_attribution_divide(cpu_attribution, amount, give, &given);

    assert_true(total == given.sum);
    cpu_attribution_clear(cpu_attribution);
    return given;
}

static void divides_in_proportion(void **state)
{
    struct cpu_attribution cpu_attribution;
    struct given given;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 7, 300, false));
    assert_true(cpu_attribution_add(&cpu_attribution, 3, 100, false));
    assert_true(cpu_attribution_add(&cpu_attribution, 7, 300, false));
    assert_true(cpu_attribution_add(&cpu_attribution, 9, 100, false));
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
        assert_true(cpu_attribution_add(&cpu_attribution, row, 0, false));
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
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 500, false));
    assert_int_equal(divide(&cpu_attribution, 100).sum, 100);
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 1, false));
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
                                            weight, false));
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
        assert_true(cpu_attribution_add(&cpu_attribution, i, weights[i], false));
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
        assert_true(cpu_attribution_add(&cpu_attribution, row, 1, false));
    assert_false(cpu_attribution_add(&cpu_attribution, CPU_ATTRIBUTION_MAX, 1, false));
    assert_true(cpu_attribution_add(&cpu_attribution, 5, 1, false)); /* one that it has */
    assert_int_equal(divide(&cpu_attribution, 12345).sum, 12345);
    assert_true(cpu_attribution_add(&cpu_attribution, CPU_ATTRIBUTION_MAX, 1, false));
    cpu_attribution_finish(&cpu_attribution);
}

static void leaves_out_what_a_thread_waited_where_it_slept(void **state)
{
    struct cpu_attribution cpu_attribution;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 400, false));
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 100, false));
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 300, true));
    cpu_attribution_end_part(&cpu_attribution, 600, 200); /* a quarter of the time it waited */

    cpu_attribution_leave_waits(&cpu_attribution);
    assert_int_equal(cpu_attribution.items[0].ended.seen, 300);
    assert_int_equal(cpu_attribution.items[1].ended.seen, 150);
    assert_int_equal(cpu_attribution.total, 450);
    cpu_attribution_finish(&cpu_attribution);
}

/* In one part it waited for longer than it was seen where it slept, in another it did not wait. */
static void leaves_out_what_it_waited_in_all_parts(void **state)
{
    struct cpu_attribution cpu_attribution;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 300, false));
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 100, true));
    cpu_attribution_end_part(&cpu_attribution, 400, 400);
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 300, false));
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 100, true));
    cpu_attribution_end_part(&cpu_attribution, 400, 0);

    cpu_attribution_leave_waits(&cpu_attribution);
    assert_int_equal(cpu_attribution.items[0].ended.seen, 600);
    assert_int_equal(cpu_attribution.items[1].ended.seen, 0);
    cpu_attribution_finish(&cpu_attribution);
}

static void leaves_out_no_more_than_was_seen_where_it_slept(void **state)
{
    struct cpu_attribution cpu_attribution;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 400, true));
    cpu_attribution_end_part(&cpu_attribution, 400, 4000);
    cpu_attribution_leave_waits(&cpu_attribution);
    assert_int_equal(cpu_attribution.total, 400); /* seen nowhere else: it is all there is */
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 100, false));
    cpu_attribution_end_part(&cpu_attribution, 100, 4000);
    cpu_attribution_leave_waits(&cpu_attribution);
    assert_true(cpu_attribution.items[0].ended.seen < 100);
    assert_int_equal(cpu_attribution.items[1].ended.seen, 100);
    cpu_attribution_finish(&cpu_attribution);
}

/* Another program took the CPU for half of the second part. */
static void scales_weights_to_the_cpu_time_of_their_part(void **state)
{
    struct cpu_attribution cpu_attribution;
    struct given given;

    (void)state;
    cpu_attribution_init(&cpu_attribution);
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 1000, false));
    cpu_attribution_end_part(&cpu_attribution, 1000, 0);
    assert_true(cpu_attribution_add(&cpu_attribution, 2, 1000, false));
    assert_true(cpu_attribution_add(&cpu_attribution, 1, 1000, false));
    cpu_attribution_end_part(&cpu_attribution, 1000, 1000);
    given = divide(&cpu_attribution, 2000);

    assert_int_equal(given.shares[1], 1500);
    assert_int_equal(given.shares[2], 500);
    cpu_attribution_finish(&cpu_attribution);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_out_what_a_thread_waited_where_it_slept),
        cmocka_unit_test(leaves_out_what_it_waited_in_all_parts),
        cmocka_unit_test(scales_weights_to_the_cpu_time_of_their_part),
        cmocka_unit_test(leaves_out_no_more_than_was_seen_where_it_slept),
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

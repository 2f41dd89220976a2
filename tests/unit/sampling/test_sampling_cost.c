/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampling_cost.c - what a sample of a target costs. */
#include "agent/sampling/sampling_cost.h"

#include "base/time_units.h"
#include "tests/unit/unit_test.h"

#define PERIOD (NS_PER_S / 20)

static void is_the_mean_of_its_ticks(void **state)
{
    struct sampling_cost cost = {0};

    (void)state;
    assert_true(sampling_cost_tick_ns(&cost) == 0);
    for (int i = 0; i < 20; i++) {
        sampling_cost_add(&cost, 20000, 0, 1, PERIOD);
        sampling_cost_add(&cost, 10000, 0, 9, PERIOD); /* it was idle for eight */
    }
    assert_true(sampling_cost_tick_ns(&cost) == 3000);
}

/* Ten seconds at 20 Hz are 200 ticks. */
static void spreads_what_a_new_target_costs(void **state)
{
    struct sampling_cost cost = {0};

    (void)state;
    sampling_cost_add(&cost, 1800000, 4000, 1, PERIOD); /* all names are new: 2 ms */
    assert_true(sampling_cost_tick_ns(&cost) == 10000);
    for (int i = 0; i < 99; i++)
        sampling_cost_add(&cost, 20000, 0, 1, PERIOD);
    assert_true(sampling_cost_tick_ns(&cost) == 19900);
    for (int i = 0; i < 100; i++)
        sampling_cost_add(&cost, 20000, 0, 1, PERIOD);
    assert_true(sampling_cost_tick_ns(&cost) == 29900);
}

static void has_the_price_of_new_names(void **state)
{
    struct sampling_cost plain = {0}, flood = {0};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        sampling_cost_add(&plain, 20000, 0, 1, PERIOD);
        sampling_cost_add(&flood, 20000, 100000, 1, PERIOD); /* 100 names of 1,000 bytes */
    }
    assert_true(sampling_cost_tick_ns(&plain) == 20000);
    assert_true(sampling_cost_tick_ns(&flood) == 20000 + 100000.0 * SAMPLING_COST_BYTE_NS);
}

static void forgets_what_is_minutes_ago(void **state)
{
    struct sampling_cost cost = {0};

    (void)state;
    for (int i = 0; i < 60 * 20; i++)
        sampling_cost_add(&cost, 5000000, 1000, 1, PERIOD);
    for (int i = 0; i < 600 * 20; i++)
        sampling_cost_add(&cost, 10000, 0, 1, PERIOD);
    assert_true(sampling_cost_tick_ns(&cost) < 10100);
    assert_true(cost.bytes < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_mean_of_its_ticks),
        cmocka_unit_test(spreads_what_a_new_target_costs),
        cmocka_unit_test(has_the_price_of_new_names),
        cmocka_unit_test(forgets_what_is_minutes_ago),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock_watch.c - a clock that was set is not trusted until it has stood for an hour. */
#include "exporters/clock_watch.h"
#include "tests/unit/unit_test.h"

#define S_NS   ((int64_t)NS_PER_S)
#define NOW_NS (1795000000 * S_NS)

static void trusts_the_clock_that_it_begins_with(void **state)
{
    struct clock_watch watch = {0};

    (void)state;
    assert_false(clock_watch_look(&watch, NOW_NS, 5 * S_NS));
    assert_true(clock_watch_is_steady(&watch));
}

static void does_not_mind_time_that_passes_or_a_small_step(void **state)
{
    struct clock_watch watch = {0};

    (void)state;
    (void)clock_watch_look(&watch, NOW_NS, 5 * S_NS);
    assert_false(clock_watch_look(&watch, NOW_NS + 86400 * S_NS, 86405 * S_NS));
    assert_false(clock_watch_look(&watch, NOW_NS + 86400 * S_NS + 599 * S_NS, 86405 * S_NS));
    assert_true(clock_watch_is_steady(&watch));
}

static void waits_an_hour_after_the_last_step(void **state)
{
    static const int64_t steps[] = {30 * 86400, -30 * 86400, 601, -601};
    struct clock_watch watch;

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        watch = (struct clock_watch){0};
        (void)clock_watch_look(&watch, NOW_NS, 5 * S_NS);
        assert_true(clock_watch_look(&watch, NOW_NS + steps[i] * S_NS, 5 * S_NS));
        assert_false(clock_watch_is_steady(&watch));
        assert_true(clock_watch_look(&watch, NOW_NS + 3 * S_NS, 8 * S_NS)); /* it is put right */
        assert_false(clock_watch_look(&watch, NOW_NS + 3602 * S_NS, 3607 * S_NS));
        assert_false(clock_watch_is_steady(&watch));
        assert_false(clock_watch_look(&watch, NOW_NS + 3603 * S_NS, 3608 * S_NS));
        assert_true(clock_watch_is_steady(&watch));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trusts_the_clock_that_it_begins_with),
        cmocka_unit_test(does_not_mind_time_that_passes_or_a_small_step),
        cmocka_unit_test(waits_an_hour_after_the_last_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_utc.c - a clock that was set, and a host that slept, are told apart. */
#include "agent/host/utc.h"
#include "tests/unit/unit_test.h"

static const struct utc then = {.real_ns = INT64_C(1700000000000000000),
                                .boot_ns = INT64_C(500000000000),
                                .mono_ns = INT64_C(400000000000)};

static struct utc later(int64_t passed_ns, int64_t set_ns, int64_t suspended_ns)
{
    return (struct utc){.real_ns = then.real_ns + passed_ns + suspended_ns + set_ns,
                        .boot_ns = then.boot_ns + passed_ns + suspended_ns,
                        .mono_ns = then.mono_ns + passed_ns};
}

static void sees_a_clock_that_was_set(void **state)
{
    struct utc forward = later(15000000000, 3600000000000, 0);
    struct utc back = later(15000000000, -3600000000000, 0);

    (void)state;
    assert_int_equal(utc_step(&then, &forward), 3600000000000);
    assert_int_equal(utc_step(&then, &back), -3600000000000);
    assert_int_equal(utc_suspended(&then, &back), 0);
}

static void takes_a_suspend_for_no_step(void **state)
{
    struct utc now = later(15000000000, 0, 7200000000000);

    (void)state;
    assert_int_equal(utc_step(&then, &now), 0);
    assert_int_equal(utc_suspended(&then, &now), 7200000000000);
}

static void lets_a_clock_be_slewed(void **state)
{
    struct utc now = later(15000000000, 7500000, 0);

    (void)state;
    assert_int_equal(utc_step(&then, &now), 0);
}

static void reads_clocks_that_run(void **state)
{
    struct utc first = utc_now(), second = utc_now();

    (void)state;
    assert_true(first.mono_ns > 0 && first.boot_ns >= first.mono_ns);
    assert_true(second.mono_ns >= first.mono_ns && second.boot_ns >= first.boot_ns);
    assert_true(first.real_ns > first.boot_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sees_a_clock_that_was_set),
        cmocka_unit_test(takes_a_suspend_for_no_step),
        cmocka_unit_test(lets_a_clock_be_slewed),
        cmocka_unit_test(reads_clocks_that_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

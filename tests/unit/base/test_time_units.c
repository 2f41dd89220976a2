/* SPDX-License-Identifier: Apache-2.0 */
/* test_time_units.c - times of the kernel are nanoseconds, and back again. */
#include "base/time_units.h"
#include "tests/unit/unit_test.h"

static void times_are_the_same_there_and_back(void **state)
{
    static const uint64_t times[] = {0, 1, NS_PER_S - 1, NS_PER_S,
                                     1795197301 * NS_PER_S + 123456789};
    struct timespec time;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        time = timespec_of_ns(times[i]);
        assert_true(time.tv_nsec >= 0 && time.tv_nsec < (long)NS_PER_S);
        assert_true(timespec_to_ns(time) == times[i]);
    }
    assert_int_equal(time.tv_sec, 1795197301);
    assert_int_equal(time.tv_nsec, 123456789);
}

static void a_time_before_1970_is_negative_as_a_signed_number(void **state)
{
    const struct timespec before = {.tv_sec = -2, .tv_nsec = 999999999};

    (void)state;
    assert_true((int64_t)timespec_to_ns(before) == -1000000001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_the_same_there_and_back),
        cmocka_unit_test(a_time_before_1970_is_negative_as_a_signed_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_percent.c - what is a percent-encoded byte, and what only looks like one. */
#include "base/percent.h"
#include "tests/unit/unit_test.h"

static void two_digits_are_a_byte(void **state)
{
    (void)state;
    assert_int_equal(percent_byte("%00", 3), 0);
    assert_int_equal(percent_byte("%2cx", 4), ',');
    assert_int_equal(percent_byte("%2C", 3), ',');
    assert_int_equal(percent_byte("%fF", 3), 255);
}

static void all_else_is_none(void **state)
{
    (void)state;
    assert_int_equal(percent_byte("%2C", 2), -1); /* cut */
    assert_int_equal(percent_byte("", 0), -1);
    assert_int_equal(percent_byte("a2C", 3), -1);
    assert_int_equal(percent_byte("%2g", 3), -1);
    assert_int_equal(percent_byte("%@0", 3), -1);
    assert_int_equal(percent_byte("% 2", 3), -1);
    assert_int_equal(percent_byte("%+2", 3), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_digits_are_a_byte),
        cmocka_unit_test(all_else_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_retry_after.c - pauses that servers ask for, and nonsense. */
#include <string.h>

#include "exporters/exporter.h"
#include "exporters/http/retry_after.h"
#include "tests/unit/unit_test.h"

#define NOW_S INT64_C(784111777) /* Sun, 06 Nov 1994 08:49:37 GMT, RFC 9110's example */

static uint64_t pause_s(const char *value)
{
    return retry_after_ns(value, strlen(value), NOW_S * (int64_t)NS_PER_S) / NS_PER_S;
}

static void reads_seconds(void **state)
{
    (void)state;
    assert_int_equal(pause_s("120"), 120);
    assert_int_equal(pause_s(" 7\t\r\n"), 7);
    assert_int_equal(pause_s("0"), 0);
    assert_int_equal(pause_s("00000000000000000000000000000000000000000000000005"), 5);
}

static void reads_all_three_forms_of_a_date(void **state)
{
    (void)state;
    assert_int_equal(pause_s("Sun, 06 Nov 1994 08:50:37 GMT"), 60);
    assert_int_equal(pause_s("Sunday, 06-Nov-94 08:49:47 GMT"), 10);
    assert_int_equal(pause_s("Sun Nov  6 08:49:38 1994"), 1);
}

static void asks_for_no_more_than_an_hour(void **state)
{
    (void)state;
    assert_int_equal(pause_s("3600"), 3600);
    assert_int_equal(pause_s("3601"), 3600);
    assert_int_equal(pause_s("18446744073709551617"), 3600);
    assert_int_equal(pause_s("999999999999999999999999999999999999999999"), 3600);
    assert_int_equal(pause_s("Fri, 31 Dec 9999 23:59:59 GMT"), 3600);
    assert_int_equal(retry_after_ns("Sun, 06 Nov 1994 08:49:37 GMT", 29, INT64_MIN),
                     EXPORTER_RETRY_AFTER_MAX_NS);
}

static void takes_a_date_that_is_over_for_no_pause(void **state)
{
    (void)state;
    assert_int_equal(pause_s("Sun, 06 Nov 1994 08:49:37 GMT"), 0);
    assert_int_equal(pause_s("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
    assert_int_equal(retry_after_ns("Sun, 06 Nov 1994 08:49:37 GMT", 29, INT64_MAX), 0);
}

static void takes_nonsense_for_no_pause(void **state)
{
    static const char *const values[] = {
        "",         " ",    "-5",       "+5",
        "5s",       "5.5",  "0x10",     "1e3",
        "now",      "soon", "5 5",      "Sun, 06 Nov",
        "\x01\x02", "\xff", "20301231", "Sun, 06 Nov 1994 08:50:37 GMT\x01"};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        uint64_t pause = pause_s(values[i]);

        if (pause != 0 && strcmp(values[i], "20301231") != 0)
            fail_msg("\"%s\" is read as %llu s", values[i], (unsigned long long)pause);
    }
}

static void reads_no_further_than_the_value(void **state)
{
    (void)state;
    assert_int_equal(retry_after_ns("1234", 2, 0), 12 * NS_PER_S);
    assert_int_equal(retry_after_ns("1234", 0, 0), 0);
}

static void finds_its_header_whatever_the_case(void **state)
{
    const char *value;
    size_t size;

    (void)state;
    assert_true(http_header_find("retry-AFTER: 9\r\n", 16, "Retry-After", &value, &size));
    assert_int_equal(size, 1);
    assert_int_equal(value[0], '9');
    assert_false(http_header_find("Retry-After", 11, "Retry-After", &value, &size));
    assert_false(http_header_find("X-Retry-After: 9", 16, "Retry-After", &value, &size));
    assert_false(http_header_find("Retry-After-All: 9", 18, "Retry-After", &value, &size));
    assert_false(http_header_find("", 0, "Retry-After", &value, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_seconds),
        cmocka_unit_test(reads_all_three_forms_of_a_date),
        cmocka_unit_test(asks_for_no_more_than_an_hour),
        cmocka_unit_test(takes_a_date_that_is_over_for_no_pause),
        cmocka_unit_test(takes_nonsense_for_no_pause),
        cmocka_unit_test(reads_no_further_than_the_value),
        cmocka_unit_test(finds_its_header_whatever_the_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_limit.c - how many lines of a kind may come, by a clock of the test's own. */
#include <stdlib.h>

#include "agent/host/log_limit.h"
#include "tests/unit/unit_test.h"

enum { KIND = 7, OTHER = 8 };

static struct log_limit limit;

static int set_up(void **state)
{
    (void)state;
    limit = (struct log_limit){0};
    return 0;
}

/* How many of `count` lines pass at `now_ns`; *last gets what the last of them carried. */
static size_t passed(uint64_t kind, size_t count, uint64_t now_ns, uint64_t *last)
{
    size_t i, good = 0;

    for (i = 0; i < count; i++)
        good += log_limit_pass(&limit, kind, now_ns, last);
    return good;
}

static void lets_a_burst_pass_and_no_more(void **state)
{
    uint64_t left_out = 99;

    (void)state;
    assert_int_equal(passed(KIND, 50, 1000, &left_out), LOG_BURST);
    assert_int_equal(left_out, 0);
}

static void lets_one_pass_each_time_after_that_and_counts(void **state)
{
    uint64_t left_out;

    (void)state;
    (void)passed(KIND, 50, 1000, &left_out);
    assert_int_equal(passed(KIND, 10, 1000 + LOG_EVERY_NS, &left_out), 1);
    assert_int_equal(left_out, 50 - LOG_BURST);
    assert_int_equal(passed(KIND, 10, 1000 + 2 * LOG_EVERY_NS, &left_out), 1);
    assert_int_equal(left_out, 9);
}

static void allows_a_burst_again_after_a_long_silence(void **state)
{
    uint64_t left_out;

    (void)state;
    (void)passed(KIND, 50, 1000, &left_out);
    assert_int_equal(passed(KIND, 50, 1000 + LOG_BURST * LOG_EVERY_NS, &left_out), LOG_BURST);
}

static void keeps_kinds_apart(void **state)
{
    uint64_t left_out;

    (void)state;
    (void)passed(KIND, 50, 1000, &left_out);
    assert_int_equal(passed(OTHER, 1, 1000, &left_out), 1);
    assert_int_equal(left_out, 0);
}

static void holds_any_number_of_kinds_to_the_size_of_its_table(void **state)
{
    uint64_t left_out, kind;
    size_t good = 0;

    (void)state;
    for (kind = 0; kind < 100000; kind++) /* as from hostile names */
        good += passed(kind * UINT64_C(0x9E3779B97F4A7C15), 1, 1000, &left_out);
    assert_in_range(good, LOG_BURST, LOG_KINDS + LOG_BURST);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(lets_a_burst_pass_and_no_more),
        TEST(lets_one_pass_each_time_after_that_and_counts),
        TEST(allows_a_burst_again_after_a_long_silence),
        TEST(keeps_kinds_apart),
        TEST(holds_any_number_of_kinds_to_the_size_of_its_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_sums.c - functions, places and calls get what they took, each stack once. */
#include "formats/sums.h"
#include "tests/unit/formats/example.h"

static const struct sums_call *call_of(const struct sums *sums, uint32_t caller, uint32_t callee)
{
    size_t i;

    for (i = 0; i < sums->call_count; i++)
        if (sums->calls[i].caller == caller && sums->calls[i].callee == callee)
            return &sums->calls[i];
    fail_msg("%u does not call %u", caller, callee);
    return NULL;
}

static void assert_sum(const struct sum *sum, int64_t own, int64_t total, int64_t seen)
{
    assert_int_equal(sum->own, own);
    assert_int_equal(sum->total, total);
    assert_int_equal(sum->seen, seen);
}

static void recursion_counts_once(void **state)
{
    struct pprof *p = format_profile("012");
    struct pprof_stacks *stacks = format_stacks(p);
    uint32_t fib = format_function(stacks, "fib"), work = format_function(stacks, "work");
    struct sums *sums;

    (void)state;
    assert_int_equal(sums_new(stacks, 2, NULL, &sums), PPROF_OK);
    assert_sum(&sums->functions[fib], 30000000, 30000000, 3);
    assert_sum(&sums->functions[work], 15000000, 45000000, 5);
    assert_sum(&call_of(sums, work, fib)->sum, 0, 30000000, 3);
    assert_sum(&call_of(sums, fib, fib)->sum, 30000000, 30000000, 3);
    sums_free(sums);
    sums_free(NULL);
    pprof_stacks_free(stacks);
    pprof_free(p);
}

static void deeper_recursion_is_one_call_that_has_the_leafs_own_time(void **state)
{
    static const char *const names[] = {"f", "f", "f", "root"};
    static const int32_t lines[] = {2, 3, 3, 9};
    struct pprof *p = format_profile("");
    struct pprof_stacks *stacks;
    struct sums *sums;

    (void)state;
    format_row(p, names, lines, 4, "/a.py", 7);
    stacks = format_stacks(p);

    assert_int_equal(sums_new(stacks, 2, NULL, &sums), PPROF_OK);
    assert_int_equal(sums->call_count, 2);
    assert_sum(&call_of(sums, 1, 1)->sum, 7, 7, 1);
    assert_sum(&call_of(sums, 2, 1)->sum, 0, 7, 1);
    sums_free(sums);
    pprof_stacks_free(stacks);
    pprof_free(p);
}

static void places_can_be_anything_that_lines_belong_to(void **state)
{
    static const char *const names[] = {"g", "f", "f"};
    static const int32_t lines[] = {2, 3, 4};
    uint32_t places[8] = {0};
    struct pprof *p = format_profile("");
    struct pprof_stacks *stacks;
    struct sums *sums;
    uint32_t i;

    (void)state;
    format_row(p, names, lines, 3, "/a.py", 7);
    stacks = format_stacks(p);
    for (i = 1; i < stacks->line_count; i++)
        places[i] = stacks->lines[i].line == 4 ? 1 : 0;

    assert_int_equal(sums_new(stacks, 2, &(struct sums_places){places, 2, false}, &sums), PPROF_OK);
    assert_sum(&sums->places[0], 7, 7, 1);
    assert_sum(&sums->places[1], 0, 7, 1);
    assert_sum(&call_of(sums, 1, format_function(stacks, "f"))->sum, 0, 7, 1);
    sums_free(sums);
    pprof_stacks_free(stacks);
    pprof_free(p);
}

static void sums_stay_at_the_largest_number(void **state)
{
    int64_t sum = INT64_MAX - 1;

    (void)state;
    sums_add(&sum, 5);
    assert_true(sum == INT64_MAX);
    sum = INT64_MIN + 1;
    sums_add(&sum, -5);
    assert_true(sum == INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(deeper_recursion_is_one_call_that_has_the_leafs_own_time),
        cmocka_unit_test(places_can_be_anything_that_lines_belong_to),
        cmocka_unit_test(sums_stay_at_the_largest_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile.c - equal things are one, weights add up, memory has a limit. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/pprof/example.h"
#include "tests/unit/unit_test.h"

enum { BUDGET = 1 << 20 };

static struct pprof *new_example(size_t budget)
{
    struct pprof *p = NULL;

    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, budget, &p), PPROF_OK);
    return p;
}

static uint32_t a_stack(struct pprof *p)
{
    uint32_t function, location, stack;

    assert_int_equal(pprof_function(p, "f", "a.py", 1, &function), PPROF_OK);
    assert_int_equal(pprof_location(p, function, 2, 0, &location), PPROF_OK);
    assert_int_equal(pprof_stack(p, &location, 1, &stack), PPROF_OK);
    return stack;
}

static uint32_t a_row(struct pprof *p, const struct pprof_label *labels, size_t count)
{
    uint32_t row;

    assert_int_equal(pprof_row(p, a_stack(p), labels, count, &row), PPROF_OK);
    return row;
}

static void functions_differ_by_name_file_and_first_line(void **state)
{
    struct pprof *p = new_example(BUDGET);
    uint32_t a, b;

    (void)state;
    assert_int_equal(pprof_function(p, "f", "a.py", 1, &a), PPROF_OK);
    assert_int_equal(pprof_function(p, "f", "a.py", 1, &b), PPROF_OK);
    assert_int_equal(a, b);
    assert_int_equal(pprof_function(p, "g", "a.py", 1, &b), PPROF_OK);
    assert_int_not_equal(a, b);
    assert_int_equal(pprof_function(p, "f", "b.py", 1, &b), PPROF_OK);
    assert_int_not_equal(a, b);
    assert_int_equal(pprof_function(p, "f", "a.py", 2, &b), PPROF_OK);
    assert_int_not_equal(a, b);
    pprof_free(p);
}

static void the_same_broken_name_is_one_function(void **state)
{
    struct pprof *p = new_example(BUDGET);
    uint32_t broken, again, repaired;

    (void)state;
    assert_int_equal(pprof_function(p, "f\xff", "a.py", 1, &broken), PPROF_OK);
    assert_int_equal(pprof_function(p, "f\xff", "a.py", 1, &again), PPROF_OK);
    assert_int_equal(pprof_function(p, "f\xef\xbf\xbd", "a.py", 1, &repaired), PPROF_OK);

    assert_int_equal(broken, again);
    assert_int_equal(broken, repaired);
    pprof_free(p);
}

static void labels_are_a_set(void **state)
{
    const struct pprof_label ab[] = {{"a", "x", 0, NULL}, {"b", NULL, 5, "bytes"}};
    const struct pprof_label ba[] = {{"b", NULL, 5, "bytes"}, {"a", "x", 0, ""}, ab[0]};
    struct pprof *p = new_example(BUDGET);

    (void)state;
    assert_int_equal(a_row(p, ab, 2), a_row(p, ba, 3));
    assert_int_equal(pprof_row_count(p), 1);
    pprof_free(p);
}

static void labels_differ_by_each_part(void **state)
{
    const struct pprof_label labels[] = {
        {"a", "x", 0, NULL},     {"a", "y", 0, NULL},
        {"b", "x", 0, NULL},     {"a", NULL, 5, NULL},
        {"a", NULL, 5, "bytes"}, {"a", NULL, 6, NULL},
        {"a", NULL, -5, NULL},   {"a", NULL, INT64_C(5) << 32, NULL}};
    struct pprof *p = new_example(BUDGET);
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
        assert_int_equal(a_row(p, &labels[i], 1), i);
    pprof_free(p);
}

static void a_label_that_pprof_cannot_carry_makes_no_row_of_its_own(void **state)
{
    const struct pprof_label lost[] = {
        {"a", "", 0, NULL}, {"b", NULL, 0, NULL}, {"c", NULL, 0, ""}};
    struct pprof *p = new_example(BUDGET);

    (void)state;
    assert_int_equal(a_row(p, NULL, 0), a_row(p, lost, 3));
    pprof_free(p);
}

static void weights_add_up(void **state)
{
    struct pprof *p = new_example(BUDGET);

    (void)state;
    assert_int_equal(example_fill(p, "01201"), PPROF_OK);

    assert_int_equal(pprof_row_count(p), EXAMPLE_ROWS);
    assert_int_equal(pprof_total(p, 0), 11);
    assert_int_equal(pprof_total(p, 1), 110000000);
    assert_int_equal(pprof_total(p, 2), 90000000);
    assert_int_equal(pprof_total(p, 3), 0);
    pprof_free(p);
}

static void weights_saturate_at_both_ends(void **state)
{
    const int64_t much[EXAMPLE_TYPES] = {INT64_MAX, INT64_MIN, 1};
    struct pprof *p = new_example(BUDGET);
    uint32_t row = a_row(p, NULL, 0);

    (void)state;
    pprof_add(p, row, much);
    pprof_add(p, row, much);

    assert_true(pprof_total(p, 0) == INT64_MAX);
    assert_true(pprof_total(p, 1) == INT64_MIN);
    assert_int_equal(pprof_total(p, 2), 2);
    pprof_free(p);
}

static void numbers_that_were_never_given_are_refused(void **state)
{
    struct pprof *p = new_example(BUDGET);
    const uint32_t unknown = 9;
    const int64_t values[EXAMPLE_TYPES] = {1, 1, 1};
    uint32_t out = 77;

    (void)state;
    assert_int_equal(pprof_location(p, unknown, 1, 0, &out), PPROF_BAD);
    assert_int_equal(pprof_stack(p, &unknown, 1, &out), PPROF_BAD);
    assert_int_equal(pprof_row(p, unknown, NULL, 0, &out), PPROF_BAD);
    pprof_add(p, unknown, values);

    assert_int_equal(out, 77);
    assert_int_equal(pprof_row_count(p), 0);
    pprof_free(p);
}

static void limits_are_full_not_overrun(void **state)
{
    static uint32_t deep[PPROF_DEPTH_MAX + 1];
    static struct pprof_label many[PPROF_LABELS_MAX + 1];
    struct pprof_type types[PPROF_TYPES_MAX + 1];
    struct pprof *p = new_example(BUDGET), *none = NULL;
    uint32_t stack = a_stack(p), out;
    size_t i;

    (void)state;
    for (i = 0; i <= PPROF_LABELS_MAX; i++)
        many[i] = (struct pprof_label){"k", NULL, (int64_t)i + 1, NULL};
    for (i = 0; i <= PPROF_TYPES_MAX; i++)
        types[i] = example_types[0];

    assert_int_equal(pprof_stack(p, deep, PPROF_DEPTH_MAX + 1, &out), PPROF_FULL);
    assert_int_equal(pprof_stack(p, deep, PPROF_DEPTH_MAX, &out), PPROF_OK);
    assert_int_equal(pprof_row(p, stack, many, PPROF_LABELS_MAX + 1, &out), PPROF_FULL);
    assert_int_equal(pprof_row(p, stack, many, PPROF_LABELS_MAX, &out), PPROF_OK);
    assert_int_equal(pprof_new(types, PPROF_TYPES_MAX + 1, BUDGET, &none), PPROF_FULL);
    assert_null(none);
    pprof_free(p);
}

static void when_full_known_rows_still_take_weight(void **state)
{
    const int64_t one[EXAMPLE_TYPES] = {1, 1, 1};
    struct pprof *p = new_example(30000);
    uint32_t stack = a_stack(p), row = 0;
    struct pprof_label label = {"n", NULL, 0, NULL};
    enum pprof_rc rc = PPROF_OK;
    int64_t rows;

    (void)state;
    while (rc == PPROF_OK) {
        label.num++;
        rc = pprof_row(p, stack, &label, 1, &row);
    }
    rows = label.num - 1;

    assert_int_equal(rc, PPROF_FULL);
    assert_true(rows > 50);
    assert_int_equal(pprof_row_count(p), rows);
    for (label.num = 1; label.num <= rows; label.num++) {
        assert_int_equal(pprof_row(p, stack, &label, 1, &row), PPROF_OK);
        pprof_add(p, row, one);
    }
    assert_int_equal(pprof_total(p, 0), rows);
    pprof_free(p);
}

static void reset_forgets_the_samples_and_keeps_the_types(void **state)
{
    struct pprof *p = new_example(BUDGET);

    (void)state;
    assert_int_equal(example_fill(p, "012"), PPROF_OK);
    pprof_reset(p);
    assert_int_equal(pprof_row_count(p), 0);
    assert_int_equal(pprof_total(p, 0), 0);
    assert_int_equal(example_fill(p, "0"), PPROF_OK);

    assert_int_equal(pprof_total(p, 0), 2);
    assert_int_equal(pprof_total(p, 2), 15000000);
    pprof_free(p);
}

static void a_warm_profile_allocates_nothing(void **state)
{
    struct pprof *p = new_example(BUDGET);
    unsigned long known, afresh;

    (void)state;
    assert_int_equal(example_fill(p, "012"), PPROF_OK);
    alloc_fail_all();
    assert_int_equal(example_fill(p, "210"), PPROF_OK);
    known = alloc_fail_stop();
    pprof_reset(p);
    alloc_fail_all();
    assert_int_equal(example_fill(p, "102"), PPROF_OK);
    afresh = alloc_fail_stop();

    assert_int_equal(known, 0);
    assert_int_equal(afresh, 0);
    pprof_free(p);
}

static void every_outcome_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(pprof_rc_text(PPROF_BAD), "the bytes are not a valid profile");
    assert_string_equal(pprof_rc_text((enum pprof_rc)99), "unknown outcome");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_differ_by_name_file_and_first_line),
        cmocka_unit_test(the_same_broken_name_is_one_function),
        cmocka_unit_test(labels_are_a_set),
        cmocka_unit_test(labels_differ_by_each_part),
        cmocka_unit_test(a_label_that_pprof_cannot_carry_makes_no_row_of_its_own),
        cmocka_unit_test(weights_add_up),
        cmocka_unit_test(weights_saturate_at_both_ends),
        cmocka_unit_test(numbers_that_were_never_given_are_refused),
        cmocka_unit_test(limits_are_full_not_overrun),
        cmocka_unit_test(when_full_known_rows_still_take_weight),
        cmocka_unit_test(reset_forgets_the_samples_and_keeps_the_types),
        cmocka_unit_test(a_warm_profile_allocates_nothing),
        cmocka_unit_test(every_outcome_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

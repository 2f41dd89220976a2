/* SPDX-License-Identifier: Apache-2.0 */
/* test_stacks.c - a profile is laid out whole, in an order that only its content decides. */
#include "tests/unit/formats/example.h"

static void assert_same(const struct pprof_stacks *a, const struct pprof_stacks *b)
{
    size_t i;

    assert_int_equal(a->function_count, b->function_count);
    assert_int_equal(a->line_count, b->line_count);
    assert_int_equal(a->row_count, b->row_count);
    for (i = 0; i < a->function_count; i++)
        assert_string_equal(a->functions[i].name, b->functions[i].name);
    for (i = 0; i < a->line_count; i++)
        assert_memory_equal(&a->lines[i], &b->lines[i], sizeof(a->lines[i]));
    for (i = 0; i < a->row_count; i++) {
        assert_int_equal(a->rows[i].depth, b->rows[i].depth);
        assert_memory_equal(a->rows[i].lines, b->rows[i].lines,
                            a->rows[i].depth * sizeof(uint32_t));
    }
}

static void functions_are_by_name_and_numbered_from_one(void **state)
{
    static const char *const names[] = {"", "<module>", "fib", "idle", "work"};
    struct pprof *p = format_profile("012");
    struct pprof_stacks *stacks = format_stacks(p);
    size_t i;

    (void)state;
    assert_int_equal(stacks->function_count, 5);
    for (i = 0; i < 5; i++)
        assert_string_equal(stacks->functions[i].name, names[i]);
    assert_string_equal(stacks->functions[2].file, "/srv/app.py");
    assert_int_equal(stacks->functions[2].start_line, 20);
    pprof_stacks_free(stacks);
    pprof_free(p);
}

static void rows_have_stack_values_and_labels(void **state)
{
    struct pprof *p = format_profile("2");
    struct pprof_stacks *stacks = format_stacks(p);
    const struct pprof_stacks_row *row = &stacks->rows[0];
    const struct pprof_stacks_line *leaf = &stacks->lines[row->lines[0]];

    (void)state;
    assert_int_equal(stacks->row_count, 1);
    assert_int_equal(row->depth, 2);
    assert_string_equal(stacks->functions[leaf->function].name, "idle");
    assert_int_equal(leaf->line, 31);
    assert_int_equal(row->values[1], 10000000);
    assert_int_equal(row->label_count, 1);
    assert_string_equal(row->labels[0].key, "tid");
    assert_null(row->labels[0].str);
    assert_int_equal(row->labels[0].num, 8);
    assert_string_equal(stacks->types[2].type, "cpu");
    pprof_stacks_free(stacks);
    pprof_free(p);
}

static void the_order_of_adding_does_not_matter(void **state)
{
    struct pprof *a = format_profile("012"), *b = format_profile("210");
    struct pprof_stacks *x = format_stacks(a), *y = format_stacks(b);

    (void)state;
    assert_same(x, y);
    pprof_stacks_free(x);
    pprof_stacks_free(y);
    pprof_free(a);
    pprof_free(b);
}

static void an_empty_profile_has_nothing(void **state)
{
    struct pprof *p = format_profile("");
    struct pprof_stacks *stacks = format_stacks(p);

    (void)state;
    assert_int_equal(stacks->row_count, 0);
    assert_int_equal(stacks->function_count, 1);
    assert_int_equal(stacks->line_count, 1);
    pprof_stacks_free(stacks);
    pprof_stacks_free(NULL);
    pprof_free(p);
}

static void one_value_can_be_merged_as_another(void **state)
{
    static const struct pprof_type types[] = {{"cpu", "nanoseconds"}, {"before", "nanoseconds"}};
    struct pprof *p = format_profile("01"), *q = format_profile("2"), *both;

    (void)state;
    assert_int_equal(pprof_new(types, 2, FORMAT_BUDGET, &both), PPROF_OK);
    assert_int_equal(pprof_merge_value(both, 0, p, 2, 1), PPROF_OK);
    assert_int_equal(pprof_merge_value(both, 1, q, 1, 1), PPROF_OK);

    assert_int_equal(pprof_total(both, 0), 45000000);
    assert_int_equal(pprof_total(both, 1), 10000000);
    assert_int_equal(pprof_merge_value(both, 2, p, 0, 1), PPROF_BAD);
    assert_int_equal(pprof_merge_value(both, 0, p, 3, 1), PPROF_BAD);
    pprof_free(p);
    pprof_free(q);
    pprof_free(both);
}

static void a_scaled_value_loses_nothing_in_rounding(void **state)
{
    static const struct pprof_type types[] = {{"samples", "count"}};
    const char *names[] = {"a", "b", "c", "d", "e"};
    const int32_t line = 1;
    struct pprof *p = format_profile(""), *less;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        format_row(p, &names[i], &line, 1, "f.py", 1);
    assert_int_equal(pprof_new(types, 1, FORMAT_BUDGET, &less), PPROF_OK);

    assert_int_equal(pprof_merge_value(less, 0, p, 0, 0.4), PPROF_OK);

    assert_int_equal(pprof_total(less, 0), 2);
    pprof_free(p);
    pprof_free(less);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_by_name_and_numbered_from_one),
        cmocka_unit_test(rows_have_stack_values_and_labels),
        cmocka_unit_test(the_order_of_adding_does_not_matter),
        cmocka_unit_test(an_empty_profile_has_nothing),
        cmocka_unit_test(one_value_can_be_merged_as_another),
        cmocka_unit_test(a_scaled_value_loses_nothing_in_rounding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_merge.c - which rows a rule takes, and what it makes of them. */
#include "pprof/profile.h"
#include "pprof/stacks.h"
#include "tests/unit/unit_test.h"

static struct pprof *empty(void)
{
    static const struct pprof_type types[] = {{"samples", "count"}, {"cpu", "nanoseconds"}};
    struct pprof *profile = NULL;

    assert_int_equal(pprof_new(types, 2, 1 << 20, &profile), PPROF_OK);
    return profile;
}

/* Adds a row of one function; with the label pid unless that is 0. */
static void add(struct pprof *profile, const char *function, int64_t pid, int64_t count,
                int64_t cpu_ns)
{
    const struct pprof_label label = {.key = "pid", .num = pid};
    const int64_t values[] = {count, cpu_ns};
    uint32_t id, location, stack, row;

    assert_int_equal(pprof_function(profile, function, "a.py", 1, &id), PPROF_OK);
    assert_int_equal(pprof_location(profile, id, 2, 0, &location), PPROF_OK);
    assert_int_equal(pprof_stack(profile, &location, 1, &stack), PPROF_OK);
    assert_int_equal(pprof_row(profile, stack, &label, pid != 0, &row), PPROF_OK);
    pprof_add(profile, row, values);
}

static void takes_off_what_was_there_before(void **state)
{
    const struct pprof_rule off = {.subtract = true}, all = {0};
    struct pprof *sum = empty(), *running = empty();
    struct pprof_stacks *stacks;

    (void)state;
    add(running, "before", 0, 3, 30);
    add(running, "both", 0, 5, 50);
    assert_int_equal(pprof_merge_by(sum, running, &off), PPROF_OK);
    add(running, "both", 0, 1, 10);
    add(running, "after", 0, 2, INT64_MIN);
    assert_int_equal(pprof_merge_by(sum, running, &all), PPROF_OK);

    assert_int_equal(pprof_total(sum, 0), 3);
    assert_int_equal(pprof_stacks_new(sum, &stacks), PPROF_OK);
    assert_int_equal(stacks->row_count, 2); /* not the one that is 0 now */
    pprof_stacks_free(stacks);
    assert_int_equal(pprof_merge_by(sum, running, &off), PPROF_OK); /* and does not overflow */
    pprof_free(sum);
    pprof_free(running);
}

static void copies_a_row_without_its_values(void **state)
{
    struct pprof *from = empty(), *into = empty();
    uint32_t row;

    (void)state;
    add(from, "other", 0, 1, 10);
    add(from, "work", 7, 2, 20);
    add(into, "work", 8, 1, 10); /* another label: another row */
    assert_int_equal(pprof_copy_row(into, from, 1, &row), PPROF_OK);
    assert_int_equal(row, 1);
    assert_int_equal(pprof_total(into, 1), 10);
    add(into, "work", 7, 3, 30);
    assert_int_equal(pprof_row_count(into), 2);
    assert_int_equal(values_at(into, row)[1], 30);
    pprof_free(from);
    pprof_free(into);
}

static void the_first_binary_is_kept(void **state)
{
    static const struct pprof_meta meta = {.duration_ns = 1};
    struct pprof *sum = empty(), *nameless = empty(), *first = empty(), *second = empty();
    struct buf bytes[2];

    (void)state;
    pprof_set_binary(first, "/usr/bin/python3.11", "0a");
    pprof_set_binary(first, "/usr/bin/python3.13", "0c");
    pprof_set_binary(second, "/usr/bin/python3.12", "0b");
    pprof_reset(first);
    add(first, "f", 0, 1, 10);
    assert_int_equal(pprof_merge(sum, nameless), PPROF_OK);
    assert_int_equal(pprof_merge(sum, first), PPROF_OK);
    assert_int_equal(pprof_merge(sum, second), PPROF_OK);

    for (size_t i = 0; i < 2; i++) {
        buf_init(&bytes[i], 1 << 16);
        assert_int_equal(pprof_encode(i ? sum : first, &meta, &bytes[i]), PPROF_OK);
    }
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
    assert_string_equal(first->binary, "/usr/bin/python3.11");
    buf_finish(&bytes[0]);
    buf_finish(&bytes[1]);
    pprof_free(sum);
    pprof_free(nameless);
    pprof_free(first);
    pprof_free(second);
}

static void takes_the_rows_that_have_labels(void **state)
{
    const struct pprof_label with[] = {{.key = "pid", .num = 7}, {.key = "pid", .str = "7"}},
                             none[] = {{.key = "pid", .num = 7}, {.key = "thread", .str = "7"}};
    const struct pprof_rule rule = {.with = with, .with_count = 2},
                            other = {.with = none, .with_count = 2};
    struct pprof *sum = empty(), *from = empty();

    (void)state;
    add(from, "f", 7, 1, 10);
    add(from, "f", 8, 2, 20);
    add(from, "f", 0, 4, 40);
    add(from, "g", 7, 8, 80);
    assert_int_equal(pprof_merge_by(sum, from, &rule), PPROF_OK);

    assert_int_equal(pprof_total(sum, 0), 9);
    assert_int_equal(pprof_total(sum, 1), 90);
    assert_int_equal(pprof_merge_by(sum, from, &other), PPROF_OK);
    assert_int_equal(pprof_total(sum, 0), 9);
    pprof_free(sum);
    pprof_free(from);
}

static void gives_all_rows_a_label(void **state)
{
    const struct pprof_rule one = {.extra = {"service", "a"}}, other = {.extra = {"service", "b"}};
    struct pprof *sum = empty(), *from = empty();
    struct pprof_stacks *stacks;

    (void)state;
    add(from, "f", 7, 1, 10);
    assert_int_equal(pprof_merge_by(sum, from, &one), PPROF_OK);
    assert_int_equal(pprof_merge_by(sum, from, &other), PPROF_OK);

    assert_int_equal(pprof_stacks_new(sum, &stacks), PPROF_OK);
    assert_int_equal(stacks->row_count, 2);
    assert_int_equal(stacks->rows[0].label_count, 2);
    pprof_stacks_free(stacks);
    pprof_free(sum);
    pprof_free(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_off_what_was_there_before),
        cmocka_unit_test(copies_a_row_without_its_values),
        cmocka_unit_test(the_first_binary_is_kept),
        cmocka_unit_test(takes_the_rows_that_have_labels),
        cmocka_unit_test(gives_all_rows_a_label),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

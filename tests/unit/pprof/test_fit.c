/* SPDX-License-Identifier: Apache-2.0 */
/* test_fit.c - what becomes of a profile for a receiver that takes less. */
#include <stdlib.h>
#include <string.h>

#include "pprof/pprof.h"
#include "pprof/stacks.h"
#include "tests/unit/unit_test.h"

static const struct pprof_rename renames[] = {
    {"thread id", "thread_id"}, {"thread name", "thread_name"}, {NULL, NULL}};

static struct pprof *empty(void)
{
    static const struct pprof_type types[] = {{"samples", "count"}};
    struct pprof *profile = NULL;

    assert_int_equal(pprof_new(types, 1, 64 << 20, &profile), PPROF_OK);
    return profile;
}

/* Adds a sample with a stack so deep, of one recursion: its frames count their lines from 1, leaf
 * first. */
static void add(struct pprof *profile, uint32_t depth, const struct pprof_label *labels,
                size_t count)
{
    uint32_t *locations = calloc(depth, sizeof(*locations)), function, stack, row;
    const int64_t value = 1;

    assert_non_null(locations);
    assert_int_equal(pprof_function(profile, "f", "a.py", 1, &function), PPROF_OK);
    for (uint32_t i = 0; i < depth; i++)
        assert_int_equal(pprof_location(profile, function, (int32_t)i + 1, 0, &locations[i]),
                         PPROF_OK);
    assert_int_equal(pprof_stack(profile, locations, depth, &stack), PPROF_OK);
    assert_int_equal(pprof_row(profile, stack, labels, count, &row), PPROF_OK);
    pprof_add(profile, row, &value);
    free(locations);
}

/* Makes `profile` fit, ends it, and lays out what came of it. */
static struct pprof_stacks *fit_and_lay_out(struct pprof *profile, const struct pprof_fit *fit,
                                            struct pprof **out)
{
    struct pprof_stacks *stacks = NULL;

    assert_int_equal(pprof_fit(profile, fit, out), PPROF_OK);
    assert_non_null(*out);
    pprof_free(profile);
    assert_int_equal(pprof_stacks_new(*out, &stacks), PPROF_OK);
    return stacks;
}

static const struct pprof_label *label_of(const struct pprof_stacks *stacks, size_t row,
                                          const char *key)
{
    for (size_t i = 0; i < stacks->rows[row].label_count; i++)
        if (strcmp(stacks->rows[row].labels[i].key, key) == 0)
            return &stacks->rows[row].labels[i];
    return NULL;
}

static void what_fits_is_not_copied(void **state)
{
    const struct pprof_label label = {.key = "service", .str = "shop"};
    const struct pprof_fit fit = {.renames = renames, .label_max = 4}, all = {0};
    struct pprof *profile = empty(), *out = profile;

    (void)state;
    add(profile, 3, &label, 1);
    assert_int_equal(pprof_fit(profile, &fit, &out), PPROF_OK);
    assert_null(out);
    assert_int_equal(pprof_fit(profile, &all, &out), PPROF_OK);
    assert_null(out);
    pprof_free(profile);
}

static void labels_get_the_names_of_the_receiver(void **state)
{
    const struct pprof_label labels[] = {{.key = "thread id", .num = 77},
                                         {.key = "thread name", .str = "Main"},
                                         {.key = "bytes", .num = 5, .num_unit = "By"}};
    const struct pprof_fit fit = {.renames = renames};
    struct pprof *profile = empty(), *out;
    struct pprof_stacks *stacks;

    (void)state;
    add(profile, 3, labels, 3);
    stacks = fit_and_lay_out(profile, &fit, &out);
    assert_int_equal(stacks->row_count, 1);
    assert_int_equal(stacks->rows[0].label_count, 3);
    assert_int_equal(stacks->rows[0].depth, 3);
    assert_int_equal(stacks->rows[0].values[0], 1);
    assert_int_equal(label_of(stacks, 0, "thread_id")->num, 77);
    assert_null(label_of(stacks, 0, "thread_id")->str);
    assert_string_equal(label_of(stacks, 0, "thread_name")->str, "Main");
    assert_string_equal(label_of(stacks, 0, "bytes")->num_unit, "By");
    pprof_stacks_free(stacks);
    pprof_free(out);
}

static void numbers_become_texts_where_the_receiver_drops_numbers(void **state)
{
    const struct pprof_label labels[] = {{.key = "thread id", .num = INT64_MIN},
                                         {.key = "bytes", .num = 5, .num_unit = "By"}};
    const struct pprof_fit fit = {.renames = renames, .texts = true, .label_max = 64};
    struct pprof *profile = empty(), *out;
    struct pprof_stacks *stacks;

    (void)state;
    add(profile, 1, labels, 2);
    stacks = fit_and_lay_out(profile, &fit, &out);
    assert_string_equal(label_of(stacks, 0, "thread_id")->str, "-9223372036854775808");
    assert_int_equal(label_of(stacks, 0, "bytes")->num, 5);
    pprof_stacks_free(stacks);
    pprof_free(out);
}

static void long_texts_are_cut_between_characters(void **state)
{
    const struct pprof_label labels[] = {{.key = "thread name", .str = "abc\xc3\xa9x"},
                                         {.key = "other", .str = "abcdefgh"}};
    const struct pprof_fit fit = {.renames = renames, .label_max = 4};
    struct pprof *profile = empty(), *out;
    struct pprof_stacks *stacks;

    (void)state;
    add(profile, 1, labels, 1);
    add(profile, 1, labels + 1, 1);
    stacks = fit_and_lay_out(profile, &fit, &out);
    assert_int_equal(stacks->row_count, 2);
    assert_string_equal(label_of(stacks, 0, "other")->str, "abcd");
    assert_string_equal(label_of(stacks, 1, "thread_name")->str, "abc");
    pprof_stacks_free(stacks);
    pprof_free(out);
}

/* The name of a frame of the only stack, counted from the leaf; its line. */
static const char *frame_of(const struct pprof_stacks *stacks, size_t frame, int32_t *line)
{
    const struct pprof_stacks_line *at = &stacks->lines[stacks->rows[0].lines[frame]];

    *line = at->line;
    return stacks->functions[at->function].name;
}

static void deep_stacks_lose_their_middle(void **state)
{
    const struct pprof_fit fit = {.depth_max = 1000};
    struct pprof *profile = empty(), *out;
    struct pprof_stacks *stacks;
    int32_t line;

    (void)state;
    add(profile, 1000, NULL, 0);
    assert_int_equal(pprof_fit(profile, &fit, &out), PPROF_OK);
    assert_null(out);
    pprof_reset(profile);
    add(profile, 1522, NULL, 0);
    stacks = fit_and_lay_out(profile, &fit, &out);

    assert_int_equal(stacks->rows[0].depth, 1000);
    assert_string_equal(frame_of(stacks, 0, &line), "f");
    assert_int_equal(line, 1);
    (void)frame_of(stacks, 499, &line);
    assert_int_equal(line, 500);
    assert_string_equal(frame_of(stacks, 500, &line), "<... 523 frames left out>");
    (void)frame_of(stacks, 501, &line);
    assert_int_equal(line, 1024);
    (void)frame_of(stacks, 999, &line);
    assert_int_equal(line, 1522);
    pprof_stacks_free(stacks);
    pprof_free(out);
}

static void the_smallest_depths_hold(void **state)
{
    const struct pprof_fit one = {.depth_max = 1}, two = {.depth_max = 2};
    struct pprof *profile = empty(), *out;
    struct pprof_stacks *stacks;
    int32_t line;

    (void)state;
    add(profile, 5, NULL, 0);
    assert_int_equal(pprof_fit(profile, &one, &out), PPROF_OK);
    assert_int_equal(pprof_stacks_new(out, &stacks), PPROF_OK);
    assert_int_equal(stacks->rows[0].depth, 1);
    assert_string_equal(frame_of(stacks, 0, &line), "<... 5 frames left out>");
    pprof_stacks_free(stacks);
    pprof_free(out);
    stacks = fit_and_lay_out(profile, &two, &out);
    assert_string_equal(frame_of(stacks, 0, &line), "f");
    assert_string_equal(frame_of(stacks, 1, &line), "<... 4 frames left out>");
    pprof_stacks_free(stacks);
    pprof_free(out);
}

static void the_most_labels_of_a_row_are_counted(void **state)
{
    const struct pprof_label labels[] = {{.key = "a", .num = 1}, {.key = "b", .str = "x"}};
    struct pprof *profile = empty();

    (void)state;
    assert_int_equal(pprof_label_count(profile), 0);
    add(profile, 1, labels, 2);
    add(profile, 1, labels, 1);
    assert_int_equal(pprof_label_count(profile), 2);
    pprof_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_not_copied),
        cmocka_unit_test(labels_get_the_names_of_the_receiver),
        cmocka_unit_test(numbers_become_texts_where_the_receiver_drops_numbers),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(deep_stacks_lose_their_middle),
        cmocka_unit_test(the_smallest_depths_hold),
        cmocka_unit_test(the_most_labels_of_a_row_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_model.c - sums of functions, lines and threads, since the start and in the window. */
#include "tests/unit/top/example.h"

static const struct top_stack busy[] = {
    {.names = {"hot", "run", "main"},
     .thread = "a",
     .tid = 7,
     .cpu_ms = 600,
     .wall_ms = 700,
     .gil_ms = 500},
    {.names = {"hot", "run", "main"},
     .lines = {12},
     .thread = "a",
     .tid = 7,
     .cpu_ms = 200,
     .wall_ms = 200,
     .gil_ms = 200},
    {.names = {"run", "main"},
     .thread = "b",
     .tid = 8,
     .cpu_ms = 100,
     .wall_ms = 900,
     .gil_ms = 50},
};

static const struct top_stack quiet[] = {
    {.names = {"idle", "main"}, .thread = "b", .tid = 8, .wall_ms = 1000},
};

enum { BUSY = sizeof(busy) / sizeof(busy[0]) };

static struct top_model *model_of_five_seconds(void)
{
    struct top_model *model = top_model_new(5 * NS_PER_S);

    assert_non_null(model);
    return model;
}

static void own_is_the_leafs_and_total_is_the_stacks(void **state)
{
    struct top_model *model = model_of_five_seconds();
    const struct top_item *hot, *run, *main_item;

    (void)state;
    top_add_slice(model, 1000, busy, BUSY);

    hot = top_find(model, TOP_FUNCTIONS, "hot", 0);
    run = top_find(model, TOP_FUNCTIONS, "run", 0);
    main_item = top_find(model, TOP_FUNCTIONS, "main", 0);
    assert_int_equal(hot->recent.own[VALUE_CPU], 800 * MS);
    assert_int_equal(hot->recent.total[VALUE_GIL], 700 * MS);
    assert_int_equal(run->recent.own[VALUE_CPU], 100 * MS);
    assert_int_equal(run->recent.total[VALUE_CPU], 900 * MS);
    assert_int_equal(main_item->recent.own[VALUE_WALL], 0);
    assert_int_equal(main_item->recent.total[VALUE_WALL], 1800 * MS);
    assert_int_equal(model->recent.values[VALUE_CPU], 900 * MS);
    top_model_free(model);
}

static void recursion_counts_once(void **state)
{
    static const struct top_stack deep = {
        .names = {"fib", "fib", "fib", "main"}, .lines = {5, 6, 6}, .cpu_ms = 100};
    struct top_model *model = model_of_five_seconds();
    const struct top_item *fib;

    (void)state;
    top_add_slice(model, 1000, &deep, 1);

    fib = top_find(model, TOP_FUNCTIONS, "fib", 0);
    assert_int_equal(fib->whole.own[VALUE_CPU], 100 * MS);
    assert_int_equal(fib->whole.total[VALUE_CPU], 100 * MS);
    assert_int_equal(top_find(model, TOP_LINES, "fib", 6)->whole.total[VALUE_CPU], 100 * MS);
    assert_int_equal(top_find(model, TOP_LINES, "fib", 6)->whole.own[VALUE_CPU], 0);
    top_model_free(model);
}

static void lines_add_up_to_their_function(void **state)
{
    struct top_model *model = model_of_five_seconds();

    (void)state;
    top_add_slice(model, 1000, busy, BUSY);

    assert_int_equal(top_find(model, TOP_LINES, "hot", 11)->whole.own[VALUE_CPU], 600 * MS);
    assert_int_equal(top_find(model, TOP_LINES, "hot", 12)->whole.own[VALUE_CPU], 200 * MS);
    top_model_free(model);
}

static void threads_have_their_shares_and_what_they_do(void **state)
{
    struct top_model *model = model_of_five_seconds();
    const struct top_item *a, *b;

    (void)state;
    top_add_slice(model, 1000, busy, BUSY);
    a = top_find(model, TOP_THREADS, "a", 0);
    b = top_find(model, TOP_THREADS, "b", 0);
    assert_int_equal(a->recent.own[VALUE_GIL], 700 * MS);
    assert_int_equal(a->key.tid, 7);
    assert_true(top_model_is_live(model, a));
    assert_string_equal(model->tables[TOP_FUNCTIONS].items[b->doing].key.name, "run");
    top_add_slice(model, 1000, quiet, 1);

    a = top_find(model, TOP_THREADS, "a", 0);
    b = top_find(model, TOP_THREADS, "b", 0);
    assert_false(top_model_is_live(model, a));
    assert_true(top_model_is_live(model, b));
    assert_string_equal(model->tables[TOP_FUNCTIONS].items[b->doing].key.name, "idle");
    top_model_free(model);
}

static void what_is_older_than_the_window_is_no_longer_recent(void **state)
{
    struct top_model *model = model_of_five_seconds();
    const struct top_item *hot;
    size_t i;

    (void)state;
    top_add_slice(model, 1000, busy, BUSY);
    for (i = 0; i < 4; i++)
        top_add_slice(model, 1000, quiet, 1);
    hot = top_find(model, TOP_FUNCTIONS, "hot", 0);
    assert_int_equal(hot->recent.own[VALUE_CPU], 800 * MS); /* just within it */
    top_add_slice(model, 1000, quiet, 1);

    hot = top_find(model, TOP_FUNCTIONS, "hot", 0);
    assert_int_equal(hot->recent.own[VALUE_CPU], 0);
    assert_int_equal(hot->recent.total[VALUE_CPU], 0);
    assert_int_equal(hot->whole.own[VALUE_CPU], 800 * MS);
    assert_int_equal(model->recent.counts.duration_ns, 5000 * MS);
    assert_int_equal(model->recent.counts.samples, 500);
    assert_int_equal(model->whole.counts.duration_ns, 6000 * MS);
    assert_int_equal(model->recent.values[VALUE_CPU], 0);
    assert_int_equal(model->whole.values[VALUE_CPU], 900 * MS);
    top_model_free(model);
}

static void a_slice_longer_than_the_window_stands_alone(void **state)
{
    struct top_model *model = model_of_five_seconds();

    (void)state;
    top_add_slice(model, 1000, busy, BUSY);
    top_add_slice(model, 9000, quiet, 1);

    assert_int_equal(model->recent.counts.duration_ns, 9000 * MS);
    assert_int_equal(top_find(model, TOP_FUNCTIONS, "hot", 0)->recent.own[VALUE_CPU], 0);
    top_model_free(model);
}

static void sums_stay_exact_over_many_slices(void **state)
{
    struct top_model *model = model_of_five_seconds();
    const struct top_item *hot;
    size_t i, slices = 3 * TOP_SLICES_MAX;

    (void)state;
    for (i = 0; i < slices; i++)
        top_add_slice(model, 10, busy, BUSY);

    hot = top_find(model, TOP_FUNCTIONS, "hot", 0);
    assert_int_equal(model->slice_count, TOP_SLICES_MAX);
    assert_int_equal(hot->recent.own[VALUE_CPU], TOP_SLICES_MAX * 800 * MS);
    assert_int_equal(hot->whole.own[VALUE_CPU], slices * 800 * MS);
    top_model_free(model);
}

static void there_is_no_room_for_more_functions_than_a_table_has(void **state)
{
    struct top_items items;
    struct top_key key = {.name = "f", .file = "x.py"};
    uint32_t last = 0;

    (void)state;
    assert_true(top_items_init(&items, "rest"));
    for (key.line = 1; key.line < TOP_ITEMS_MAX + 10; key.line++)
        last = top_items_get(&items, &key);

    assert_int_equal(last, 0);
    assert_int_equal(items.count, TOP_ITEMS_MAX);
    key.line = 77;
    assert_int_equal(top_items_get(&items, &key), 77);
    key.tid = 1;
    assert_int_equal(top_items_get(&items, &key), 0);
    top_items_finish(&items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_is_the_leafs_and_total_is_the_stacks),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(lines_add_up_to_their_function),
        cmocka_unit_test(threads_have_their_shares_and_what_they_do),
        cmocka_unit_test(what_is_older_than_the_window_is_no_longer_recent),
        cmocka_unit_test(a_slice_longer_than_the_window_stands_alone),
        cmocka_unit_test(sums_stay_exact_over_many_slices),
        cmocka_unit_test(there_is_no_room_for_more_functions_than_a_table_has),
    };

    return cmocka_run_group_tests_name("top_model", tests, NULL, NULL);
}

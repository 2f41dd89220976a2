/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_query.c - what the page is told of a store. */
#include "agent/report/store_query.h"
#include "exporters/store_name.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/formats/example.h"
#include "tests/unit/temp_tree.h"

enum { ANSWER_MAX = 1 << 20 };

/* Puts a profile of these rows into a folder of the store, as begun then. */
static void put(const char *folder, int64_t start_ms, const char *rows)
{
    const struct store_file file = {.start_ms = start_ms};
    struct pprof_meta meta = example_meta;
    char name[STORE_FILE_SIZE], path[128];
    struct pprof *p = format_profile(rows);
    struct buf out;

    meta.time_ns = start_ms * 1000000;
    buf_init(&out, ANSWER_MAX);
    assert_int_equal(pprof_encode(p, &meta, &out), PPROF_OK);
    store_name_file(&file, false, name);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    tree_write(path, out.data, out.size);
    buf_finish(&out);
    pprof_free(p);
}

/* shop: row 0 at 1000 and 1, row 1 at 2000, and what is no profile; other: row 2 at 1500. */
static int make_store(void **state)
{
    if (tree_make(state) != 0)
        return -1;
    tree_directory("shop");
    tree_directory("other%20one");
    tree_directory("tmp.d~");
    put("shop", 1000, "0");
    put("shop", 1001, "0");
    put("shop", 2000, "1");
    put("other%20one", 1500, "2");
    tree_write_text("shop/notes.pb.gz", "none");
    tree_write_text("shop/19700101T000002.500Z-0000000000000001.pb.gz", "broken");
    return 0;
}

static struct store_query range(int64_t from_ms, int64_t to_ms)
{
    return (struct store_query){.store = tree,
                                .folder = "shop",
                                .from_ms = from_ms,
                                .to_ms = to_ms,
                                .deadline_ns = UINT64_MAX};
}

static bool has(const struct buf *out, const char *text)
{
    return memmem(out->data, out->size, text, strlen(text)) != NULL;
}

static void assert_answer(struct buf *out, const char *text)
{
    assert_false(buf_failed(out));
    if (!has(out, text))
        fail_msg("no '%s' in: %s", text, buf_text(out));
    buf_finish(out);
}

static void lists_folders_with_what_they_have(void **state)
{
    struct err err = {""};
    struct buf out;

    (void)state;
    buf_init(&out, ANSWER_MAX);
    assert_true(store_query_services(tree, &out, &err));
    assert_true(has(&out, "{\"folder\": \"other%20one\", \"service\": \"other one\", "
                          "\"profiles\": 1, "));
    assert_false(has(&out, "tmp.d"));
    assert_answer(&out, "\"first_ms\": 1000, \"last_ms\": 2500}");

    buf_init(&out, ANSWER_MAX);
    assert_true(store_query_services("/nowhere/at/all", &out, &err));
    assert_answer(&out, "{\"services\": []}\n");
}

static void shows_the_totals_of_each_profile_that_is_one(void **state)
{
    const struct store_query all = range(0, 9000), some = range(1001, 2000);
    struct err err = {""};
    struct buf out;

    (void)state;
    buf_init(&out, ANSWER_MAX);
    assert_true(store_query_timeline(&all, &out, &err));
    assert_true(has(&out, "{\"files\":4,"));
    assert_true(has(&out, "[2000,60,3,30000000,30000000]"));
    assert_answer(&out, "\"types\":[[\"samples\",\"count\"],[\"wall\",\"nanoseconds\"],");

    buf_init(&out, ANSWER_MAX);
    assert_true(store_query_timeline(&some, &out, &err));
    assert_answer(&out, "{\"files\":1,\"points\":[[1001,60,2,20000000,15000000]],\"read\":1,");
}

static void adds_a_range_up_to_a_flame_graph(void **state)
{
    const struct store_query some = range(1000, 2000);
    struct err err = {""};
    struct buf out;

    (void)state;
    buf_init(&out, ANSWER_MAX);
    assert_true(store_query_graph(&some, "wall", &out, &err));
    assert_true(has(&out, "{\"after\":{\"files\":2,\"read\":2,\"recorded_ms\":61},"));
    assert_true(has(&out, "\"title\":\"shop\","));
    assert_true(has(&out, "\"type\":1,\"base\":null,"));
    assert_true(has(&out, "\"lines\":[1,-40,4,40000000,30000000,"
                          "2,12,4,40000000,30000000,4,40000000,30000000],\n"));
    assert_answer(&out, "\"nodes\":[0,-1,1,-2,2,2,4,40000000,30000000],\n");
}

static void encodes_a_range_as_a_pprof_file(void **state)
{
    const struct store_query some = range(1000, 2000), none = range(5000, 6000);
    struct pprof_decoded file;
    struct err err = {""};
    struct buf out;

    (void)state;
    buf_init(&out, ANSWER_MAX);
    assert_true(store_query_profile(&some, "wall", &out, &err));
    assert_int_equal(pprof_decode(out.data, out.size, ANSWER_MAX, &file, &err), PPROF_OK);
    assert_int_equal(pprof_total(file.profile, 0), 4);
    assert_int_equal(pprof_total(file.profile, 1), 40000000);
    assert_int_equal(file.time_ns, 1000000000);
    pprof_free(file.profile);

    buf_reset(&out);
    assert_false(store_query_profile(&none, NULL, &out, &err));
    assert_string_equal(err.text, "there are no profiles in this time range");
    assert_int_equal(out.size, 0);
    buf_finish(&out);
}

static void takes_what_has_a_label(void **state)
{
    struct store_query some = range(1000, 2001);
    struct err err = {""};
    struct buf out;

    (void)state;
    some.label = (struct pprof_label){.key = "thread", .str = "Main"};
    buf_init(&out, ANSWER_MAX);
    assert_true(store_query_graph(&some, "wall", &out, &err));
    assert_answer(&out, ",\n\"labels\":[[\"thread\",\"Main\"]]}\n");

    some.label.str = "<other>";
    buf_init(&out, ANSWER_MAX);
    assert_true(store_query_timeline(&some, &out, &err));
    assert_true(has(&out, "[2000,60,0,0,0]"));
    buf_reset(&out);
    assert_false(store_query_graph(&some, "wall", &out, &err));
    assert_non_null(strstr(err.text, "no profile with the label thread = <other>"));
    buf_finish(&out);
}

static void sets_two_ranges_against_each_other(void **state)
{
    const struct store_query before = range(1000, 2000), after = range(2000, 2001);
    struct err err = {""};
    struct buf out;

    (void)state;
    buf_init(&out, ANSWER_MAX);
    assert_true(store_query_difference(&before, &after, "cpu", &out, &err));
    assert_true(has(&out, "{\"before\":{\"files\":2,\"read\":2,\"recorded_ms\":61},\"after\":"));
    assert_true(has(&out, "[\"cpu\",\"nanoseconds\"],[\"before\","));
    assert_true(has(&out, "\"base\":1"));
    assert_answer(&out, ",0,29508197,"); /* 30 ms in 61 ms, of 60 ms */
}

static void says_why_there_is_nothing(void **state)
{
    struct store_query none = range(5000, 6000), late = range(0, 9000);
    struct err err = {""};
    struct buf out;

    (void)state;
    late.deadline_ns = 0;
    buf_init(&out, ANSWER_MAX);
    assert_false(store_query_graph(&none, NULL, &out, &err));
    assert_string_equal(err.text, "there are no profiles in this time range");
    assert_false(store_query_graph(&late, NULL, &out, &err));
    none.from_ms = 0;
    assert_false(store_query_graph(&none, "nix", &out, &err));
    assert_non_null(strstr(err.text, "there is no value 'nix'"));
    none.folder = "../shop";
    assert_false(store_query_graph(&none, NULL, &out, &err));
    assert_non_null(strstr(err.text, "cannot be the folder of a service"));
    buf_finish(&out);
}

/* What was listed by then is freed, as valgrind and sanitizers see. */
static void says_that_there_is_no_memory_to_list_a_range(void **state)
{
    const struct store_query all = range(0, 9000);
    struct err err = {""};
    struct buf out;
    unsigned long n = 0, failures = 0;
    bool good;

    (void)state;
    do {
        buf_init(&out, ANSWER_MAX);
        err.text[0] = '\0';
        alloc_fail_at(++n);
        good = store_query_timeline(&all, &out, &err);
        failures += !good && strcmp(err.text, "out of memory") == 0;
        buf_finish(&out);
    } while (alloc_fail_stop() >= n);

    assert_true(good);
    assert_true(failures > 0);
}

/* Marks the things of the first `turns` turns; gives how many lie between two of them at most. */
static size_t largest_hole(bool *seen, size_t turns, size_t count)
{
    size_t i, hole = 0, largest = 0;

    memset(seen, 0, count);
    for (i = 0; i < turns; i++) {
        assert_in_range(store_query_index_of_turn(i, count), 0, count - 1);
        seen[store_query_index_of_turn(i, count)] = true;
    }
    for (i = 0; i < count; i++) {
        hole = seen[i] ? 0 : hole + 1;
        largest = hole > largest ? hole : largest;
    }
    return largest;
}

static void reads_each_file_once_and_evenly(void **state)
{
    static bool seen[STORE_QUERY_FILES_MAX];

    (void)state;
    for (size_t count = 1; count <= STORE_QUERY_FILES_MAX; count++) {
        assert_int_equal(largest_hole(seen, count, count), 0);
        for (size_t turns = count / 4; turns > 0; turns /= 3)
            assert_in_range(largest_hole(seen, turns, count), 0, 2 * count / turns);
    }
}

static void leaves_out_the_smallest_nodes(void **state)
{
    static const int32_t lines[2] = {1, 1};
    const char *big[2] = {"big", "main"}, *small[2] = {"small", "main"};
    struct pprof *p;
    struct format_view view = {.type = 2, .base = FORMAT_NO_BASE, .title = "", .made_by = ""};
    struct pprof_stacks *stacks;
    struct buf out;

    (void)state;
    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, FORMAT_BUDGET, &p), PPROF_OK);
    for (size_t i = 0; i < 1000; i++)
        format_row(p, big, lines, 2, "a.py", 1000000);
    format_row(p, small, lines, 2, "a.py", 5);
    view.profile = p;
    view.stacks = stacks = format_stacks(p);
    buf_init(&out, ANSWER_MAX);
    assert_int_equal(format_flame_data(&view, 3, &out), PPROF_OK);
    assert_false(has(&out, "small"));
    assert_true(has(&out, "\"lines\":[],"));
    assert_answer(&out, "\"nodes\":[0,-1,1,2,1,5,5,2,1,1000,1000000000,1000000000]");
    buf_init(&out, ANSWER_MAX);
    assert_int_equal(format_flame_data(&view, 4, &out), PPROF_OK);
    assert_answer(&out, "small");
    pprof_stacks_free(stacks);
    pprof_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_folders_with_what_they_have),
        cmocka_unit_test(shows_the_totals_of_each_profile_that_is_one),
        cmocka_unit_test(adds_a_range_up_to_a_flame_graph),
        cmocka_unit_test(encodes_a_range_as_a_pprof_file),
        cmocka_unit_test(takes_what_has_a_label),
        cmocka_unit_test(sets_two_ranges_against_each_other),
        cmocka_unit_test(says_why_there_is_nothing),
        cmocka_unit_test(says_that_there_is_no_memory_to_list_a_range),
        cmocka_unit_test(reads_each_file_once_and_evenly),
        cmocka_unit_test(leaves_out_the_smallest_nodes),
    };

    return cmocka_run_group_tests(tests, make_store, tree_remove);
}

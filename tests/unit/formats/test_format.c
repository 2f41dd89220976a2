/* SPDX-License-Identifier: Apache-2.0 */
/* test_format.c - each format is found by its name and endings, and writes what it should. */
#include <stdio.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/formats/example.h"

enum { TRIES_MAX = 2000 };

static void formats_are_found_by_name_and_by_ending(void **state)
{
    const struct format *format;
    size_t i, j;
    char path[64];

    (void)state;
    for (i = 0; (format = format_at(i)); i++) {
        assert_ptr_equal(format_named(format->name), format);
        for (j = 0; j < 3 && format->endings[j]; j++) {
            (void)snprintf(path, sizeof(path), "/tmp/a.b%s", format->endings[j]);
            assert_ptr_equal(format_of_path(path), format);
        }
    }
    assert_true(i > 5);
    assert_null(format_named("nope"));
    assert_null(format_named(""));
    assert_ptr_equal(format_named("html"), format_named("flame"));
    assert_ptr_equal(format_named("folded"), format_named("collapsed"));
    assert_ptr_equal(format_named("heatmap.html"), format_named("heatmap"));
    assert_null(format_of_path("a.txt"));
    assert_null(format_of_path(".svg")); /* a name is more than an ending */
    assert_ptr_equal(format_of_path("a.heatmap.html"), format_named("heatmap"));
}

/* The text of a format for the rows of `order`. */
static void assert_text(const char *order, const char *name, const char *wanted)
{
    struct pprof *p = format_profile(order);
    char *text = format_text(p, name);

    assert_string_equal(text, wanted);
    free(text);
    pprof_free(p);
}

static void collapsed_is_a_line_a_stack(void **state)
{
    (void)state;
    assert_text("012", "collapsed",
                "<module> (/srv/app.py:1);work (/srv/app.py:10) 15000000\n"
                "<module> (/srv/app.py:1);work (/srv/app.py:10);fib (/srv/app.py:20);"
                "fib (/srv/app.py:20) 30000000\n");
}

static void a_difference_has_two_numbers(void **state)
{
    struct pprof *p = format_profile("0");
    size_t size;
    char *text;

    (void)state;
    assert_int_equal(format_write(p, "collapsed", 2, 4096, &text, &size), PPROF_OK);
    assert_string_equal(text, "<module> (/srv/app.py:1);work (/srv/app.py:10) 15000000 20000000\n");
    free(text);
    pprof_free(p);
}

static void json_lines_have_all_values_and_labels(void **state)
{
    (void)state;
    assert_text("2", "jsonl",
                "{\"profile\":\"an \\u003cexample>\",\"made_by\":\"a test\","
                "\"start_unix_ns\":1700000000000000000,\"duration_ns\":60000000,"
                "\"units\":{\"samples\":\"count\",\"wall\":\"nanoseconds\","
                "\"cpu\":\"nanoseconds\"}}\n"
                "{\"values\":{\"samples\":1,\"wall\":10000000,\"cpu\":0},"
                "\"labels\":[{\"key\":\"tid\",\"value\":8}],"
                "\"stack\":[{\"func\":\"idle\",\"file\":\"/srv/app.py\",\"line\":31},"
                "{\"func\":\"\\u003cmodule>\",\"file\":\"/srv/app.py\",\"line\":41}]}\n");
}

static void the_tree_is_indented_with_the_largest_call_first(void **state)
{
    (void)state;
    assert_text("012", "tree",
                "      %       total         own  call\n"
                " 100.0%    45.00 ms     0.00 us  all\n"
                " 100.0%    45.00 ms     0.00 us   <module>  app.py:1\n"
                " 100.0%    45.00 ms    15.00 ms    work  app.py:10\n"
                "  66.7%    30.00 ms     0.00 us     fib  app.py:20\n"
                "  66.7%    30.00 ms    30.00 ms      fib  app.py:20\n");
}

static void speedscope_has_a_profile_for_each_value(void **state)
{
    struct pprof *p = format_profile("02");
    char *text = format_text(p, "speedscope");

    (void)state;
    assert_non_null(strstr(text, "\"activeProfileIndex\":2,"));
    assert_non_null(strstr(text, "{\"name\":\"idle\",\"file\":\"/srv/app.py\",\"line\":30}"));
    assert_non_null(strstr(text,
                           "\"name\":\"samples\",\"unit\":\"none\",\"samples\":[[0,2],\n[0,1]],"
                           "\n\"weights\":[2,1],\"startValue\":0,\"endValue\":3}"));
    assert_non_null(strstr(text, "\"name\":\"cpu\",\"unit\":\"nanoseconds\",\"samples\":[[0,2]],\n"
                                 "\"weights\":[15000000],"));
    free(text);
    pprof_free(p);
}

static void speedscope_has_no_stack_that_its_recursion_does_not_take(void **state)
{
    static const int64_t values[EXAMPLE_TYPES] = {1, 1, 1};
    struct pprof *p = format_profile("");
    uint32_t function, place, places[3000], stack, row;
    char *text, *from;
    size_t frames = 1;

    (void)state;
    assert_int_equal(pprof_function(p, "f", "f.py", 1, &function), PPROF_OK);
    assert_int_equal(pprof_location(p, function, 1, 0, &place), PPROF_OK);
    for (size_t i = 0; i < 3000; i++)
        places[i] = place;
    assert_int_equal(pprof_stack(p, places, 3000, &stack), PPROF_OK);
    assert_int_equal(pprof_row(p, stack, NULL, 0, &row), PPROF_OK);
    pprof_add(p, row, values);

    text = format_text(p, "speedscope");

    assert_non_null(strstr(text, "{\"name\":\"\\u003c... 1001 frames left out>\"}"));
    from = strstr(text, "\"samples\":[[");
    assert_non_null(from);
    for (; *from != ']'; from++)
        frames += *from == ',';
    assert_int_equal(frames, 2000);
    free(text);
    pprof_free(p);
}

/* Counts what it takes. */
static bool count_drained(void *count, struct buf *out)
{
    *(size_t *)count += out->size;
    buf_reset(out);
    return true;
}

static bool drain_nothing(void *count, struct buf *out)
{
    (void)count;
    (void)out;
    return false;
}

static void lines_are_given_out_before_all_are_written(void **state)
{
    enum { STACKS = 10000, ROOM = 300 << 10 };
    const int32_t line = 1;
    struct pprof *p = format_profile("");
    struct pprof_stacks *stacks;
    char text[40];
    const char *name = text;
    size_t drained = 0;
    struct format_view view = {.profile = p,
                               .type = 2,
                               .base = FORMAT_NO_BASE,
                               .title = "",
                               .made_by = "",
                               .drain_ctx = &drained};
    struct buf out;

    (void)state;
    for (size_t i = 0; i < STACKS; i++) {
        (void)snprintf(text, sizeof(text), "a_function_number_%zu", i);
        format_row(p, &name, &line, 1, "/srv/app.py", 1);
    }
    view.stacks = stacks = format_stacks(p);
    buf_init(&out, ROOM);

    view.drain = count_drained;
    assert_int_equal(format_named("jsonl")->write(&view, &out), PPROF_OK);
    assert_true(drained + out.size > ROOM);
    drained = 0;
    buf_reset(&out);
    assert_int_equal(format_named("collapsed")->write(&view, &out), PPROF_OK);
    assert_true(drained + out.size > ROOM);
    view.drain = drain_nothing;
    assert_int_equal(format_named("jsonl")->write(&view, &out), PPROF_FULL);

    buf_finish(&out);
    pprof_stacks_free(stacks);
    pprof_free(p);
}

static void gecko_has_a_thread_for_each_that_labels_tell_apart(void **state)
{
    struct pprof *p = format_profile("01");
    char *text;

    (void)state;
    text = format_text(p, "gecko");
    assert_non_null(strstr(text, "\"preprocessedProfileVersion\":61"));
    assert_non_null(strstr(text, "\"prefix\":[null,0,1,2]"));
    assert_non_null(strstr(text, "\"extra\":[{\"label\":\"Time line\""));
    assert_non_null(
        strstr(text, "\"name\":\"Main\",\"isMainThread\":true,\"pid\":\"0\",\"tid\":\"7\""));
    assert_non_null(strstr(text, "\"samples\":{\"stack\":[1,3],\"time\":[0.000000,15.000000],"
                                 "\"weight\":[15.000000,30.000000],"
                                 "\"weightType\":\"tracing-ms\",\"length\":2}"));
    free(text);
    pprof_free(p);
}

static void gecko_knows_the_names_that_a_pyroscope_is_sent(void **state)
{
    static const struct pprof_rename renames[] = {
        {"tid", "thread_id"}, {"thread", "thread_name"}, {NULL, NULL}};
    const struct pprof_fit fit = {.renames = renames, .texts = true};
    struct pprof *p = format_profile("01"), *sent;
    char *text;

    (void)state;
    assert_int_equal(pprof_fit(p, &fit, &sent), PPROF_OK);
    text = format_text(sent, "gecko");
    assert_non_null(
        strstr(text, "\"name\":\"Main\",\"isMainThread\":true,\"pid\":\"0\",\"tid\":\"7\""));
    free(text);
    pprof_free(sent);
    pprof_free(p);
}

static void pstats_are_marshalled(void **state)
{
    /* {("/srv/app.py", 1, "<module>"): (2, 2, ... */
    static const char wanted[] = "{(\3\0\0\0u\x0b\0\0\0/srv/app.pyi\1\0\0\0u\x08\0\0\0<module>"
                                 "(\5\0\0\0i\2\0\0\0i\2\0\0\0g";
    struct pprof *p = format_profile("0");
    size_t size;
    char *text;

    (void)state;
    assert_int_equal(format_write(p, "pstats", FORMAT_NO_BASE, 4096, &text, &size), PPROF_OK);
    assert_true(size > sizeof(wanted));
    assert_memory_equal(text, wanted, sizeof(wanted) - 1);
    assert_int_equal(text[size - 1], '0');
    free(text);
    pprof_free(p);
}

static void large_numbers_of_pstats_have_digits(void **state)
{
    static const char *const names[] = {"f"};
    static const char wanted[] = "l\3\0\0\0\0\0\0\0\4\0g"; /* 2^32 = 4 * (2^15)^2 */
    static const int32_t lines[] = {1};
    const int64_t more[EXAMPLE_TYPES] = {(INT64_C(1) << 32) - 1, 0, 1};
    struct pprof *p = format_profile("");
    size_t size, i;
    bool found = false;
    char *text;

    (void)state;
    format_row(p, names, lines, 1, "/a.py", 1);
    pprof_add(p, 0, more);
    assert_int_equal(format_write(p, "pstats", FORMAT_NO_BASE, 4096, &text, &size), PPROF_OK);
    for (i = 0; i + sizeof(wanted) - 1 <= size; i++)
        found = found || memcmp(text + i, wanted, sizeof(wanted) - 1) == 0;
    assert_true(found);
    free(text);
    pprof_free(p);
}

static void pages_hold_titles_and_data_as_text(void **state)
{
    static const char *const pages[] = {"flame", "heatmap"};
    struct pprof *p = format_profile("012");
    size_t i;
    char *text;

    (void)state;
    for (i = 0; i < 2; i++) {
        text = format_text(p, pages[i]);
        assert_non_null(strstr(text, "<title>an &lt;example&gt;</title>"));
        assert_non_null(strstr(text, "{\"title\":\"an \\u003cexample>\""));
        assert_null(strstr(text, "@DATA@"));
        assert_null(strstr(text, "http://"));
        assert_null(strstr(text, "https://"));
        assert_true(strlen(text) < 100000);
        free(text);
    }
    pprof_free(p);
}

static void hostile_names_end_nothing(void **state)
{
    static const char *const names[] = {"</script><b>;\n\x1b]0;\"'&", "@DATA@ @TITLE@"};
    static const char *const texts[] = {"flame",      "heatmap", "svg",   "collapsed",
                                        "speedscope", "gecko",   "jsonl", "tree"};
    static const int32_t lines[] = {-5, 0};
    struct pprof *p = format_profile("");
    size_t i;
    char *text;

    (void)state;
    format_row(p, names, lines, 2, "</script>\\\n;.py", 1000000);
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text = format_text(p, texts[i]);
        assert_true(strcmp(texts[i], "tree") == 0 || !strstr(text, "<b>;"));
        assert_null(strchr(text, '\x1b'));
        if (strcmp(texts[i], "collapsed") == 0)
            assert_string_equal(text, "@DATA@ @TITLE@ (</script>\\ :.py:1);"
                                      "</script><b>:  ]0:\"'& (</script>\\ :.py:1) 1000000\n");
        free(text);
    }
    pprof_free(p);
}

static void no_samples_are_no_failure(void **state)
{
    struct pprof *p = format_profile("");
    const struct format *format;
    size_t i;

    (void)state;
    for (i = 0; (format = format_at(i)); i++)
        free(format_text(p, format->name));
    pprof_free(p);
}

static void too_little_room_is_said(void **state)
{
    struct pprof *p = format_profile("012");
    const struct format *format;
    size_t i, size;
    char *text;

    (void)state;
    for (i = 0; (format = format_at(i)); i++) {
        assert_int_equal(format_write(p, format->name, FORMAT_NO_BASE, 50, &text, &size),
                         PPROF_FULL);
        free(text);
    }
    pprof_free(p);
}

/* Writes with the n-th allocation failing; gives how many there were. */
static unsigned long write_failing(const struct pprof *p, const struct format *format,
                                   unsigned long n, enum pprof_rc *rc)
{
    struct format_view view = {
        .profile = p, .type = 1, .base = FORMAT_NO_BASE, .title = "t", .made_by = "a test"};
    struct pprof_stacks *stacks;
    unsigned long seen;
    struct buf out;

    buf_init(&out, 1 << 20);
    alloc_fail_at(n);
    *rc = pprof_stacks_new(p, &stacks);
    if (*rc == PPROF_OK) {
        view.stacks = stacks;
        *rc = format->write(&view, &out);
        pprof_stacks_free(stacks);
    }
    seen = alloc_fail_stop();
    buf_finish(&out);
    return seen;
}

static void each_failing_allocation_is_said_and_leaks_nothing(void **state)
{
    struct pprof *p = format_profile("012");
    const struct format *format;
    unsigned long n, seen;
    enum pprof_rc rc;
    size_t i;

    (void)state;
    for (i = 0; (format = format_at(i)); i++) {
        n = 0;
        do {
            seen = write_failing(p, format, ++n, &rc);
        } while (seen >= n && n < TRIES_MAX);
        assert_int_equal(rc, PPROF_OK); /* the last time nothing failed */
    }
    pprof_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_found_by_name_and_by_ending),
        cmocka_unit_test(collapsed_is_a_line_a_stack),
        cmocka_unit_test(a_difference_has_two_numbers),
        cmocka_unit_test(json_lines_have_all_values_and_labels),
        cmocka_unit_test(the_tree_is_indented_with_the_largest_call_first),
        cmocka_unit_test(speedscope_has_a_profile_for_each_value),
        cmocka_unit_test(lines_are_given_out_before_all_are_written),
        cmocka_unit_test(speedscope_has_no_stack_that_its_recursion_does_not_take),
        cmocka_unit_test(gecko_has_a_thread_for_each_that_labels_tell_apart),
        cmocka_unit_test(gecko_knows_the_names_that_a_pyroscope_is_sent),
        cmocka_unit_test(pstats_are_marshalled),
        cmocka_unit_test(large_numbers_of_pstats_have_digits),
        cmocka_unit_test(pages_hold_titles_and_data_as_text),
        cmocka_unit_test(hostile_names_end_nothing),
        cmocka_unit_test(no_samples_are_no_failure),
        cmocka_unit_test(too_little_room_is_said),
        cmocka_unit_test(each_failing_allocation_is_said_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

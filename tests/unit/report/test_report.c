/* SPDX-License-Identifier: Apache-2.0 */
/* test_report.c - the table fits, says the right numbers, and cannot drive a terminal. */
#include <string.h>

#include "agent/report/report.h"
#include "tests/unit/unit_test.h"

enum { WIDTH = 100 };

static const struct pprof_top tops[] = {
    {"fib", "/srv/app.py", 20, 1500000000, 1500000000},
    {"<module>", "/srv/app.py", 0, 250000, 2000000000},
};

static const struct report example = {
    .file_count = 2,
    .first_ns = 1700000000000000000,
    .last_ns = 1700000030000000000,
    .duration_ns = 30000000000,
    .type = {"cpu", "nanoseconds"},
    .total = 2000000000,
    .tops = tops,
    .top_count = 2,
    .top_max = 20,
};

/* Renders and lends the text until the next call. */
static const char *render(const struct report *report,
                          void (*how)(const struct report *, struct buf *))
{
    static char text[65536];
    struct buf out;

    buf_init(&out, sizeof(text) - 1);
    how(report, &out);
    assert_false(buf_failed(&out));
    memcpy(text, out.data, out.size);
    text[out.size] = '\0';
    buf_finish(&out);
    return text;
}

static void says_what_when_and_how_much(void **state)
{
    (void)state;
    assert_string_equal(
        render(&example, report_table),
        "2 profiles, 2023-11-14 22:13:20 to 2023-11-14 22:13:50 UTC, 30.00s: 2.00s cpu\n"
        "\n"
        "       own   own %     total total %  function                           file:line\n"
        "     1.50s   75.0%     1.50s   75.0%  fib                                /srv/app.py:20\n"
        "  250.00us    0.0%     2.00s  100.0%  <module>                           /srv/app.py\n");
}

static void counts_are_numbers_without_a_unit(void **state)
{
    struct report report = example;

    (void)state;
    report.type = (struct pprof_type){"samples", "count"};

    assert_non_null(strstr(render(&report, report_table), "  1.50e+09   75.0%  1.50e+09"));
    assert_non_null(strstr(render(&report, report_table), "    250000    0.0%  2.00e+09"));
}

static void says_how_many_functions_are_left_out(void **state)
{
    struct report report = example;

    (void)state;
    report.top_max = 1;

    assert_non_null(strstr(render(&report, report_table), "\n and 1 more; --top N"));
    assert_null(strstr(render(&report, report_table), "<module>"));
}

static void says_so_when_there_is_nothing(void **state)
{
    struct report report = example;

    (void)state;
    report.top_count = 0;
    report.total = 0;

    assert_non_null(strstr(render(&report, report_table), "No function has any of it"));
}

static size_t width_of_longest_line(const char *text)
{
    size_t longest = 0, width = 0;

    for (; *text; text++) {
        if (((unsigned char)*text & 0xc0) == 0x80)
            continue; /* the rest of a character */
        width = *text == '\n' ? 0 : width + 1;
        longest = width > longest ? width : longest;
    }
    return longest;
}

static void long_names_are_cut_to_the_width_at_the_end_that_matters_less(void **state)
{
    const struct pprof_top top = {"Gr\xc3\xb6\xc3\x9f"
                                  "e.a_very_long_qualified_name.<locals>.inner.<locals>.lambda",
                                  "/usr/lib/python3/dist-packages/some/very/deep/place/views.py",
                                  123456, INT64_MAX, INT64_MIN};
    struct report report = example;
    const char *text;

    (void)state;
    report.tops = &top;
    report.top_count = 1;
    report.total = INT64_MAX;
    text = render(&report, report_table);

    assert_true(width_of_longest_line(text) <= WIDTH);
    assert_non_null(strstr(text, "Gr\xc3\xb6\xc3\x9f"
                                 "e.a_very_long_qualified"));
    assert_non_null(strstr(text, "deep/place/views.py:123456\n"));
}

static void text_from_a_profile_cannot_drive_the_terminal(void **state)
{
    const struct pprof_top top = {"a\033[2Jb\xc2\x9b"
                                  "c\xe2\x80\xae"
                                  "d\x7f",
                                  "e\nf\r\x80", 1, 1, 1};
    struct report report = example;
    const char *text;

    (void)state;
    report.tops = &top;
    report.top_count = 1;
    text = render(&report, report_table);

    assert_non_null(strstr(text, " a?[2Jb?c?d? "));
    assert_non_null(strstr(text, " e?f??:1\n"));
}

static void bold_is_only_there_when_asked_for(void **state)
{
    struct report report = example;

    (void)state;
    assert_null(strchr(render(&report, report_table), '\033'));
    report.bold = true;

    assert_non_null(strstr(render(&report, report_table), "\033[1mfib\033[0m"));
}

static void json_has_the_numbers_as_they_are(void **state)
{
    (void)state;
    assert_string_equal(
        render(&example, report_json),
        "{\"files\": 2, \"start_unix_ns\": 1700000000000000000, \"end_unix_ns\": "
        "1700000030000000000, \"duration_ns\": 30000000000, \"type\": \"cpu\", \"unit\": "
        "\"nanoseconds\", \"total\": 2000000000, \"functions\": ["
        "{\"func\": \"fib\", \"file\": \"/srv/app.py\", \"line\": 20, \"own\": 1500000000, "
        "\"total\": 1500000000}, {\"func\": \"<module>\", \"file\": \"/srv/app.py\", \"line\": "
        "null, \"own\": 250000, \"total\": 2000000000}]}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_when_and_how_much),
        cmocka_unit_test(counts_are_numbers_without_a_unit),
        cmocka_unit_test(says_how_many_functions_are_left_out),
        cmocka_unit_test(says_so_when_there_is_nothing),
        cmocka_unit_test(long_names_are_cut_to_the_width_at_the_end_that_matters_less),
        cmocka_unit_test(text_from_a_profile_cannot_drive_the_terminal),
        cmocka_unit_test(bold_is_only_there_when_asked_for),
        cmocka_unit_test(json_has_the_numbers_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

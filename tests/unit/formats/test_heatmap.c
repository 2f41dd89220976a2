/* SPDX-License-Identifier: Apache-2.0 */
/* test_heatmap.c - lines, calls and sources come into the page as they should. */
#include <stdio.h>

#include "tests/unit/formats/example.h"

/* A file of `lines` lines, "line 1" and so on, each ended by `end`. */
struct source {
    int lines;
    const char *end;
    const char *text; /* if not NULL, this instead */
};

static bool give_source(void *ctx, const char *file, struct buf *out)
{
    const struct source *source = ctx;
    int i;

    if (strcmp(file, "/srv/app.py") != 0)
        return false;
    if (source->text)
        buf_add_str(out, source->text);
    for (i = 1; !source->text && i <= source->lines; i++)
        buf_add_fmt(out, "line %d%s", i, source->end);
    return true;
}

/* The example's heat map of wall time; the caller frees it. */
static char *write_map(const struct pprof *p, struct source *source)
{
    struct pprof_stacks *stacks = format_stacks(p);
    const struct format_view view = {.profile = p,
                                     .stacks = stacks,
                                     .type = 1,
                                     .base = FORMAT_NO_BASE,
                                     .title = "example",
                                     .made_by = "a test",
                                     .source = give_source,
                                     .ctx = source};
    struct buf out;
    char *text;

    buf_init(&out, 1 << 20);
    assert_int_equal(format_named("heatmap")->write(&view, &out), PPROF_OK);
    text = strndup(buf_text(&out), out.size);
    assert_non_null(text);
    buf_finish(&out);
    pprof_stacks_free(stacks);
    return text;
}

static void lines_and_calls_have_their_sums(void **state)
{
    struct source source = {0, "", "x"};
    struct pprof *p = format_profile("012");
    char *text = write_map(p, &source);

    (void)state;
    /* <module> 1, fib 2, idle 3, work 4; lines 12, 22, 31, 40, 41 of the one file. */
    assert_non_null(strstr(text, "\"total\":60000000,\"files\":["));
    assert_non_null(strstr(text, "\"places\":[[1,12,20000000,50000000,4],\n"
                                 "[1,22,30000000,30000000,2],\n"
                                 "[1,31,10000000,10000000,3],\n"
                                 "[1,40,0,50000000,1],\n"
                                 "[1,41,0,10000000,1]],\n"));
    assert_non_null(strstr(text, "\"calls\":[[0,2,30000000],[1,2,30000000],[4,3,10000000],"
                                 "[3,4,50000000]]"));
    free(text);
    pprof_free(p);
}

static void a_short_file_is_there_whole(void **state)
{
    struct source source = {3, "\r\n", NULL};
    struct pprof *p = format_profile("0");
    char *text = write_map(p, &source);

    (void)state;
    assert_non_null(strstr(text, ",[[1,\"line 1\\nline 2\\nline 3\\n\"]]]"));
    free(text);
    pprof_free(p);
}

static void of_a_long_file_only_what_is_near(void **state)
{
    struct source source = {1000, "\n", NULL};
    struct pprof *p = format_profile("0");
    char *text = write_map(p, &source);

    (void)state; /* lines 12 and 40 took something */
    assert_non_null(strstr(text, ",[[7,\"line 7\\nline 8\\n"));
    assert_non_null(strstr(text, "\\nline 17\"],[35,\"line 35\\n"));
    assert_non_null(strstr(text, "\\nline 45\"]]]"));
    assert_null(strstr(text, "line 18\\n"));
    free(text);
    pprof_free(p);
}

static void a_hostile_source_stays_text(void **state)
{
    struct source source = {0, "", "</script>\xff\"\\"};
    struct pprof *p = format_profile("0");
    char *text = write_map(p, &source);

    (void)state;
    assert_non_null(strstr(text, "[[1,\"\\u003c/script>\xef\xbf\xbd\\u0022\\u005c\"]]"));
    free(text);
    pprof_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_calls_have_their_sums),
        cmocka_unit_test(a_short_file_is_there_whole),
        cmocka_unit_test(of_a_long_file_only_what_is_near),
        cmocka_unit_test(a_hostile_source_stays_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

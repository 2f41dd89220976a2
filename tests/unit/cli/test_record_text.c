/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_text.c - what a recording says of itself is right and cannot drive a terminal. */
#include <string.h>

#include "agent/cli/record_text.h"
#include "tests/unit/unit_test.h"

static const struct engine_stats stats = {
    .samples = 990,
    .missed = 10,
    .sampling = 1,
    .attached = 2,
    .overflow = 0,
    .cpu = {{[CPU_STACKS] = 1960000000, [CPU_CHILDREN] = 40000000}}};

static const struct refused none = {.count = 0};
static const struct buf nothing = {.size = 0};

static const struct record_text example = {.stats = &stats,
                                           .refused = &none,
                                           .warnings = &nothing,
                                           .unwinder = {.torn = 3, .torn_moved = 3},
                                           .elapsed_ns = 10000000000,
                                           .rate_hz = 100};

static const char *text_of(struct buf *out)
{
    static char text[1024];

    assert_false(buf_failed(out));
    assert_true(out->size < sizeof(text));
    memcpy(text, out->data, out->size);
    text[out->size] = '\0';
    buf_finish(out);
    return text;
}

static void the_summary_says_what_came_of_it(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    record_text_summary(&example, &out);

    assert_string_equal(text_of(&out),
                        "pystrobe: 990 samples of 2 processes in 10.0 s, dropped: 10 ticks missed, "
                        "3 stacks torn (3 moved)\n"
                        "pystrobe: 99 of 100 samples a second and process; 2.00 s of CPU, 98.0% of "
                        "it on stacks that were seen, 2.0% in children that ended unseen\n");
}

static void the_summary_names_what_could_not_be_read(void **state)
{
    static const char warning[] = "pystrobe: process 6: it holds a second Python\n";
    const struct buf warnings = {.data = (void *)(uintptr_t)warning, .size = strlen(warning)};
    static const struct refused refused = {
        .list = {{{7, 1}, PTRACE_ACCESS_YAMA_ADMIN, "python3 a.py"},
                 {{8, 1}, PTRACE_ACCESS_YAMA_ADMIN, "evil\x1b[31m"},
                 {{9, 1}, PTRACE_ACCESS_USER, ""}},
        .count = 3};
    struct record_text text = example;
    struct buf out;

    (void)state;
    text.refused = &refused;
    text.warnings = &warnings;
    buf_init(&out, 4096);
    record_text_summary(&text, &out);

    assert_string_equal(
        strchr(text_of(&out), '\n') + 1,
        "pystrobe: 99 of 100 samples a second and process; 2.00 s of CPU of what could be read, "
        "98.0% of it on stacks that were seen, 2.0% in children that ended unseen\n"
        "pystrobe: not sampled: process 7 (python3 a.py): kernel.yama.ptrace_scope is 2, which "
        "forbids it without the capability; give pystrobe CAP_SYS_PTRACE\n"
        "pystrobe: not sampled: process 8 (evil\\x1b[31m): kernel.yama.ptrace_scope is 2, which "
        "forbids it without the capability\n"
        "pystrobe: not sampled: process 9 (?): it belongs to another user; run pystrobe as root, "
        "as that user, or with CAP_SYS_PTRACE (a container: --cap-add SYS_PTRACE)\n"
        "pystrobe: process 6: it holds a second Python\n");
}

static void the_summary_names_a_few_of_many(void **state)
{
    static struct refused refused = {.count = REFUSED_MAX, .more = true};
    struct buf out;

    (void)state;
    for (int i = 0; i < REFUSED_MAX; i++)
        refused.list[i].access = PTRACE_ACCESS_USER;
    buf_init(&out, 4096);
    record_text_refused(&refused, &out);

    assert_non_null(strstr(text_of(&out), "\npystrobe: not sampled: 56 or more others that could"));
}

static void progress_names_the_function_that_ran_most(void **state)
{
    const int64_t gil[VALUES] = {1, 30, 0, 30, 0}, other[VALUES] = {1, 70, 0, 10, 0};
    struct service service = {0};
    struct buf out;
    uint32_t function, location, stack, row;
    const char *const names[] = {"hot\x1b[31m", "idle"};
    size_t i;

    (void)state;
    assert_int_equal(pprof_new(service_types, VALUES, 1 << 20, &service.profile), PPROF_OK);
    for (i = 0; i < 2; i++) {
        assert_int_equal(pprof_function(service.profile, names[i], "", 0, &function), PPROF_OK);
        assert_int_equal(pprof_location(service.profile, function, 0, 0, &location), PPROF_OK);
        assert_int_equal(pprof_stack(service.profile, &location, 1, &stack), PPROF_OK);
        assert_int_equal(pprof_row(service.profile, stack, NULL, 0, &row), PPROF_OK);
        pprof_add(service.profile, row, i ? other : gil);
    }
    buf_init(&out, 4096);
    record_text_progress(&example, &service, &out);

    assert_string_equal(text_of(&out),
                        "  10.0 s  990 samples of 1 process, 3 torn  75% in hot?[31m");
    pprof_free(service.profile);
}

static void progress_without_samples_names_none(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    record_text_progress(&example, NULL, &out);

    assert_string_equal(text_of(&out), "  10.0 s  990 samples of 1 process, 3 torn");
}

static void a_time_line_says_what_it_has_not(void **state)
{
    struct pprof_timeline timeline = {.count = 100, .max = 100};
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    record_text_timeline("x.gecko", &timeline, &out);
    assert_int_equal(out.size, 0);
    timeline.left_out = 1;
    record_text_timeline("x.gecko", &timeline, &out);
    timeline.left_out = 7;
    timeline.full_ns = 12345678901;
    record_text_timeline("x.gecko", &timeline, &out);

    assert_string_equal(text_of(&out),
                        "pystrobe: x.gecko has 1 sample without a time, as sums: there is room for "
                        "4096 threads\n"
                        "pystrobe: x.gecko has 7 samples without a time, as sums: its time line "
                        "ends after 12.3 s, with 100 samples; record for a shorter time, or with a "
                        "lower rate\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summary_says_what_came_of_it),
        cmocka_unit_test(the_summary_names_what_could_not_be_read),
        cmocka_unit_test(the_summary_names_a_few_of_many),
        cmocka_unit_test(a_time_line_says_what_it_has_not),
        cmocka_unit_test(progress_names_the_function_that_ran_most),
        cmocka_unit_test(progress_without_samples_names_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

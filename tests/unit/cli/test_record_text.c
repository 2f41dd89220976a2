/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_text.c - what a recording says of itself is right and cannot drive a terminal. */
#include <string.h>

#include "agent/cli/record_text.h"
#include "tests/unit/unit_test.h"

static const struct engine_stats stats = {
    .samples = 990, .missed = 10, .sampling = 1, .attached = 2, .overflow = 0};

static const struct record_text example = {.stats = &stats,
                                           .unwinder = {.torn = 3, .torn_moved = 3},
                                           .elapsed_ns = 10000000000,
                                           .rate_hz = 100,
                                           .cpu_ns = 2000000000,
                                           .unseen_cpu_ns = 20000000};

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
                        "pystrobe: 99 of 100 samples a second and process; 2.00 s of CPU, 99.0% of "
                        "it on stacks that were seen\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summary_says_what_came_of_it),
        cmocka_unit_test(progress_names_the_function_that_ran_most),
        cmocka_unit_test(progress_without_samples_names_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

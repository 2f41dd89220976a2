/* SPDX-License-Identifier: Apache-2.0 */
/* test_gecko.c - a file for profiler.firefox.com has the samples of a time line with their times.
 */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/formats/example.h"

enum { TRIES_MAX = 2000, TEXT_MAX = 64 << 10 };

/* Rows 0, 1 and 2 of example.h, whose CPU times are 15, 30 and 0 ms. */
enum { WORK, FIB, IDLE };

static struct pprof_timeline *new_timeline(size_t max)
{
    struct pprof_timeline *timeline = pprof_timeline_new(max);

    assert_non_null(timeline);
    return timeline;
}

/* A sample of `ms`, with CPU time or without. */
static void add(struct pprof_timeline *timeline, uint32_t track, uint64_t ms, uint32_t row,
                bool ran)
{
    const struct pprof_timeline_sample sample = {.time_ns = ms * 1000000,
                                                 .weight = ran ? 10000000 : 0,
                                                 .cpu_ns = ran ? 9000000 : 0,
                                                 .row = row,
                                                 .ran = ran};

    pprof_timeline_add(timeline, track, &sample);
}

/* Writes the CPU time of a profile with its time line into `text`. */
static enum pprof_rc write_timed(const struct pprof *p, const struct pprof_timeline *timeline,
                                 char text[TEXT_MAX])
{
    struct pprof_stacks *stacks = NULL;
    struct format_view view = {.profile = p,
                               .timeline = timeline,
                               .type = 2,
                               .base = FORMAT_NO_BASE,
                               .title = "an <example>",
                               .time_ns = 1700000000000000000,
                               .duration_ns = 60000000,
                               .period = 10000000,
                               .made_by = "a test"};
    enum pprof_rc rc = pprof_stacks_new(p, &stacks);
    struct buf out;

    buf_init(&out, TEXT_MAX - 1);
    view.stacks = stacks;
    if (rc == PPROF_OK)
        rc = format_named("gecko")->write(&view, &out);
    if (out.size > 0)
        memcpy(text, out.data, out.size);
    text[out.size] = '\0';
    buf_finish(&out);
    pprof_stacks_free(stacks);
    return rc;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("there is no %s in %s", part, text);
}

static void each_thread_has_its_samples_with_their_times(void **state)
{
    struct pprof *p = format_profile("012");
    struct pprof_timeline *timeline = new_timeline(100);
    uint32_t first = pprof_timeline_join(timeline, 42, 42, true);
    uint32_t second = pprof_timeline_join(timeline, 42, 43, false);
    char text[TEXT_MAX];

    (void)state;
    pprof_timeline_name(timeline, first, "MainThread");
    pprof_timeline_name(timeline, second, "a \"quoted\" </script>\n");
    add(timeline, first, 10, WORK, true);
    add(timeline, first, 20, FIB, true);
    add(timeline, second, 20, IDLE, false);
    add(timeline, first, 30, FIB, true);
    add(timeline, second, 30, IDLE, false);
    add(timeline, second, 40, IDLE, false);

    assert_int_equal(write_timed(p, timeline, text), PPROF_OK);
    assert_has(text, "\"profilingStartTime\":0,\"profilingEndTime\":60.000000");
    assert_has(text, "\"threadCPUDelta\":\"ns\"");
    assert_has(text, "the weight of each is its part of the cpu time of its stack\"}]}]");
    assert_has(text, "\"registerTime\":10.000000");
    assert_has(text, "\"name\":\"MainThread\",\"isMainThread\":true,\"pid\":\"42\",\"tid\":\"42\"");
    assert_has(text, "\"samples\":{\"stack\":[1,3,3],\"time\":[10.000000,20.000000,30.000000],"
                     "\"weight\":[15.000000,15.000000,15.000000],"
                     "\"threadCPUDelta\":[9000000,9000000,9000000],"
                     "\"weightType\":\"tracing-ms\",\"length\":3},\"unregisterTime\":30.000000}");
    assert_has(text, "\"name\":\"a \\u0022quoted\\u0022 \\u003c/script>\\u000a\","
                     "\"isMainThread\":false,\"pid\":\"42\",\"tid\":\"43\"");
    assert_has(text, "\"time\":[20.000000,40.000000],\"weight\":[0.000000,0.000000],"
                     "\"threadCPUDelta\":[0,0]");
    assert_null(strstr(text, "sums without times"));
    pprof_timeline_free(timeline);
    pprof_free(p);
}

static void what_no_sample_has_is_in_a_thread_of_its_own(void **state)
{
    struct pprof *p = format_profile("012");
    struct pprof_timeline *timeline = new_timeline(2);
    uint32_t track = pprof_timeline_join(timeline, 42, 42, true);
    char text[TEXT_MAX];

    (void)state;
    add(timeline, track, 10, FIB, true);
    add(timeline, track, 20, FIB, true);
    add(timeline, track, 30, FIB, true);

    assert_int_equal(write_timed(p, timeline, text), PPROF_OK);
    assert_has(text, "\"label\":\"Left out\",\"format\":\"string\",\"value\":"
                     "\"1 sample, all from 0.030 s on: there is room for 2\"");
    assert_has(text, "\"label\":\"Without times\",\"format\":\"string\",\"value\":"
                     "\"25.00 ms, in the thread \\u0022sums without times\\u0022\"}]}]");
    assert_has(text, "\"weight\":[10.000000,10.000000],\"threadCPUDelta\":[9000000,9000000]");
    assert_has(text, "\"name\":\"sums without times\",\"isMainThread\":false");
    assert_has(text, "\"time\":[0.000000,0.000000],\"weight\":[15.000000,10.000000],"
                     "\"threadCPUDelta\":[0,0]");
    pprof_timeline_free(timeline);
    pprof_free(p);
}

static void a_time_line_may_be_empty(void **state)
{
    struct pprof *p = format_profile("");
    struct pprof_timeline *timeline = new_timeline(2);
    char text[TEXT_MAX];

    (void)state;
    (void)pprof_timeline_join(timeline, 42, 42, true); /* a thread that was never sampled */
    assert_int_equal(write_timed(p, timeline, text), PPROF_OK);
    assert_has(text, "\"threads\":[]}");
    pprof_timeline_free(timeline);
    pprof_free(p);
}

static void sums_say_that_they_have_no_times(void **state)
{
    struct pprof *p = format_profile("012");
    char text[TEXT_MAX];

    (void)state;
    assert_int_equal(write_timed(p, NULL, text), PPROF_OK);
    assert_has(text, "\"value\":\"no times: each stack is one sample");
    assert_null(strstr(text, "threadCPUDelta"));
    pprof_free(p);
}

static void running_out_of_memory_or_room_is_said(void **state)
{
    struct pprof *p = format_profile("012");
    struct pprof_timeline *timeline = new_timeline(2);
    uint32_t track = pprof_timeline_join(timeline, 42, 42, true);
    enum pprof_rc rc = PPROF_NOMEM;
    char text[TEXT_MAX];
    unsigned long i;

    (void)state;
    add(timeline, track, 10, WORK, true);
    for (i = 1; i < TRIES_MAX && rc != PPROF_OK; i++) {
        alloc_fail_at(i);
        rc = write_timed(p, timeline, text);
        (void)alloc_fail_stop();
        assert_true(rc == PPROF_OK || rc == PPROF_NOMEM || rc == PPROF_FULL);
    }
    assert_true(i > 10 && i < TRIES_MAX);
    pprof_timeline_free(timeline);
    pprof_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_samples_with_their_times),
        cmocka_unit_test(what_no_sample_has_is_in_a_thread_of_its_own),
        cmocka_unit_test(a_time_line_may_be_empty),
        cmocka_unit_test(sums_say_that_they_have_no_times),
        cmocka_unit_test(running_out_of_memory_or_room_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline.c - a time line keeps the samples of each thread, and says what it has not kept. */
#include <string.h>

#include "pprof/timeline.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

enum { SAMPLES = 8 };

static struct pprof_timeline *new_timeline(size_t max)
{
    struct pprof_timeline *timeline = pprof_timeline_new(max);

    assert_non_null(timeline);
    return timeline;
}

/* A sample at `time` that weighs 10 and has `cpu_ns`; without any its thread sleeps. */
static void add(struct pprof_timeline *timeline, uint32_t track, uint64_t time, uint32_t row,
                uint64_t cpu_ns)
{
    const struct pprof_timeline_sample sample = {
        .time_ns = time, .weight = 10, .cpu_ns = cpu_ns, .row = row, .ran = cpu_ns > 0};

    pprof_timeline_add(timeline, track, &sample);
}

static void keeps_each_sample_of_what_runs(void **state)
{
    struct pprof_timeline *timeline = new_timeline(SAMPLES);
    uint32_t track = pprof_timeline_join(timeline, 42, 43, false);
    const struct pprof_timeline_track *kept;

    (void)state;
    for (uint64_t i = 1; i <= 4; i++)
        add(timeline, track, i, 5, 7);

    kept = &timeline->tracks[track - 1];
    assert_int_equal(kept->pid, 42);
    assert_int_equal(kept->tid, 43);
    assert_int_equal(kept->count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(kept->samples[i].time_ns, i + 1);
    assert_int_equal(pprof_timeline_weight(timeline, 5), 40);
    assert_int_equal(pprof_timeline_weight(timeline, 4), 0);
    assert_int_equal(pprof_timeline_weight(timeline, 6), 0);
    assert_int_equal(timeline->left_out, 0);
    pprof_timeline_free(timeline);
}

static void keeps_the_first_and_the_last_sample_of_a_sleep(void **state)
{
    struct pprof_timeline *timeline = new_timeline(SAMPLES);
    uint32_t track = pprof_timeline_join(timeline, 42, 43, true);
    const struct pprof_timeline_sample *kept;
    uint64_t i;

    (void)state;
    for (i = 1; i <= 100; i++)
        add(timeline, track, i, 5, 0);
    add(timeline, track, i++, 5, 3); /* it woke up for a moment */
    for (; i <= 200; i++)
        add(timeline, track, i, 5, 0);
    add(timeline, track, i, 6, 0);

    kept = timeline->tracks[track - 1].samples;
    assert_int_equal(timeline->tracks[track - 1].count, 5);
    assert_int_equal(kept[0].time_ns, 1);
    assert_int_equal(kept[1].time_ns, 100);
    assert_int_equal(kept[1].weight, 990);
    assert_int_equal(kept[2].time_ns, 101);
    assert_int_equal(kept[2].cpu_ns, 3);
    assert_int_equal(kept[3].time_ns, 200);
    assert_int_equal(kept[3].weight, 990);
    assert_int_equal(kept[4].row, 6);
    assert_int_equal(pprof_timeline_weight(timeline, 5), 2000);
    pprof_timeline_free(timeline);
}

static void says_from_when_on_it_was_full(void **state)
{
    struct pprof_timeline *timeline = new_timeline(2);
    uint32_t track = pprof_timeline_join(timeline, 42, 43, true);

    (void)state;
    for (uint64_t i = 1; i <= 5; i++)
        add(timeline, track, i, 5, 1);

    assert_int_equal(timeline->count, 2);
    assert_int_equal(timeline->tracks[track - 1].count, 2);
    assert_int_equal(timeline->full_ns, 3);
    assert_int_equal(timeline->left_out, 3);
    assert_int_equal(pprof_timeline_weight(timeline, 5), 50); /* so a share stays what it is */
    pprof_timeline_free(timeline);
}

static void has_no_more_than_so_many_tracks(void **state)
{
    struct pprof_timeline *timeline = new_timeline(SAMPLES);

    (void)state;
    for (int64_t i = 1; i <= PPROF_TIMELINE_TRACKS; i++)
        assert_int_equal(pprof_timeline_join(timeline, 42, i, false), i);

    assert_int_equal(pprof_timeline_join(timeline, 42, -1, false), 0);
    pprof_timeline_name(timeline, 0, "nobody");
    add(timeline, 0, 1, 5, 1);
    pprof_timeline_leave(timeline, 0);
    assert_int_equal(timeline->left_out, 1);
    assert_int_equal(timeline->full_ns, 0);
    pprof_timeline_free(timeline);
}

static void a_thread_that_comes_back_has_its_track_again(void **state)
{
    struct pprof_timeline *timeline = new_timeline(SAMPLES);
    uint32_t first = pprof_timeline_join(timeline, 42, 43, false);
    uint32_t second = pprof_timeline_join(timeline, 42, 43, false); /* another state of it */
    uint32_t unknown = pprof_timeline_join(timeline, 42, 0, false);

    (void)state;
    assert_int_not_equal(first, second);
    pprof_timeline_leave(timeline, first);
    pprof_timeline_leave(timeline, unknown);

    assert_int_equal(pprof_timeline_join(timeline, 42, 43, false), first);
    assert_int_not_equal(pprof_timeline_join(timeline, 41, 43, false), first);
    assert_int_not_equal(pprof_timeline_join(timeline, 42, 0, false), unknown);
    pprof_timeline_free(timeline);
}

static void names_are_whole_characters(void **state)
{
    struct pprof_timeline *timeline = new_timeline(SAMPLES);
    uint32_t track = pprof_timeline_join(timeline, 42, 43, false);
    const char *name = timeline->tracks[track - 1].name;
    char text[2 * PPROF_TIMELINE_NAME];

    (void)state;
    pprof_timeline_name(timeline, track, "before");
    pprof_timeline_name(timeline, track, "the \"job\"");
    assert_string_equal(name, "the \"job\"");
    pprof_timeline_name(timeline, track, "bad \xff");
    assert_string_equal(name, "bad ");
    memset(text, 'x', sizeof(text));
    memcpy(text + PPROF_TIMELINE_NAME - 2, "\xc3\xa4", 2); /* one character, which is cut */
    text[sizeof(text) - 1] = '\0';
    pprof_timeline_name(timeline, track, text);
    assert_int_equal(strlen(name), PPROF_TIMELINE_NAME - 2);
    pprof_timeline_free(timeline);
}

static void begins_anew_with_its_profile(void **state)
{
    struct pprof_timeline *timeline = new_timeline(1);
    uint32_t track = pprof_timeline_join(timeline, 42, 43, false);

    (void)state;
    add(timeline, track, 1, 5, 1);
    add(timeline, track, 2, 5, 1);
    pprof_timeline_reset(timeline);
    pprof_timeline_reset(NULL);
    assert_int_equal(timeline->left_out, 0);
    assert_int_equal(pprof_timeline_weight(timeline, 5), 0);

    add(timeline, track, 1, 6, 1);

    assert_int_equal(timeline->tracks[track - 1].count, 1);
    assert_int_equal(pprof_timeline_weight(timeline, 5), 0);
    assert_int_equal(pprof_timeline_weight(timeline, 6), 10);
    pprof_timeline_free(timeline);
    pprof_timeline_free(NULL);
}

static void without_memory_samples_are_left_out(void **state)
{
    struct pprof_timeline *timeline = new_timeline(SAMPLES);
    uint32_t track = pprof_timeline_join(timeline, 42, 43, false);

    (void)state;
    alloc_fail_all();
    assert_null(pprof_timeline_new(SAMPLES));
    add(timeline, track, 1, 5, 1);
    (void)alloc_fail_stop();
    assert_int_equal(timeline->left_out, 1);
    alloc_fail_at(2); /* the row has room for its weight, the track none for the sample */
    add(timeline, track, 2, 5, 1);
    (void)alloc_fail_stop();

    assert_int_equal(timeline->left_out, 2);
    assert_int_equal(timeline->full_ns, 2);
    assert_int_equal(timeline->count, 0);
    pprof_timeline_free(timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_each_sample_of_what_runs),
        cmocka_unit_test(keeps_the_first_and_the_last_sample_of_a_sleep),
        cmocka_unit_test(says_from_when_on_it_was_full),
        cmocka_unit_test(has_no_more_than_so_many_tracks),
        cmocka_unit_test(a_thread_that_comes_back_has_its_track_again),
        cmocka_unit_test(names_are_whole_characters),
        cmocka_unit_test(begins_anew_with_its_profile),
        cmocka_unit_test(without_memory_samples_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

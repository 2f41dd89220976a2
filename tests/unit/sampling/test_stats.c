/* SPDX-License-Identifier: Apache-2.0 */
/* test_stats.c - every counter is shown, and every loss has its reason. */
#include <stdio.h>
#include <string.h>

#include "agent/sampling/stats.h"
#include "tests/unit/unit_test.h"

enum { OUT_MAX = 1 << 16 };

/* The counters with the values 1, 2, 3, ... */
static struct cpy_stats counted(void)
{
    struct cpy_stats stats;
    uint64_t next = 0;

#define NUMBER(field, label, text) stats.field = ++next;
    CPY_STATS(NUMBER)
#undef NUMBER
    return stats;
}

static char *dropped(const struct engine_stats *engine, const struct cpy_stats *unwinder)
{
    static char text[OUT_MAX];
    struct buf out;

    buf_init(&out, OUT_MAX);
    stats_dropped(engine, unwinder, &out);
    buf_add(&out, "", 1);
    assert_false(buf_failed(&out));
    memcpy(text, out.data, out.size);
    buf_finish(&out);
    return text;
}

static void has_a_row_with_label_and_text_for_every_counter(void **state)
{
    const struct cpy_stats stats = counted();
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(stats) / sizeof(uint64_t); i++) {
        assert_non_null(stats_row(i));
        assert_int_equal(stats_value(&stats, stats_row(i)), i + 1);
        assert_true(stats_row(i)->label[0] && stats_row(i)->text[0]);
    }
    assert_null(stats_row(i));
}

static void tells_once_that_most_stacks_are_refused(void **state)
{
    struct stats_refusals refusals = {0};
    struct cpy_stats stats = {.threads = 1000, .torn = 40, .torn_moved = 40};

    (void)state;
    assert_null(stats_refused(&refusals, &stats)); /* few */
    stats.torn += STATS_REFUSALS_WINDOW - 1;
    stats.torn_chain += STATS_REFUSALS_WINDOW - 1;
    assert_null(stats_refused(&refusals, &stats)); /* too early to tell */
    stats.threads++;
    assert_string_equal(stats_refused(&refusals, &stats),
                        "their frames make no stack that is known");
    stats.torn += STATS_REFUSALS_WINDOW;
    assert_null(stats_refused(&refusals, &stats));
}

static void says_why_a_recording_has_no_stack(void **state)
{
    struct cpy_stats stats = {.torn = 4, .torn_tasks = 1, .torn_moved = 1, .torn_chain = 2};
    struct buf text;

    (void)state;
    buf_init(&text, 512);
    assert_true(stats_no_stack(&stats, true, &text));
    buf_add(&text, "", 1);
    assert_string_equal(text.data,
                        "its stacks could not be read (3 tried), because their frames make no "
                        "stack that is known; it has ended");
    buf_finish(&text);
    stats.torn_tasks = 4; /* of tasks only */
    buf_init(&text, 512);
    assert_false(stats_no_stack(&stats, false, &text));
    assert_int_equal(text.size, 0);
    buf_finish(&text);
}

static void counts_no_tasks_as_refused_stacks(void **state)
{
    struct stats_refusals refusals = {0};
    const struct cpy_stats stats = {
        .threads = STATS_REFUSALS_WINDOW, .torn = 1000, .torn_moved = 1000, .torn_tasks = 1000};

    (void)state;
    assert_null(stats_refused(&refusals, &stats));
}

static void adds_up_all_counters_of_two_targets(void **state)
{
    struct cpy_stats sum = counted();
    const struct cpy_stats more = counted();
    size_t i;

    (void)state;
    stats_add(&sum, &more);

    for (i = 0; stats_row(i); i++)
        assert_int_equal(stats_value(&sum, stats_row(i)), 2 * (i + 1));
}

static void says_that_nothing_was_dropped(void **state)
{
    const struct engine_stats engine = {.samples = 100, .attached = 1};
    const struct cpy_stats unwinder = {0};

    (void)state;
    assert_string_equal(dropped(&engine, &unwinder), "nothing dropped");
}

static void does_not_call_the_end_of_a_process_a_loss(void **state)
{
    const struct engine_stats engine = {.failed = {[CPY_GONE] = 1}};
    const struct cpy_stats unwinder = {0};

    (void)state;
    assert_string_equal(dropped(&engine, &unwinder), "nothing dropped");
}

static void names_each_reason_with_its_count(void **state)
{
    const struct engine_stats engine = {
        .missed = 2, .overflow = 1, .failed = {[CPY_STARTING] = 1, [CPY_RACED] = 4}};
    const struct cpy_stats unwinder = {.torn = 3};

    (void)state;
    assert_string_equal(dropped(&engine, &unwinder),
                        "dropped: 2 ticks missed, "
                        "1 sample (the interpreter is not up yet, or is shutting down), "
                        "4 samples (the interpreter moved on while it was being read), "
                        "3 stacks torn, 1 stack without room");
}

static void says_why_stacks_were_torn(void **state)
{
    const struct engine_stats engine = {0};
    const struct cpy_stats unwinder = counted();
    const char *text = dropped(&engine, &unwinder);
    const struct stats_row *row;
    size_t i, reasons = 0;
    char wanted[64];

    (void)state;
    (void)snprintf(wanted, sizeof(wanted), "%u stacks torn", (unsigned)unwinder.torn);
    assert_non_null(strstr(text, wanted));
    for (i = 0; (row = stats_row(i)); i++) {
        if (strncmp(row->label, "torn_", 5) != 0)
            continue;
        (void)snprintf(wanted, sizeof(wanted), "%s%zu %s", reasons++ ? ", " : "(", i + 1,
                       row->label + 5);
        assert_non_null(strstr(text, wanted));
    }
    assert_true(text[strlen(text) - 1] == (reasons ? ')' : 'n'));
}

static void writes_each_counter_into_text_with_its_average(void **state)
{
    const struct cpy_stats stats = counted();
    struct buf out;
    char wanted[64];
    size_t i;

    (void)state;
    buf_init(&out, OUT_MAX);
    stats_text(4, &stats, &out);

    for (i = 0; stats_row(i); i++) {
        (void)snprintf(wanted, sizeof(wanted), "%14zu %12.2f  %s ", i + 1, (double)(i + 1) / 4,
                       stats_row(i)->label);
        assert_non_null(strstr(buf_text(&out), wanted));
    }
    buf_finish(&out);
}

static void divides_by_no_sample_without_harm(void **state)
{
    const struct cpy_stats stats = counted();
    struct buf out;

    (void)state;
    buf_init(&out, OUT_MAX);
    stats_text(0, &stats, &out);

    assert_null(strstr(buf_text(&out), "inf"));
    assert_null(strstr(buf_text(&out), "nan"));
    buf_finish(&out);
}

static void writes_each_outcome_and_counter_into_json(void **state)
{
    const struct engine_stats engine = {.samples = 9, .failed = {[CPY_RACED] = 7}};
    const struct cpy_stats stats = counted();
    const char *json;
    struct buf out;
    char wanted[64];
    size_t i;

    (void)state;
    buf_init(&out, OUT_MAX);
    stats_json(&engine, &stats, &out);
    json = buf_text(&out);

    assert_int_equal(strncmp(json, "{\"samples\": 9, ", 15), 0);
    assert_non_null(strstr(json, "\"raced\": 7"));
    for (i = 1; i < ENGINE_OUTCOMES; i++)
        assert_non_null(strstr(json, cpy_rc_label((enum cpy_rc)i)));
    for (i = 0; stats_row(i); i++) {
        (void)snprintf(wanted, sizeof(wanted), "\"%s\": %zu", stats_row(i)->label, i + 1);
        assert_non_null(strstr(json, wanted));
    }
    buf_finish(&out);
}

static void counts_how_long_samples_took_by_bounds_that_are_within(void **state)
{
    static const uint64_t took_ns[] = {0, 10000, 10001, 1000000000, 1000000001};
    struct engine_times times = {.sum_ns = 0}, twice = {.sum_ns = 0};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(took_ns) / sizeof(took_ns[0]); i++)
        stats_took(&times, took_ns[i]);
    stats_add_times(&twice, &times);
    stats_add_times(&twice, &times);

    assert_int_equal(times.counts[0], 2);
    assert_int_equal(times.counts[1], 1);
    assert_int_equal(times.counts[ENGINE_BOUNDS - 1], 1);
    assert_int_equal(times.counts[ENGINE_BOUNDS], 1);
    assert_int_equal(times.sum_ns, 2000020002);
    assert_int_equal(twice.counts[0], 4);
    assert_int_equal(twice.sum_ns, 4000040004);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_a_row_with_label_and_text_for_every_counter),
        cmocka_unit_test(tells_once_that_most_stacks_are_refused),
        cmocka_unit_test(counts_no_tasks_as_refused_stacks),
        cmocka_unit_test(says_why_a_recording_has_no_stack),
        cmocka_unit_test(adds_up_all_counters_of_two_targets),
        cmocka_unit_test(says_that_nothing_was_dropped),
        cmocka_unit_test(does_not_call_the_end_of_a_process_a_loss),
        cmocka_unit_test(names_each_reason_with_its_count),
        cmocka_unit_test(says_why_stacks_were_torn),
        cmocka_unit_test(writes_each_counter_into_text_with_its_average),
        cmocka_unit_test(divides_by_no_sample_without_harm),
        cmocka_unit_test(writes_each_outcome_and_counter_into_json),
        cmocka_unit_test(counts_how_long_samples_took_by_bounds_that_are_within),
    };

    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}

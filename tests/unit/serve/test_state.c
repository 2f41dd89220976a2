/* SPDX-License-Identifier: Apache-2.0 */
/* test_state.c - a made-up state as text and as JSON; hostile names drive no terminal. */
#include <stdio.h>
#include <string.h>

#include "agent/delivery/export_log.h"
#include "agent/host/clock.h"
#include "agent/serve/metrics.h"
#include "agent/serve/state.h"
#include "tests/unit/unit_test.h"

/* A state with something of everything. Ended by state_drop. */
static struct state *make_state(void)
{
    struct state *s = state_new();
    struct state_target *target;
    struct state_service *service;
    struct state_exporter *exporter;

    assert_non_null(s);
    s->pid = 77;
    s->started_mono_ns = 1;
    s->taken_mono_ns = UINT64_C(3725000000001);
    (void)snprintf(s->config.path, sizeof(s->config.path), "/etc/a.ini");
    s->config.good = true;
    s->budget = (struct budget_state){.promised = {0.01, 64 << 20},
                                      .used_cpu = 0.0042,
                                      .used_memory_bytes = 12 << 20,
                                      .used_opening_cpu = 0.003,
                                      .slowed = 2,
                                      .slowest_hz = 4.6,
                                      .wanted_cpu = 0.041,
                                      .left_out = 3};
    s->spool = (struct delivery_spool_stats){.on = true,
                                             .failing = true,
                                             .entries = 6,
                                             .bytes = 3 << 20,
                                             .written = 8,
                                             .dropped_age = 2};
    err_set(&s->spool.last_error, "no room\x1b");
    s->engine.samples = 1000;
    s->engine.missed = 2;
    s->engine.sampling = 2;
    s->profiles = 5;
    target = state_add_target(s);
    assert_non_null(target);
    target->pid = 4242;
    (void)snprintf(target->service, sizeof(target->service), "x\n\x1b[2J\"\xff");
    target->doing = "sampled";
    target->rate_hz = 19;
    service = state_add_service(s);
    assert_non_null(service);
    (void)snprintf(service->name, sizeof(service->name), "web\n");
    service->cpu_ns = UINT64_C(512300000000);
    exporter = state_add_exporter(s);
    assert_non_null(exporter);
    (void)snprintf(exporter->name, sizeof(exporter->name), "far");
    exporter->type = &exporter_types[EXPORTER_OTLP];
    exporter->delivery.sent = 9;
    exporter->delivery.queued = 4;
    err_set(&exporter->delivery.last_error, "503\nnot now");
    return s;
}

static const char *shown(void (*print)(const struct state *, struct buf *), const struct state *s)
{
    static char text[1 << 16];
    struct buf out;

    buf_init(&out, sizeof(text));
    print(s, &out);
    assert_false(buf_failed(&out));
    (void)snprintf(text, sizeof(text), "%s", buf_text(&out));
    buf_finish(&out);
    return text;
}

static void says_that_a_minute_has_not_passed(void **state)
{
    struct state *s = make_state();

    (void)state;
    s->taken_mono_ns = s->started_mono_ns + UINT64_C(59999999999);
    s->budget.used_cpu = 0.0235;

    assert_non_null(
        strstr(shown(state_text, s),
               "budget:   cpu 2.35% of a core since it started (promised: 1.00% over a minute), "));
    assert_non_null(strstr(shown(state_text, s), " s of CPU since its start\n"));
    state_drop(s);
}

static void prints_text_for_people(void **state)
{
    struct state *s = make_state();
    const char *text = shown(state_text, s);

    (void)state;
    assert_non_null(strstr(text, "pid 77, up 1h 2m\n"));
    assert_non_null(strstr(text, "samples:  1000, dropped: 2 ticks missed\n"));
    assert_non_null(strstr(text, "cpu 0.42% of a core (promised: 1.00%)"));
    assert_non_null(strstr(text, "memory 12.0MiB (promised: 64.0MiB)"));
    assert_non_null(strstr(text, "services: web\\x0a 512.3 s of CPU in the last hour\n"));
    assert_non_null(strstr(text, "spool:    6 profiles, 3.0MiB, 8 written, 0 found, 2 dropped"));
    assert_non_null(strstr(text, "the disk FAILS"));
    assert_non_null(strstr(text, ", 3 targets left out so far\n"
                                 "          2 sampled less often than asked for, as low as 4.6Hz, "
                                 "by max_cpu = 1%: would take 4.1%\n"));
    assert_non_null(strstr(text, "far (otlp), 9 sent, 4 wait"));
    assert_non_null(strstr(text, "last error: 503\\x0anot now\n"));
    assert_non_null(strstr(text, "and 1 more\n"));
    state_drop(s);
}

static void says_how_an_exporter_falls_behind(void **state)
{
    static const char pace[] = "12.5 profiles/s come, 4.0/s are taken; 4 wait (3.0MiB), the oldest "
                               "for 95 s; an answer takes 0.50 s";
    struct state *s = make_state();
    struct delivery_stats *d = &s->exporters[0].delivery;
    char wanted[512];

    (void)state;
    d->in_rate = 12.5;
    d->out_rate = 4;
    d->backlog_bytes = 3 << 20;
    d->oldest_ns = 95 * NS_PER_S;
    d->pushes.buckets[0] = 4;
    d->pushes.duration_ns = 2 * NS_PER_S;
    (void)snprintf(s->exporters[0].name, sizeof(s->exporters[0].name), "f\tr");
    (void)snprintf(wanted, sizeof(wanted), "keeps up\tf\\x09r\t%s\n", pace);
    assert_string_equal(shown(state_exporters, s), wanted);
    assert_null(strstr(shown(state_text, s), pace));

    d->behind = true;
    (void)snprintf(wanted, sizeof(wanted), "falls behind\tf\\x09r\t%s\n", pace);
    assert_string_equal(shown(state_exporters, s), wanted);
    (void)snprintf(wanted, sizeof(wanted), "; it FALLS BEHIND\n          %s; %s\n", pace,
                   EXPORT_BEHIND_CURE);
    assert_non_null(strstr(shown(state_text, s), wanted));
    state_drop(s);
}

static void tells_the_rate_of_the_slowest_process_of_each_service(void **state)
{
    static const struct {
        const char *service, *doing;
        double rate_hz;
    } targets[] = {{"shop", "sampled", 19},
                   {"api", "sampled", 49},
                   {"shop", "sampled", 4.5},
                   {"shop", "waits", 1},
                   {"idle", "waits", 2}};
    struct state *s = state_new();
    const char *text;

    (void)state;
    assert_non_null(s);
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        struct state_target *target = state_add_target(s);

        assert_non_null(target);
        (void)snprintf(target->service, sizeof(target->service), "%s", targets[i].service);
        target->doing = targets[i].doing;
        target->rate_hz = targets[i].rate_hz;
        target->wanted_hz = 49;
    }
    text = shown(metrics_text, s);
    assert_non_null(strstr(text, " gauge\npystrobe_service_rate_hertz{service=\"api\"} 49\n"
                                 "pystrobe_service_rate_hertz{service=\"shop\"} 4.5\n#"));
    assert_non_null(strstr(text, "pystrobe_service_rate_asked_hertz{service=\"shop\"} 49\n"));
    state_drop(s);
}

static void counts_processes_that_do_not_end(void **state)
{
    struct state *s = make_state();

    (void)state;
    assert_non_null(strstr(shown(metrics_text, s), "\npystrobe_unkillable_processes 0\n"));
    s->unkillable = 2;
    assert_non_null(strstr(shown(metrics_text, s), "\npystrobe_unkillable_processes 2\n"));
    state_drop(s);
}

static void says_what_hangs(void **state)
{
    struct state *s = make_state();

    (void)state;
    assert_null(strstr(shown(state_text, s), "hangs:"));
    assert_non_null(strstr(shown(state_json, s), "\"hangs\": 0, \"hang\": null"));
    s->targets[0].hang = hang_name(HANG_STUCK);
    s->targets[0].hang_tid = 4243;
    s->targets[0].hang_ns = 90 * NS_PER_S;
    s->targets[0].hangs = 2;
    s->supervisor.hangs[HANG_STUCK] = 5;
    s->supervisor.hangs[HANG_DEADLOCK] = 1;
    assert_non_null(strstr(shown(state_text, s), "hangs:    1 now, 5 stuck and 1 deadlocked"));
    assert_non_null(strstr(shown(state_text, s), "19Hz HANGS (stuck, thread 4243, 1m 30s)\n"));
    assert_non_null(strstr(shown(state_json, s),
                           "\"hangs\": 2, \"hang\": {\"kind\": \"stuck\", \"seconds\": 90.0, "
                           "\"tid\": 4243}"));
    assert_non_null(
        strstr(shown(state_json, s), "\"hangs\": {\"now\": 1, \"stuck\": 5, \"deadlock\": 1}"));
    assert_non_null(strstr(shown(state_line, s), "; 1 HANG"));
    assert_non_null(strstr(shown(metrics_text, s), "pystrobe_hangs_total{kind=\"stuck\"} 5\n"));
    assert_non_null(strstr(shown(metrics_text, s), "pystrobe_targets_hanging 1\n"));
    state_drop(s);
}

static void says_the_most_important_in_a_line(void **state)
{
    struct state *s = make_state();

    (void)state;
    assert_string_equal(shown(state_line, s),
                        "2 processes sampled, 1000 samples; 9 profiles delivered, 4 wait; "
                        "last error: 503\\x0anot now");
    s->exporters[0].delivery.queued = 0;
    s->spool.failing = false;
    s->config.tried_ns = 1;
    s->config.good = false;
    assert_string_equal(shown(state_line, s),
                        "2 processes sampled, 1000 samples; 9 profiles delivered, 0 wait; "
                        "the last reload FAILED");
    state_drop(s);
}

static void lets_no_name_break_out(void **state)
{
    struct state *s = make_state();

    (void)state;
    assert_non_null(strstr(shown(state_text, s), "x\\x0a\\x1b[2J\"\\xff"));
    assert_non_null(strstr(shown(state_json, s),
                           "\"service\": \"x\\\\x0a\\\\x1b[2J\\\"\\\\xff\", \"python\": null"));
    assert_null(strchr(shown(state_json, s), '\x1b'));
    assert_ptr_equal(strchr(shown(state_json, s), '\n') + 1, strchr(shown(state_json, s), '\0'));
    state_drop(s);
}

static void says_why_a_service_is_called_so(void **state)
{
    struct state *s = make_state();

    (void)state;
    assert_non_null(strstr(shown(state_json, s), "\"named_by\": null"));
    (void)snprintf(s->targets[0].named_by, sizeof(s->targets[0].named_by), "-n of \x1b");
    assert_non_null(strstr(shown(state_json, s), "\"named_by\": \"-n of \\\\x1b\""));
    state_drop(s);
}

static void tells_of_a_reload_that_failed(void **state)
{
    struct state *s = make_state();

    (void)state;
    assert_non_null(strstr(shown(state_json, s), "\"last_reload\": null"));
    s->config.tried_ns = 1;
    s->config.good = false;
    s->config.failures = 1;
    err_set(&s->config.error, "a.ini:3: no");
    assert_non_null(
        strstr(shown(state_text, s), "FAILED, settings stay as they were: a.ini:3: no"));
    assert_non_null(strstr(shown(state_json, s), "\"good\": false, \"error\": \"a.ini:3: no\""));
    state_drop(s);
}

static void lists_a_bounded_number_of_targets(void **state)
{
    struct state *s = state_new();
    size_t i;

    (void)state;
    assert_non_null(s);
    for (i = 0; i < STATE_TARGETS_MAX; i++)
        assert_non_null(state_add_target(s));
    assert_null(state_add_target(s));
    assert_int_equal(s->target_count, STATE_TARGETS_MAX);
    state_drop(s);
}

static void tells_what_was_sampled_and_dropped_of_each_target(void **state)
{
    struct state *s = state_new();
    struct state_target *target;

    (void)state;
    assert_non_null(s);
    target = state_add_target(s);
    assert_non_null(target);
    target->counts = (struct engine_counts){
        .samples = 1234567, .missed = 3, .torn = 42, .torn_moved = 40, .torn_code = 2};
    target->counts.failed[CPY_RACED] = 4;
    assert_non_null(strstr(shown(state_text, s), "   1234567       42        7 "));
    assert_non_null(strstr(shown(state_json, s), "\"samples\": 1234567, \"missed\": 3, "));
    assert_non_null(strstr(shown(state_json, s), "\"raced\": 4"));
    assert_non_null(strstr(shown(state_json, s),
                           "\"torn\": {\"all\": 42, \"moved\": 40, \"chain\": "
                           "0, \"code\": 2, \"unmapped\": 0}"));
    state_drop(s);
}

static void knows_the_service_of_a_section(void **state)
{
    struct state *s = state_new();
    struct state_section *section;

    (void)state;
    assert_non_null(s);
    section = state_add_section(s);
    assert_non_null(section);
    (void)snprintf(section->name, sizeof(section->name), "till");
    (void)snprintf(section->service, sizeof(section->service), "shop");

    assert_string_equal(state_service_of(s, "till"), "shop");
    assert_string_equal(state_service_of(s, "shop"), "shop");
    assert_string_equal(state_service_of(s, "mail"), "mail");
    state_drop(s);
}

static void knows_what_it_uses(void **state)
{
    struct state *s = state_new();

    (void)state;
    assert_non_null(s);
    state_own_use(s);
    assert_true(s->cpu_ns > 0);
    assert_true(s->memory_bytes > 0);
    assert_in_range(s->fds, 3, s->fds_max);
    state_drop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_text_for_people),
        cmocka_unit_test(says_that_a_minute_has_not_passed),
        cmocka_unit_test(says_how_an_exporter_falls_behind),
        cmocka_unit_test(says_what_hangs),
        cmocka_unit_test(tells_the_rate_of_the_slowest_process_of_each_service),
        cmocka_unit_test(counts_processes_that_do_not_end),
        cmocka_unit_test(says_the_most_important_in_a_line),
        cmocka_unit_test(lets_no_name_break_out),
        cmocka_unit_test(says_why_a_service_is_called_so),
        cmocka_unit_test(tells_of_a_reload_that_failed),
        cmocka_unit_test(lists_a_bounded_number_of_targets),
        cmocka_unit_test(tells_what_was_sampled_and_dropped_of_each_target),
        cmocka_unit_test(knows_the_service_of_a_section),
        cmocka_unit_test(knows_what_it_uses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

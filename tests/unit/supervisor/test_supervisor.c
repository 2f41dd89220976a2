/* SPDX-License-Identifier: Apache-2.0 */
/* test_supervisor.c - changed settings reach what is sampled already, and a process is known by the
 * name that its sampler reports. */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/supervisor/supervisor_internal.h"
#include "tests/unit/captured_log.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/supervisor/connected_sampler.h"
#include "tests/unit/waiting_child.h"

/* A supervisor that has found a child of the test, and may start no sampler. */
struct fixture {
    struct supervisor *supervisor;
    pid_t child;
    struct target_profile profile; /* as the rules have it now */
};

static const struct budget_limits no_limits;

static bool choose(void *ctx, pid_t pid, const struct proc_stat *stat, struct target_profile *out)
{
    const struct fixture *f = ctx;

    (void)stat;
    *out = f->profile;
    return pid == f->child;
}

static void do_nothing(void)
{
}

static struct engine_settings settings_of(struct fixture *f)
{
    return (struct engine_settings){
        .choose = choose, .ctx = f, .scan_ns = NS_PER_S, .only = f->child};
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct engine_settings settings;

    assert_non_null(f);
    *state = f;
    f->profile = (struct target_profile){.service = "shop", .rate_hz = 19};
    f->child = waiting_child_start(do_nothing);
    settings = settings_of(f);
    f->supervisor = supervisor_new(&settings, &no_limits);
    assert_non_null(f->supervisor);
    for (size_t i = 0; i < SAMPLERS; i++)
        f->supervisor->samplers[i].next_start_ns = UINT64_MAX;
    finder_scan(f->supervisor->finder, clock_mono_ns());
    assert_int_equal(f->supervisor->assignments.count, 1);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    supervisor_free(f->supervisor);
    waiting_child_end(f->child);
    free(f);
    return 0;
}

/* Whether the process is sampled as before once the settings have changed. */
static bool is_kept(struct fixture *f)
{
    const struct engine_settings settings = settings_of(f);
    bool kept;

    supervisor_change(f->supervisor, &settings, &no_limits);
    kept = f->supervisor->assignments.count == 1;
    finder_scan(f->supervisor->finder, clock_mono_ns());
    assert_int_equal(f->supervisor->assignments.count, 1);
    return kept;
}

static void keeps_a_process_whose_settings_stay(void **state)
{
    assert_true(is_kept(*state));
}

static void samples_a_process_anew_whose_settings_change(void **state)
{
    struct fixture *f = *state;

    f->profile.options.hang_ns = 30 * NS_PER_S;
    assert_false(is_kept(f));
    assert_true(is_kept(f));
    f->profile.options.role = CMDLINE_WORKER; /* its title has changed, no setting */
    assert_true(is_kept(f));
    f->profile.rate_hz = 49;
    assert_false(is_kept(f));
}

/* Its sampler samples it, and has found what an SDK calls its service. */
static struct assignment *settle_as(struct fixture *f, const char *service)
{
    struct assignment *assignment = &f->supervisor->assignments.items[0];

    (void)snprintf(assignment->service, sizeof(assignment->service), "%s", service);
    assignment->settled = assignment->sampling = true;
    return assignment;
}

static void note_rate(void *ctx, const struct supervisor_process *process)
{
    double *wanted_hz = ctx;

    *wanted_hz = process->wanted_hz;
}

/* The rate that a process of `tick_ns` a sample is asked for: as told, and in the budget. */
static double wanted_hz_of(struct fixture *f, double tick_ns)
{
    double told_hz = 0, counted_hz;

    supervisor_each(f->supervisor, note_rate, &told_hz);
    supervisor_step_budget(f->supervisor, clock_mono_ns());
    counted_hz = (f->supervisor->budget.state.wanted_cpu - f->supervisor->budget.other_cpu) *
                 f->supervisor->budget.charged * NS_PER_S / tick_ns;
    assert_true(fabs(counted_hz - told_hz) < 0.01);
    return told_hz;
}

static void has_a_burst_of_the_service_that_an_sdk_names(void **state)
{
    static const struct burst of_sdk = {.service = "sdk-shop", .rate_hz = 200},
                              of_rules = {.service = "shop", .rate_hz = 300};
    struct fixture *f = *state;
    struct assignment *assignment = settle_as(f, "sdk-shop");

    assignment->counts.tick_ns = 1e5;
    assert_int_equal(supervisor_burst(f->supervisor, &of_rules, NS_PER_S * 60), 0);
    assert_true(wanted_hz_of(f, 1e5) == 19);
    assert_int_equal(supervisor_burst(f->supervisor, &of_sdk, NS_PER_S * 60), 1);
    assert_true(wanted_hz_of(f, 1e5) == 200);
}

static void send_report(struct ipc_channel *to, enum report kind, const void *report, size_t size)
{
    assert_int_equal(ipc_channel_send(to, kind, report, size, NULL, 0), IPC_CHANNEL_OK);
}

/* Reports of a process of the fixture: its build, a hang and a warning. */
static void send_hang_and_warning(const struct fixture *f, struct ipc_channel *to)
{
    const struct proc_id id = f->supervisor->assignments.items[0].id;
    struct report_build build = {""};
    struct report_warning warning;
    struct engine_hang hang;

    build_id(build.id);
    memset(&warning, 0, sizeof(warning)); /* padding, too */
    warning.id = id;
    err_set(&warning.text, "it holds a second Python");
    memset(&hang, 0, sizeof(hang));
    hang.id = id;
    hang.kind = HANG_STUCK;
    send_report(to, REPORT_BUILD, &build, sizeof(build));
    send_report(to, REPORT_HANG, &hang, sizeof(hang));
    send_report(to, REPORT_WARNING, &warning, sizeof(warning));
}

static void logs_the_name_that_an_sdk_gives(void **state)
{
    struct fixture *f = *state;
    struct assignment *assignment = settle_as(f, "sdk-shop");
    struct signalfd_siginfo info;
    struct ipc_channel sampler;
    const char *text;

    log_init(LOG_LEVEL_INFO);
    connect_sampler(assignment->sampler, &sampler);
    assignment->sent = true;
    f->supervisor->look_ns = f->supervisor->budget_ns = UINT64_MAX;
    send_hang_and_warning(f, &sampler);
    capture();
    assert_int_equal(supervisor_run(f->supervisor, clock_mono_ns() + 100 * NS_PER_MS, &info),
                     ENGINE_DEADLINE);
    text = captured();
    disconnect_sampler(assignment->sampler, &sampler);

    assert_non_null(strstr(text, "of service sdk-shop hangs"));
    assert_non_null(strstr(text, "of service sdk-shop: it holds a second Python"));
}

/* ppoll takes no more entries than the process may have descriptors. */
static void ends_when_it_cannot_wait(void **state)
{
    struct fixture *f = *state;
    struct signalfd_siginfo info;
    struct rlimit before;
    struct pollfd none[2] = {{.fd = -1}, {.fd = -1}};
    enum engine_event event;
    const char *text;

    before = descriptors_forbid();
    if (poll(none, 2, 0) >= 0) { /* as in valgrind, which has a limit of its own */
        descriptors_allow(before);
        skip();
    }
    descriptors_allow(before);
    log_init(LOG_LEVEL_INFO);
    f->supervisor->look_ns = f->supervisor->budget_ns = UINT64_MAX;
    capture();
    before = descriptors_forbid();
    event = supervisor_run(f->supervisor, clock_mono_ns() + 100 * NS_PER_MS, &info);
    supervisor_flush(f->supervisor);
    descriptors_allow(before);
    text = captured();

    assert_int_equal(event, ENGINE_FAILED);
    assert_non_null(strstr(text, "error: waiting: Invalid argument\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keeps_a_process_whose_settings_stay),
        TEST(samples_a_process_anew_whose_settings_change),
        TEST(has_a_burst_of_the_service_that_an_sdk_names),
        TEST(logs_the_name_that_an_sdk_gives),
        TEST(ends_when_it_cannot_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_agent.c - `pystrobe agent`: samples what the ini file names until it is told to stop. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/cli/option_table.h"
#include "agent/cli/preview.h"
#include "agent/commands/commands.h"
#include "agent/commands/run.h"
#include "agent/discover/users.h"
#include "agent/exec/command.h"
#include "agent/host/clock.h"
#include "agent/host/escape.h"
#include "agent/host/file_limit.h"
#include "agent/host/log.h"
#include "agent/proc/namespaces.h"
#include "agent/proc/owner.h"
#include "agent/sampling/resolve_target.h"
#include "agent/sampling/stats.h"
#include "agent/supervisor/supervisor.h"
#include "base/proc_file.h"
#include "base/text.h"

static const char help[] =
    "Usage: pystrobe agent -c FILE [--dry-run]\n\n"
    "Finds the Python processes that the ini file's [target] sections name, samples\n"
    "them, and sends a profile of each service at the end of each interval. SIGTERM\n"
    "or SIGINT sends the last profiles and ends it.\n\n"
    "  -c, --config FILE  the ini file, see pystrobe.ini(5); pystrobe config\n"
    "                     --sample prints one\n"
    "      --dry-run      print the processes that would be sampled now, with service\n"
    "                     and labels, and why others would not; send and keep nothing\n"
    "      --log-level LEVEL, --log-format FORMAT\n"
    "                     override log_level and log_format of the ini file\n"
    "  -h, --help         this text\n\n"
    "Example:\n"
    "  pystrobe agent -c /etc/pystrobe/pystrobe.ini\n";

enum { DROPPED_MAX = 4096, PREVIEW_MAX = 64 << 20, ANSWER_MAX = 4096, SERVICES_SHOWN = 8 };

static bool choose_by_matcher(void *ctx, pid_t pid, const struct proc_stat *stat,
                              struct target_profile *out)
{
    const struct run *run = ctx;

    (void)stat;
    if (!matcher_choose(run->matcher, pid, out))
        return false;
    out->owner = proc_owner(pid);
    return true;
}

static void deliver_to_publisher(void *ctx, const struct service *service, uint64_t now_ns)
{
    struct run *run = ctx;

    on_demand_deliver(run->monitoring.on_demand, service);
    monitoring_note_profile(&run->monitoring, service, now_ns);
    publisher_service(&run->publisher, service, now_ns);
}

static void end_publisher_interval(void *ctx)
{
    struct run *run = ctx;

    publisher_interval_end(&run->publisher);
}

static void log_stopped(struct supervisor *supervisor)
{
    const struct engine_stats *stats = supervisor_engine_stats(supervisor);
    struct cpy_stats unwinder;
    struct buf dropped;

    supervisor_unwinder(supervisor, &unwinder);
    buf_init(&dropped, DROPPED_MAX);
    stats_dropped(stats, &unwinder, &dropped);
    log_line(LOG_LEVEL_INFO, "stopped: %llu %s of %llu %s, %s", (unsigned long long)stats->samples,
             text_plural(stats->samples, "sample", "samples"), (unsigned long long)stats->attached,
             text_plural(stats->attached, "process", "processes"),
             buf_failed(&dropped) ? "out of memory" : buf_text(&dropped));
    buf_finish(&dropped);
}

/* Some of the services whose processes are sampled. */
struct sampled {
    const char *services[SERVICES_SHOWN]; /* borrowed */
    size_t count;
};

static void note_service(void *ctx, const struct supervisor_process *process)
{
    struct sampled *sampled = ctx;

    for (size_t i = 0; i < sampled->count; i++)
        if (strcmp(sampled->services[i], process->service) == 0)
            return;
    if (sampled->count < SERVICES_SHOWN)
        sampled->services[sampled->count++] = process->service;
}

/* Answers who wants a burst of what has no processes: the name may be wrong. */
static void tell_no_process(struct run *run, const struct burst *burst)
{
    struct sampled sampled = {.count = 0};
    struct buf text;

    if (burst->id.pid != 0) {
        control_done(run->monitoring.control, false,
                     "that process is not sampled now; pystrobe status lists those that are");
        return;
    }
    buf_init(&text, ANSWER_MAX);
    buf_add_str(&text, "0 processes are of a service or section of that name now; those that come "
                       "are sampled so, too");
    supervisor_each(run->supervisor, note_service, &sampled);
    for (size_t i = 0; i < sampled.count; i++) {
        buf_add_str(&text, i == 0 ? ". Sampled now: " : ", ");
        escape_add_str(&text, sampled.services[i]);
    }
    control_done(run->monitoring.control, true,
                 buf_failed(&text) ? "out of memory" : buf_text(&text));
    buf_finish(&text);
}

static void start_burst(struct run *run, const struct control_request *request)
{
    struct burst burst = resolve_target(run->conf, request->target);
    char text[128];
    size_t count;

    burst.rate_hz = request->rate_hz;
    count = supervisor_burst(run->supervisor, &burst, request->duration_ns);
    if (count == SIZE_MAX) {
        control_done(run->monitoring.control, false,
                     "there are too many bursts already: wait for one to end");
        return;
    }
    log_line(LOG_LEVEL_INFO, "burst of %s: %g Hz for %.0f s, %zu %s now", request->target,
             request->rate_hz, (double)request->duration_ns / 1e9, count,
             text_plural(count, "process", "processes"));
    if (count == 0) {
        tell_no_process(run, &burst);
        return;
    }
    (void)snprintf(text, sizeof(text), "%zu %s", count, text_plural(count, "process", "processes"));
    control_done(run->monitoring.control, true, text);
}

static void reload_settings(struct run *run)
{
    struct control *asked = run->monitoring.control; /* the settings may have another */
    struct err err;
    bool good = reload(run, &err);

    control_done(asked, good, good ? "the settings are in effect" : err.text);
}

/* Carries out what has come over the control socket. */
static void handle_requests(struct run *run)
{
    struct control_request request;

    if (!control_next(run->monitoring.control, &request))
        return;
    if (request.kind == CONTROL_BURST)
        start_burst(run, &request);
    else
        reload_settings(run);
}

static void publish(struct run *run)
{
    const struct monitoring_sources sources = {run->conf, run->supervisor, &run->publisher,
                                               run->reader};

    if (clock_mono_ns() >= run->monitoring.next_ns)
        monitoring_publish(&run->monitoring, &sources);
}

static bool ends_it(uint32_t signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT;
}

static int sample_until_stopped(struct run *run)
{
    struct signalfd_siginfo info = {0};
    struct err err = {""};
    enum engine_event event;
    uint64_t end_ns, wake_ns;

    do {
        publish(run);
        on_demand_step(run->monitoring.on_demand, run->supervisor, run->conf);
        wake_ns = on_demand_next_ns(run->monitoring.on_demand);
        wake_ns = wake_ns < run->monitoring.next_ns ? wake_ns : run->monitoring.next_ns;
        event = supervisor_run(run->supervisor, wake_ns, &info);
        if (event == ENGINE_SIGNAL && info.ssi_signo == MONITORING_SIGNAL)
            handle_requests(run);
        if (event == ENGINE_SIGNAL && info.ssi_signo == SIGHUP)
            (void)reload(run, &err); /* which the log and the status tell */
    } while (event != ENGINE_FAILED && !(event == ENGINE_SIGNAL && ends_it(info.ssi_signo)));
    log_line(LOG_LEVEL_INFO, "stopping");
    monitoring_ending(&run->monitoring);
    supervisor_flush(run->supervisor);
    end_ns = clock_mono_ns() + run->conf->agent.stop_timeout_ns;
    run->hangs = !publisher_close(&run->publisher, end_ns); /* before what may hang is joined */
    monitoring_close(&run->monitoring);
    run->hangs = !reload_wait(end_ns) || run->hangs;
    log_stopped(run->supervisor);
    return event == ENGINE_FAILED ? EXIT_FAILED : EXIT_OK;
}

/* A proc_file_each_id callback. */
static bool note_other_process(void *ctx, pid_t pid, uint64_t inode)
{
    bool *alone = ctx;

    (void)inode;
    *alone = pid == getpid();
    return *alone;
}

/*
 * Warns if the agent is the only process of a container's pid namespace. To be called before it
 * starts processes of its own.
 */
static void warn_if_alone(void)
{
    bool alone = getpid() == 1 && !namespaces_are_hosts_processes();

    if (alone)
        (void)proc_file_each_id(proc_file_open(AT_FDCWD, "/proc"), note_other_process, &alone);
    if (alone)
        log_line(LOG_LEVEL_WARNING,
                 "this container has no process but the agent, which cannot see "
                 "those outside: start it with --pid=host (Kubernetes: hostPID)");
}

/* Says that the agent runs, and what the settings lack. */
static void say_started(const struct run *run)
{
    log_line(LOG_LEVEL_INFO, "started: %zu %s, %zu %s", run->conf->target_count,
             text_plural(run->conf->target_count, "target", "targets"), run->conf->exporter_count,
             text_plural(run->conf->exporter_count, "exporter", "exporters"));
    if (run->conf->target_count == 0)
        log_line(LOG_LEVEL_WARNING, "there is no [target] section: nothing will be sampled");
    if (run->conf->exporter_count == 0 && delivery_count(run->publisher.delivery) == 0)
        log_line(LOG_LEVEL_WARNING, "there is no [exporter] section: profiles will go nowhere");
    users_log_unknown(run->conf, run->reader);
}

static int run_agent(struct run *run)
{
    struct engine_settings settings = {
        .choose = choose_by_matcher,
        .deliver = deliver_to_publisher,
        .interval_ended = end_publisher_interval,
        .ctx = run,
        .interval_ns = run->conf->agent.interval_ns,
        .scan_ns = run->conf->agent.scan_ns,
        .max_services = run->conf->agent.max_services,
    };
    const struct budget_limits budget = {run->conf->agent.max_cpu, run->conf->agent.max_memory};
    struct err err = {""};
    enum exporter_rc rc;
    sigset_t before;

    warn_if_alone();
    command_block_signals(&settings.signals, &before); /* before threads start */
    run->matcher = matcher_new(run->conf);
    run->reader = proc_reader_new(CHILD_PROCESS_SELF);
    run->supervisor = supervisor_new(&settings, &budget);
    if (!run->matcher || !run->reader || !run->supervisor) {
        log_line(LOG_LEVEL_ERROR, "out of memory or file descriptors");
        return EXIT_FAILED;
    }
    matcher_use_reader(run->matcher, run->reader);
    run_choose_spool(run, run->conf);
    rc = publisher_open(&run->publisher, run->conf, 0, &err);
    if (rc != EXPORTER_OK) {
        log_line(LOG_LEVEL_ERROR, "%s", err.text);
        return rc == EXPORTER_BAD_CONFIG ? EXIT_CONFIG : EXIT_FAILED;
    }
    if (!monitoring_open(&run->monitoring, run->source.path, run->conf, &err)) {
        log_line(LOG_LEVEL_ERROR, "%s", err.text);
        run->hangs = !publisher_close(&run->publisher, 0);
        monitoring_close(&run->monitoring);
        return EXIT_FAILED;
    }
    say_started(run);
    return sample_until_stopped(run);
}

/* Tells what an agent would do, and does nothing of it. */
static int show_preview(const struct conf *conf)
{
    int status = EXIT_FAILED;
    struct buf out;

    buf_init(&out, PREVIEW_MAX);
    if (preview(conf, &out) && fwrite(out.data, 1, out.size, stdout) == out.size &&
        fflush(stdout) == 0)
        status = EXIT_OK;
    else
        (void)fprintf(
            stderr,
            "pystrobe: /proc cannot be read, the output cannot be written, or out of memory\n");
    buf_finish(&out);
    return status;
}

/* Runs an agent with libcurl set up around it. */
static int run_with_exporters(struct run *run)
{
    struct err err;
    int status;

    file_limit_raise();
    if (exporter_global_init(&err) != EXPORTER_OK) {
        log_line(LOG_LEVEL_ERROR, "%s", err.text);
        return EXIT_FAILED;
    }
    status = run_agent(run);
    supervisor_free(run->supervisor);
    matcher_free(run->matcher);
    proc_reader_free(run->reader);
    if (!run->hangs)
        exporter_global_finish();
    return status;
}

struct request {
    const char *path;
    bool dry_run;
    struct options_flags flags;
};

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"config", 'c', OPTION_TEXT, FIELD(path)},
    {"dry-run", 0, OPTION_FLAG, FIELD(dry_run)},
    OPTION_LOG_ROWS(struct request, flags),
    {.name = NULL},
};

int cmd_agent(int argc, char **argv)
{
    static const struct option_table table = {
        .rows = rows, .help = help, .ends_at_word = true, .help_at_once = true};
    struct request request = {.path = NULL};
    struct run run = {0};
    int status;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    if (optind < argc || !request.path) {
        (void)fprintf(stderr, "pystrobe: agent needs -c FILE%s\n",
                      optind < argc ? " and nothing else" : "");
        return options_usage("agent");
    }
    run.source = options_source(request.path, &request.flags);
    status = options_conf(&run.source, &run.conf);
    if (!run.conf) /* as options_conf says, unless all is well */
        return status;
    status = request.dry_run ? show_preview(run.conf) : run_with_exporters(&run);
    conf_free(run.conf);
    return status;
}

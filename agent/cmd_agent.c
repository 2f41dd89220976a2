/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_agent.c - `pystrobe agent`: samples what the ini file names until it is told to stop. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/child.h"
#include "agent/clock.h"
#include "agent/commands.h"
#include "agent/fleet.h"
#include "agent/log.h"
#include "agent/match.h"
#include "agent/options.h"
#include "agent/ship.h"
#include "agent/stats.h"

static const char help[] =
    "Usage: pystrobe agent -c FILE\n\n"
    "Finds the Python processes that the ini file's [target] sections name, samples them,\n"
    "and ships a profile of each service at the end of each interval. SIGTERM or SIGINT\n"
    "ships what is there and ends it.\n\n"
    "  -c, --config FILE  the ini file, see pystrobe.ini(5); pystrobe config --sample prints one\n"
    "      --log-level LEVEL, --log-format FORMAT\n"
    "                     go before log_level and log_format of the ini file\n"
    "  -h, --help         this text\n\n"
    "Example:\n"
    "  pystrobe agent -c /etc/pystrobe/pystrobe.ini\n";

/* After SIGTERM all must be over within 2 s. */
#define STOP_NS (1500 * NS_PER_MS)

enum { DROPPED_MAX = 4096 };

struct run {
    struct conf *conf;       /* owned */
    char spool[PATH_MAX];    /* of a service manager, if the settings name none */
    struct matcher *matcher; /* owned */
    struct ship ship;
    struct fleet *fleet; /* owned */
    bool hangs;          /* an exporter could not be ended */
};

static bool choose(void *ctx, pid_t pid, const struct proc_stat *stat, struct choice *out)
{
    const struct run *run = ctx;

    (void)stat;
    return matcher_choose(run->matcher, pid, out);
}

static void deliver(void *ctx, const struct service *service, uint64_t now_ns)
{
    struct run *run = ctx;

    ship_service(&run->ship, service, now_ns);
}

static void log_stopped(struct fleet *fleet)
{
    const struct engine_stats *stats = fleet_engine_stats(fleet);
    struct cpy_stats unwinder;
    struct buf dropped;

    fleet_unwinder(fleet, &unwinder);
    buf_init(&dropped, DROPPED_MAX);
    stats_dropped(stats, &unwinder, &dropped);
    buf_add(&dropped, "", 1);
    log_line(LOG_LEVEL_INFO, "stopped: %llu samples of %llu processes, %s",
             (unsigned long long)stats->samples, (unsigned long long)stats->attached,
             buf_failed(&dropped) ? "out of memory" : (const char *)dropped.data);
    buf_finish(&dropped);
}

static int sample_until_stopped(struct run *run)
{
    struct signalfd_siginfo info = {0};
    enum engine_event event;

    do
        event = fleet_run(run->fleet, UINT64_MAX, &info);
    while (event == ENGINE_SIGNAL && info.ssi_signo != SIGTERM && info.ssi_signo != SIGINT &&
           info.ssi_signo != SIGQUIT);
    log_line(LOG_LEVEL_INFO, "stopping");
    fleet_flush(run->fleet);
    run->hangs = !ship_close(&run->ship, clock_mono_ns() + STOP_NS);
    log_stopped(run->fleet);
    return event == ENGINE_FAILED ? EXIT_FAILED : EXIT_OK;
}

/* A service manager that keeps a directory for us says where: systemd.exec(5), StateDirectory=. */
static void choose_spool(struct run *run)
{
    const char *state = getenv("STATE_DIRECTORY"); /* the first of them, if there are several */
    int size = state ? (int)strcspn(state, ":") : 0;

    if (run->conf->agent.spool || size == 0 || size > PATH_MAX / 2)
        return;
    (void)snprintf(run->spool, sizeof(run->spool), "%.*s/spool", size, state);
    run->conf->agent.spool = run->spool;
}

static int run_agent(struct run *run)
{
    struct engine_settings settings = {
        .choose = choose,
        .deliver = deliver,
        .ctx = run,
        .interval_ns = run->conf->agent.interval_ns,
        .scan_ns = run->conf->agent.scan_ns,
        .max_services = run->conf->agent.max_services,
    };
    struct err err = {""};
    sigset_t before;

    child_block_signals(&settings.signals, &before); /* before threads start */
    run->matcher = matcher_new(run->conf);
    run->fleet = fleet_new(&settings);
    if (!run->matcher || !run->fleet) {
        log_line(LOG_LEVEL_ERROR, "out of memory or file descriptors");
        return EXIT_FAILED;
    }
    choose_spool(run);
    if (!ship_open(&run->ship, run->conf, &err)) {
        log_line(LOG_LEVEL_ERROR, "%s", err.text);
        return EXIT_CONFIG;
    }
    log_line(LOG_LEVEL_INFO, "started: %zu targets, %zu exporters", run->conf->target_count,
             run->conf->exporter_count);
    if (run->conf->target_count == 0)
        log_line(LOG_LEVEL_WARNING, "there is no [target] section: nothing will be sampled");
    if (run->conf->exporter_count == 0)
        log_line(LOG_LEVEL_WARNING, "there is no [exporter] section: profiles will go nowhere");
    return sample_until_stopped(run);
}

int cmd_agent(int argc, char **argv)
{
    static const struct option longs[] = {{"config", required_argument, NULL, 'c'},
                                          OPTIONS_LOG,
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options_flags flags = {.count = 0};
    struct conf_source source;
    const char *path = NULL;
    struct run run = {0};
    int c, status;

    while ((c = getopt_long(argc, argv, "+c:h", longs, NULL)) != -1) {
        if (c == 'h')
            return options_help(help);
        if (options_flag(&flags, c, optarg))
            continue;
        if (c != 'c')
            return options_usage("agent");
        path = optarg;
    }
    if (optind < argc || !path) {
        (void)fprintf(stderr, "pystrobe: agent needs -c FILE%s\n",
                      optind < argc ? " and nothing else" : "");
        return options_usage("agent");
    }
    source = options_source(path, &flags);
    status = options_conf(&source, &run.conf);
    if (status != EXIT_OK)
        return status;
    if (exporter_global_init() != EXPORTER_OK)
        return EXIT_FAILED;
    status = run_agent(&run);
    fleet_free(run.fleet);
    matcher_free(run.matcher);
    conf_free(run.conf);
    if (!run.hangs)
        exporter_global_finish();
    return status;
}

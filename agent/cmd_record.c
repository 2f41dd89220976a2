/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_record.c - `pystrobe record`: profiles one process or command into a pprof file. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/child.h"
#include "agent/clock.h"
#include "agent/commands.h"
#include "agent/engine.h"
#include "agent/facts.h"
#include "agent/log.h"
#include "agent/naming.h"
#include "agent/options.h"
#include "agent/ship.h"
#include "agent/stall.h"
#include "agent/stats.h"

static const char help[] =
    "Usage: pystrobe record [OPTIONS] --pid PID\n"
    "       pystrobe record [OPTIONS] -- COMMAND [ARGUMENT...]\n\n"
    "Profiles a running process, or a command and its Python descendants, into a pprof file.\n"
    "Ctrl-C ends the recording and keeps what is there.\n\n"
    "  -p, --pid PID        the process\n"
    "  -d, --duration TIME  how long; default: 10s for a process, to its end for a command\n"
    "  -r, --rate RATE      samples a second; default 100Hz\n"
    "  -o, --output FILE    default: profile.pb.gz\n"
    "  -t, --threads        tell threads apart: labels with the id and name of each\n"
    "      --stats[=FORM]   what the sampling took, to stderr at the end: text or json\n"
    "  -h, --help           this text\n\n"
    "Example:\n"
    "  pystrobe record -d 30s -o out.pb.gz --pid 4242 && pystrobe report out.pb.gz\n";

enum { BYTES_MAX = 256 << 20, STATS_MAX = 64 << 10 };

enum stats_form { STATS_NONE, STATS_TEXT, STATS_JSON };

#define PROGRESS_NS NS_PER_S

struct request {
    pid_t pid;
    uint64_t duration_ns; /* 0: not given */
    double rate_hz;
    const char *output;
    enum service_split split;
    enum stats_form stats;
    char **command; /* NULL: --pid */
};

struct run {
    const struct request *request;
    struct choice choice;
    struct engine *engine; /* owned */
    struct child child;
    struct buf bytes; /* owned: the encoded profile */
    enum pprof_rc encoded;
    bool any;
    uint64_t start_ns;
};

/* A process blocks us: the profile is lost, but not the command. */
static int give_up(void *ctx)
{
    struct run *run = ctx;

    return run->child.pid > 0 ? child_wait(&run->child) : EXIT_UNAVAILABLE;
}

static bool choose(void *ctx, pid_t pid, const struct proc_stat *stat, struct choice *out)
{
    const struct run *run = ctx;

    (void)stat;
    *out = run->choice;
    return run->request->command ? child_is_ours(pid) : pid == run->request->pid;
}

static void deliver(void *ctx, const struct service *service, uint64_t now_ns)
{
    struct run *run = ctx;

    if (pprof_total(service->profile, VALUE_SAMPLES) == 0)
        return;
    run->any = true;
    run->encoded = ship_encode(service, now_ns, NULL, 0, &run->bytes);
}

/* Writes the file whole or not at all. */
static int write_output(const struct run *run)
{
    const char *path = run->request->output;
    char aside[4096];
    FILE *file;
    bool good;

    (void)snprintf(aside, sizeof(aside), "%s.part", path);
    file = fopen(aside, "we");
    good = file && fwrite(run->bytes.data, 1, run->bytes.size, file) == run->bytes.size;
    if (file && fclose(file) != 0)
        good = false;
    if (good && rename(aside, path) == 0)
        return EXIT_OK;
    (void)fprintf(stderr, "pystrobe: %s: %s\n", path, strerror(errno));
    (void)unlink(aside);
    return EXIT_FAILED;
}

static void print_progress(const struct run *run, bool last)
{
    const struct engine_stats *stats = engine_stats(run->engine);

    if (isatty(STDERR_FILENO))
        (void)fprintf(stderr, "\r%6.1f s  %" PRIu64 " samples of %zu processes%s",
                      (double)(clock_mono_ns() - run->start_ns) / 1e9, stats->samples,
                      stats->sampling, last ? "\n" : "  ");
}

static bool is_over(const struct run *run)
{
    const struct engine_stats *stats = engine_stats(run->engine);

    if (run->request->command)
        return run->child.ended;
    /* A process that was sampled and is gone, or cannot be sampled at all. */
    return stats->sampling == 0 &&
           (stats->attached > 0 || clock_mono_ns() - run->start_ns > NS_PER_S);
}

/* Handles a signal; gives true if it ends the recording. */
static bool handle(struct run *run, const struct signalfd_siginfo *info)
{
    if (run->request->command)
        child_handle(&run->child, info);
    return info->ssi_signo == SIGINT || info->ssi_signo == SIGTERM;
}

static bool record(struct run *run)
{
    uint64_t end_ns =
        run->request->duration_ns ? run->start_ns + run->request->duration_ns : UINT64_MAX;
    struct signalfd_siginfo info;
    enum engine_event event;
    uint64_t until;

    while (!is_over(run)) {
        until = clock_mono_ns() + PROGRESS_NS;
        event = engine_run(run->engine, until < end_ns ? until : end_ns, &info);
        if (event == ENGINE_FAILED)
            return false;
        if (event == ENGINE_SIGNAL && handle(run, &info))
            break;
        if (event == ENGINE_DEADLINE && clock_mono_ns() >= end_ns)
            break;
        print_progress(run, false);
    }
    print_progress(run, true);
    return true;
}

/* Says why there is no profile; gives the exit status. */
static int explain_nothing(const struct engine_stats *stats)
{
    if (stats->attached == 0 && stats->last_pid)
        return options_open_failed(stats->last_pid, stats->last_rc, &stats->last_error);
    (void)fprintf(stderr, stats->attached > 0
                              ? "pystrobe: it ended before it could be sampled\n"
                              : "pystrobe: no Python process was there to be sampled\n");
    return EXIT_UNAVAILABLE;
}

/* Says what was sampled and what of it was dropped, then the statistics if they are wanted. */
static void print_stats(const struct run *run)
{
    const struct engine_stats *stats = engine_stats(run->engine);
    struct cpy_stats unwinder;
    struct buf out;

    engine_unwinder(run->engine, &unwinder);
    buf_init(&out, STATS_MAX);
    buf_add_fmt(&out, "pystrobe: %" PRIu64 " sample%s of %" PRIu64 " process%s in %.1f s, ",
                stats->samples, stats->samples == 1 ? "" : "s", stats->attached,
                stats->attached == 1 ? "" : "es", (double)(clock_mono_ns() - run->start_ns) / 1e9);
    stats_dropped(stats, &unwinder, &out);
    buf_add_str(&out, "\n");
    if (run->request->stats == STATS_TEXT)
        stats_text(stats->samples, &unwinder, &out);
    else if (run->request->stats == STATS_JSON)
        stats_json(stats, &unwinder, &out);
    if (!buf_failed(&out))
        (void)fwrite(out.data, 1, out.size, stderr);
    buf_finish(&out);
}

/* Says what came of it; gives the exit status of the recording itself. */
static int summarize(const struct run *run)
{
    int status;

    if (!run->any)
        return explain_nothing(engine_stats(run->engine));
    if (run->encoded != PPROF_OK) {
        (void)fprintf(stderr, "pystrobe: encoding: %s\n", pprof_rc_text(run->encoded));
        return EXIT_FAILED;
    }
    status = write_output(run);
    print_stats(run);
    if (status == EXIT_OK)
        (void)fprintf(stderr, "pystrobe: wrote %s; look at it with: pystrobe report %s\n",
                      run->request->output, run->request->output);
    return status;
}

static int run_record(struct run *run)
{
    struct engine_settings settings = {.choose = choose,
                                       .deliver = deliver,
                                       .ctx = run,
                                       .scan_ns = NS_PER_S,
                                       .eager = true,
                                       .only = run->request->pid};
    struct err err = {""};
    sigset_t before;
    int status;

    child_block_signals(&settings.signals, &before);
    settings.beat = stall_beat();
    run->engine = engine_new(&settings);
    if (!run->engine) {
        (void)fprintf(stderr, "pystrobe: out of memory or file descriptors\n");
        return EXIT_FAILED;
    }
    if (run->request->command) {
        status = child_start(&run->child, run->request->command, &before, &err);
        if (status != EXIT_OK) {
            (void)fprintf(stderr, "pystrobe: %s\n", err.text);
            return status;
        }
    }
    stall_watch(give_up, run); /* from here on there is more than one thread */
    run->start_ns = clock_mono_ns();
    status = record(run) ? EXIT_OK : EXIT_FAILED;
    engine_flush(run->engine);
    if (status == EXIT_OK)
        status = summarize(run);
    if (!run->request->command)
        return status;
    /* The command's own status counts, unless it succeeded and we did not. */
    return child_wait(&run->child) ? run->child.exit_status : status;
}

enum { OPTION_STATS = 256 };

/* Reads the form of the statistics, NULL if none was given; says what is wrong with it. */
static bool read_stats(const char *text, enum stats_form *out)
{
    *out = text && strcmp(text, "json") == 0 ? STATS_JSON : STATS_TEXT;
    if (!text || *out == STATS_JSON || strcmp(text, "text") == 0)
        return true;
    (void)fprintf(stderr, "pystrobe: --stats=%s: it is text or json\n", text);
    return false;
}

static int read_request(int argc, char **argv, struct request *request, bool *wants_help)
{
    static const struct option longs[] = {
        {"pid", required_argument, NULL, 'p'},  {"duration", required_argument, NULL, 'd'},
        {"rate", required_argument, NULL, 'r'}, {"output", required_argument, NULL, 'o'},
        {"threads", no_argument, NULL, 't'},    {"stats", optional_argument, NULL, OPTION_STATS},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0}};
    bool good = true;
    int c;

    while (good && (c = getopt_long(argc, argv, "+p:d:r:o:th", longs, NULL)) != -1) {
        if (c == 'p')
            good = options_pid(optarg, &request->pid);
        else if (c == 'd')
            good = options_duration(optarg, &request->duration_ns);
        else if (c == 'r')
            good = options_rate(optarg, &request->rate_hz);
        else if (c == 'o')
            request->output = optarg;
        else if (c == 't')
            request->split = SPLIT_THREAD;
        else if (c == OPTION_STATS)
            good = read_stats(optarg, &request->stats);
        else if (c == 'h')
            *wants_help = true;
        else
            good = false;
    }
    if (good && !*wants_help && (request->pid != 0) == (optind < argc)) {
        (void)fprintf(stderr, "pystrobe: record needs either --pid PID or -- COMMAND\n");
        good = false;
    }
    request->command = optind < argc ? argv + optind : NULL;
    if (request->pid && request->duration_ns == 0)
        request->duration_ns = 10 * NS_PER_S;
    return good ? EXIT_OK : options_usage("record");
}

/* The name that a running process has by itself. False: out of memory. */
static bool name_process(pid_t pid, struct choice *choice)
{
    struct facts *facts = facts_new();

    if (!facts)
        return false;
    facts_begin(facts, pid);
    naming_apply(&naming_usual, facts, choice);
    facts_free(facts);
    return true;
}

int cmd_record(int argc, char **argv)
{
    struct request request = {.rate_hz = 100, .output = "profile.pb.gz"};
    struct run run = {.request = &request};
    bool wants_help = false;
    int status = read_request(argc, argv, &request, &wants_help);

    if (status != EXIT_OK || wants_help)
        return status != EXIT_OK ? status : options_help(help);
    log_init(LOG_LEVEL_ERROR);
    run.choice.rate_hz = request.rate_hz;
    run.choice.split = request.split;
    if (request.command)
        options_service(request.command, run.choice.service, sizeof(run.choice.service));
    else if (!name_process(request.pid, &run.choice))
        (void)snprintf(run.choice.service, sizeof(run.choice.service), "process %d",
                       (int)request.pid);
    buf_init(&run.bytes, BYTES_MAX);
    status = run_record(&run);
    buf_finish(&run.bytes);
    engine_free(run.engine);
    return status;
}

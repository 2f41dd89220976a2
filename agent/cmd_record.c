/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_record.c - `pystrobe record`: profiles processes or a command into a file. */
#include <getopt.h>
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
#include "agent/output.h"
#include "agent/record_text.h"
#include "agent/ship.h"
#include "agent/stall.h"
#include "agent/stats.h"
#include "agent/version.h"
#include "formats/format.h"

static const char help[] =
    "Usage: pystrobe record [OPTIONS] --pid PID [--children]\n"
    "       pystrobe record [OPTIONS] --target NAME\n"
    "       pystrobe record [OPTIONS] -- COMMAND [ARGUMENT...]\n\n"
    "Profiles a running process, or a command and its Python descendants, into a file.\n"
    "Ctrl-C ends the recording and keeps what is there, and so does the end of the process.\n\n"
    "  -p, --pid PID        the process\n"
    "  -c, --children       and its Python descendants, in the same profile\n"
    "      --target NAME    all processes that run a script, module or app of that name\n"
    "  -d, --duration TIME  how long; default: 10s for a process, to its end for a command\n"
    "  -r, --rate RATE      samples a second; default 100Hz\n"
    "  -o, --output FILE    default: profile.pb.gz; \"-\" is the standard output\n"
    "  -f, --format NAME    of the list in pystrobe report --help; default: by the ending of\n"
    "                       FILE (.html, .svg, .collapsed, .pstats ...), else pprof\n"
    "  -t, --threads        tell threads apart: labels with the id and name of each\n"
    "      --stats[=FORM]   what the sampling took, to stderr at the end: text or json\n"
    "  -h, --help           this text\n\n"
    "Exit status: that of the command; else 0, 1 if the file could not be written, 64 for wrong\n"
    "usage, 69 if there was no Python to be sampled, 77 without the right to read it.\n\n"
    "Example:\n"
    "  pystrobe record -d 30s -o out.html --pid 4242\n";

enum { BYTES_MAX = 256 << 20, STATS_MAX = 64 << 10 };

enum stats_form { STATS_NONE, STATS_TEXT, STATS_JSON };

#define PROGRESS_NS NS_PER_S

struct request {
    pid_t pid;
    const char *target;   /* a name; NULL: not given */
    bool children;        /* of `pid`, too */
    uint64_t duration_ns; /* 0: not given */
    double rate_hz;
    const char *output;
    const char *format_name;     /* NULL: not given */
    const struct format *format; /* static */
    enum service_split split;
    enum stats_form stats;
    char **command; /* NULL: --pid or --target */
};

struct run {
    const struct request *request;
    struct choice choice;
    struct engine *engine; /* owned */
    struct facts *facts;   /* owned: for names; NULL: not needed */
    struct child child;
    struct buf bytes; /* owned: the profile as it is written */
    enum pprof_rc encoded;
    int64_t cpu_ns, unseen_cpu_ns; /* of the profile */
    bool any;
    uint64_t start_ns;
};

/* Is this process called what --target says? */
static bool has_name(const struct run *run, pid_t pid)
{
    struct choice choice = {.rate_hz = run->choice.rate_hz};

    facts_begin(run->facts, pid);
    if (naming_is_disabled(run->facts))
        return false;
    naming_apply(&naming_usual, run->facts, &choice);
    return strcmp(choice.service, run->request->target) == 0;
}

/* A process blocks us: the profile is lost, but not the command. */
static int give_up(void *ctx)
{
    struct run *run = ctx;

    return run->child.pid > 0 ? child_wait(&run->child) : EXIT_UNAVAILABLE;
}

static bool choose(void *ctx, pid_t pid, const struct proc_stat *stat, struct choice *out)
{
    const struct run *run = ctx;
    const struct request *request = run->request;

    (void)stat;
    *out = run->choice;
    if (request->command)
        return child_is_ours(pid);
    if (request->target)
        return has_name(run, pid);
    return pid == request->pid || (request->children && proc_descends(pid, request->pid));
}

/* Notes how much CPU time there is, and how much of it no sample saw. */
static void note_cpu(struct run *run, const struct service *service)
{
    struct pprof_top *tops;
    size_t i, count;

    run->cpu_ns = pprof_total(service->profile, VALUE_CPU);
    if (pprof_top(service->profile, VALUE_CPU, &tops, &count) != PPROF_OK)
        return;
    for (i = 0; i < count; i++)
        if (strcmp(tops[i].name, service_unseen) == 0)
            run->unseen_cpu_ns += tops[i].flat;
    free(tops);
}

/* Writes a service's profile in another format than pprof. */
static enum pprof_rc write_format(struct run *run, const struct service *service, uint64_t now_ns)
{
    struct format_view view = {.profile = service->profile,
                               .type = VALUE_CPU,
                               .base = FORMAT_NO_BASE,
                               .title = service->name,
                               .time_ns = service->start_utc_ns,
                               .duration_ns = (int64_t)(now_ns - service->start_ns),
                               .period = (int64_t)service->period_ns,
                               .made_by = version_agent,
                               .source = output_source};
    struct pprof_stacks *stacks;
    enum pprof_rc rc = pprof_stacks_new(service->profile, &stacks);

    if (rc != PPROF_OK)
        return rc;
    view.stacks = stacks;
    rc = run->request->format->write(&view, &run->bytes);
    pprof_stacks_free(stacks);
    return rc;
}

static void deliver(void *ctx, const struct service *service, uint64_t now_ns)
{
    struct run *run = ctx;

    if (pprof_total(service->profile, VALUE_SAMPLES) == 0 || run->any)
        return;
    run->any = true;
    note_cpu(run, service);
    if (run->request->format == format_named("pprof"))
        run->encoded = ship_encode(service, now_ns, NULL, 0, &run->bytes);
    else
        run->encoded = write_format(run, service, now_ns);
}

/* What there is to say of the recording. */
static struct record_text text_of(const struct run *run)
{
    struct record_text text = {.stats = engine_stats(run->engine),
                               .elapsed_ns = clock_mono_ns() - run->start_ns,
                               .rate_hz = run->request->rate_hz,
                               .cpu_ns = run->cpu_ns,
                               .unseen_cpu_ns = run->unseen_cpu_ns};

    engine_unwinder(run->engine, &text.unwinder);
    return text;
}

static void print_progress(const struct run *run, bool last)
{
    struct record_text text;
    struct buf out;

    if (!isatty(STDERR_FILENO))
        return;
    text = text_of(run);
    buf_init(&out, STATS_MAX);
    record_text_progress(&text, engine_services(run->engine), &out);
    if (!buf_failed(&out))
        (void)fprintf(stderr, "\r%.*s\033[K%s", (int)out.size, (const char *)out.data,
                      last ? "\n" : "");
    buf_finish(&out);
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
    const struct record_text text = text_of(run);
    struct buf out;

    buf_init(&out, STATS_MAX);
    record_text_summary(&text, &out);
    if (run->request->stats == STATS_TEXT)
        stats_text(text.stats->samples, &text.unwinder, &out);
    else if (run->request->stats == STATS_JSON)
        stats_json(text.stats, &text.unwinder, &out);
    if (!buf_failed(&out))
        (void)fwrite(out.data, 1, out.size, stderr);
    buf_finish(&out);
}

/* Says where the profile is, and what to do with it. */
static void print_place(const struct request *request)
{
    if (strcmp(request->output, "-") == 0)
        return;
    (void)fprintf(stderr, "pystrobe: wrote %s", request->output);
    if (request->format == format_named("pprof"))
        (void)fprintf(stderr, "; look at it with: pystrobe report %s", request->output);
    (void)fputs("\n", stderr);
}

/* Says what came of it; gives the exit status of the recording itself. */
static int summarize(const struct run *run)
{
    struct err err = {""};
    bool written;

    if (!run->any)
        return explain_nothing(engine_stats(run->engine));
    if (run->encoded != PPROF_OK) {
        (void)fprintf(stderr, "pystrobe: encoding: %s\n", pprof_rc_text(run->encoded));
        return EXIT_FAILED;
    }
    written = output_write(run->request->output, &run->bytes, &err);
    if (!written)
        (void)fprintf(stderr, "pystrobe: %s\n", err.text);
    print_stats(run);
    if (written)
        print_place(run->request);
    return written ? EXIT_OK : EXIT_FAILED;
}

static int run_record(struct run *run)
{
    struct engine_settings settings = {.choose = choose,
                                       .deliver = deliver,
                                       .ctx = run,
                                       .scan_ns = NS_PER_S,
                                       .eager = true,
                                       .only = run->request->children ? 0 : run->request->pid};
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

enum { OPTION_STATS = 256, OPTION_TARGET };

/* Reads the form of the statistics, NULL if none was given; says what is wrong with it. */
static bool read_stats(const char *text, enum stats_form *out)
{
    *out = text && strcmp(text, "json") == 0 ? STATS_JSON : STATS_TEXT;
    if (!text || *out == STATS_JSON || strcmp(text, "text") == 0)
        return true;
    (void)fprintf(stderr, "pystrobe: --stats=%s: it is text or json\n", text);
    return false;
}

static const struct option longs[] = {
    {"pid", required_argument, NULL, 'p'},
    {"children", no_argument, NULL, 'c'},
    {"target", required_argument, NULL, OPTION_TARGET},
    {"duration", required_argument, NULL, 'd'},
    {"rate", required_argument, NULL, 'r'},
    {"output", required_argument, NULL, 'o'},
    {"format", required_argument, NULL, 'f'},
    {"threads", no_argument, NULL, 't'},
    {"stats", optional_argument, NULL, OPTION_STATS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Takes one option in. False: it is wrong. */
static bool take_option(int c, struct request *request, bool *wants_help)
{
    switch (c) {
    case 'p':
        return options_pid(optarg, &request->pid);
    case 'c':
        request->children = true;
        return true;
    case OPTION_TARGET:
        request->target = optarg;
        return true;
    case 'd':
        return options_duration(optarg, &request->duration_ns);
    case 'r':
        return options_rate(optarg, &request->rate_hz);
    case 'o':
        request->output = optarg;
        return true;
    case 'f':
        request->format_name = optarg;
        return true;
    case 't':
        request->split = SPLIT_THREAD;
        return true;
    case OPTION_STATS:
        return read_stats(optarg, &request->stats);
    case 'h':
        *wants_help = true;
        return true;
    default:
        return false;
    }
}

/* Finds the format by its name or by the output's. False: it is wrong, which was said. */
static bool choose_format(struct request *request)
{
    if (request->format_name)
        request->format = format_named(request->format_name);
    else
        request->format = format_of_path(request->output);
    if (!request->format && !request->format_name)
        request->format = format_named("pprof");
    if (!request->format)
        (void)fprintf(stderr,
                      "pystrobe: there is no format '%s'; pystrobe report --help has them\n",
                      request->format_name);
    else if (!request->format->plain && output_is_terminal(request->output))
        (void)fprintf(stderr, "pystrobe: %s is nothing for a terminal: use -o FILE\n",
                      request->format->name);
    else
        return true;
    return false;
}

/* Says what is wrong with the words as a whole. */
static bool words_fit(const struct request *request)
{
    if ((request->pid != 0) + (request->target != NULL) + (request->command != NULL) != 1)
        (void)fputs("pystrobe: record needs one of --pid PID, --target NAME and -- COMMAND\n",
                    stderr);
    else if (request->children && !request->pid)
        (void)fputs("pystrobe: --children goes with --pid; those of a command are there anyhow\n",
                    stderr);
    else
        return true;
    return false;
}

static int read_request(int argc, char **argv, struct request *request, bool *wants_help)
{
    int c;

    while ((c = getopt_long(argc, argv, "+p:cd:r:o:f:th", longs, NULL)) != -1)
        if (!take_option(c, request, wants_help))
            return options_usage("record");
    request->command = optind < argc ? argv + optind : NULL;
    if (!*wants_help && (!words_fit(request) || !choose_format(request)))
        return options_usage("record");
    if (!request->command && request->duration_ns == 0)
        request->duration_ns = 10 * NS_PER_S;
    return EXIT_OK;
}

/* Names what is recorded. */
static void name_service(struct run *run)
{
    const struct request *request = run->request;
    struct choice *choice = &run->choice;

    if (request->command) {
        options_service(request->command, choice->service, sizeof(choice->service));
    } else if (request->target) {
        (void)snprintf(choice->service, sizeof(choice->service), "%s", request->target);
    } else {
        facts_begin(run->facts, request->pid);
        naming_apply(&naming_usual, run->facts, choice);
    }
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
    run.facts = facts_new();
    if (!run.facts) {
        (void)fputs("pystrobe: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    name_service(&run);
    run.choice.rate_hz = request.rate_hz;
    run.choice.split = request.split;
    buf_init(&run.bytes, BYTES_MAX);
    status = run_record(&run);
    buf_finish(&run.bytes);
    engine_free(run.engine);
    facts_free(run.facts);
    return status;
}

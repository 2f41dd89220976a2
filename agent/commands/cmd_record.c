/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_record.c - `pystrobe record`: profiles processes or a command into a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/cli/options.h"
#include "agent/cli/output.h"
#include "agent/cli/record_request.h"
#include "agent/cli/record_sources.h"
#include "agent/cli/record_text.h"
#include "agent/commands/commands.h"
#include "agent/delivery/publisher.h"
#include "agent/dump/read_watchdog.h"
#include "agent/exec/command.h"
#include "agent/host/clock.h"
#include "agent/host/file_limit.h"
#include "agent/host/log.h"
#include "agent/host/version.h"
#include "agent/sampling/engine.h"
#include "agent/sampling/stats.h"
#include "base/slice.h"
#include "formats/format.h"

static const char help[] =
    "Usage: pystrobe record [OPTIONS] --pid PID [--children]\n"
    "       pystrobe record [OPTIONS] --target NAME\n"
    "       pystrobe record [OPTIONS] -- COMMAND [ARGUMENT...]\n\n"
    "Profiles a running process, or a command and its Python descendants, into a\n"
    "file. Ctrl-C or the end of the process ends the recording; the file is written.\n\n"
    "  -p, --pid PID        the process\n"
    "  -C, --children       and its Python descendants, in the same profile\n"
    "      --target NAME    all processes that run a script, module or app of that\n"
    "                       name\n"
    "  -d, --duration TIME  how long; default: 10s for a process, to its end for a\n"
    "                       command\n"
    "  -r, --rate RATE      samples a second, up to 10000; default 100Hz\n"
    "  -o, --output FILE    default: profile.pb.gz; \"-\" is the standard output\n"
    "  -f, --format NAME    of the list in pystrobe report --help; default: by the\n"
    "                       ending of FILE (.html, .svg, .collapsed, .pstats ...)\n"
    "  -m, --mode MODES     the values, separated by commas, the one to show first:\n"
    "                       wall, cpu, gil, exception (wall time in which one is\n"
    "                       handled or raised); default: wall, cpu, gil and the wait\n"
    "                       for a CPU\n"
    "  -t, --threads WHICH  all (the default), or main: only the main thread\n"
    "  -n, --native         show <native> where C code calls Python code again\n"
    "  -g, --gc             show <GC> on a thread that collects garbage\n"
    "      --opcodes        show the running instruction as a callee of the\n"
    "                       innermost function\n"
    "      --async-aware WHAT  stacks continue through the asyncio tasks that await\n"
    "                          them: running, or all: also stacks of tasks that\n"
    "                          wait\n"
    "      --split HOW      labels with ids and names: process, thread, or none\n"
    "      --stats[=FORM]   print the cost of the sampling to stderr at the end:\n"
    "                       text or json\n"
    "  -h, --help           this text\n\n"
    "With %p in FILE each process gets a file of its own, with its id in that place.\n\n"
    "Exit status: that of the command; else 0, 1 if the file could not be written,\n"
    "64 for wrong usage, 69 if there was no Python to sample, 77 without the\n"
    "right to read it.\n\n"
    "Example:\n"
    "  pystrobe record -d 30s -o out.html --pid 4242\n"
    "  pystrobe record --mode gil,wall --native -o shop-%p.html --children --pid 4242\n";

enum { BYTES_MAX = 256 << 20, STATS_MAX = 64 << 10, PATH_BYTES = 4096 };

#define PROGRESS_NS NS_PER_S

struct run {
    const struct record_request *request;
    struct target_selection *selection; /* borrowed: the request's */
    struct engine *engine;              /* owned */
    struct buf bytes;                   /* owned: a profile as it is written */
    struct record_sources sources;
    char path[PATH_BYTES];     /* where that profile goes */
    struct output output;      /* of that profile */
    struct output_kept kept;   /* where it is until it is drawn */
    size_t written;            /* files */
    bool over;                 /* what was meant has ended, or cannot be sampled */
    bool any, failed;          /* there was a profile; one could not be written */
    uint32_t reported_missing; /* what the Pythons lack, as far as it was said */
    uint64_t start_ns;
};

/* A process blocks us: the profile is lost, but not the command. */
static int abandon_recording(void *ctx)
{
    struct run *run = ctx;

    return run->selection->child.pid > 0 ? command_wait(&run->selection->child) : EXIT_UNAVAILABLE;
}

/* The label that makes a service of each process, where each gets a file. */
static const char process_label[] = "pid";

static bool choose_recorded(void *ctx, pid_t pid, const struct proc_stat *stat,
                            struct target_profile *out)
{
    struct run *run = ctx;
    char id[16];

    if (!target_selection_choose(run->selection, pid, stat, out))
        return false;
    record_sources_consider(&run->sources, pid);
    (void)snprintf(id, sizeof(id), "%d", (int)pid);
    if (run->request->each)
        labels_put(&out->labels, process_label, id);
    return true;
}

static void note_began(void *ctx, pid_t pid)
{
    struct run *run = ctx;

    record_sources_begin(&run->sources, pid);
}

/* The value that is looked at first. */
static enum service_value shown_value(const struct record_request *request)
{
    if (request->mode_count > 0)
        return request->modes[0];
    return request->options.tasks == TASKS_ALL ? VALUE_WALL : VALUE_CPU; /* who waits takes none */
}

/* Writes a service's profile in another format than pprof; `type` is what counts. */
static enum pprof_rc write_format(struct run *run, const struct service *service, size_t type,
                                  uint64_t now_ns)
{
    struct format_view view = {.profile = service->profile,
                               .timeline = service->timeline,
                               .type = type,
                               .base = FORMAT_NO_BASE,
                               .title = service->name,
                               .time_ns = service->start_utc_ns,
                               .duration_ns = (int64_t)(now_ns - service->start_ns),
                               .period = (int64_t)service->period_ns,
                               .made_by = version_agent,
                               .source = record_sources_read,
                               .ctx = &run->sources,
                               .drain = output_drain,
                               .drain_ctx = &run->output};
    struct pprof_stacks *stacks;
    enum pprof_rc rc = pprof_stacks_new(service->profile, &stacks);

    if (rc != PPROF_OK)
        return rc;
    view.stacks = stacks;
    rc = run->request->format->write(&view, &run->bytes);
    pprof_stacks_free(stacks);
    return rc;
}

/* Where a service's profile goes; with %p as the id of its process. */
static void set_output_path(struct run *run, const struct service *service)
{
    const char *output = run->request->output, *mark = strstr(output, RECORD_EACH);
    const char *id = labels_get(&service->labels, process_label);

    if (mark && id)
        (void)snprintf(run->path, PATH_BYTES, "%.*s%s%s", (int)(mark - output), output, id,
                       mark + strlen(RECORD_EACH));
    else
        (void)snprintf(run->path, PATH_BYTES, "%s", output);
}

/* Who may read the file of a profile. */
static enum output_readers readers_of(const struct run *run)
{
    return run->sources.foreign ? OUTPUT_OURS : OUTPUT_USUAL;
}

/* Draws a service's profile. The recording itself is kept in a file meanwhile. */
static enum pprof_rc draw_recording(struct run *run, const struct service *service, size_t shown,
                                    uint64_t now_ns)
{
    const char *id = labels_get(&service->labels, process_label);
    struct err err = {""};

    if (!output_keep(run->path, &run->bytes, readers_of(run), &run->kept, &err))
        (void)fprintf(stderr, "pystrobe: %s\n", err.text);
    buf_reset(&run->bytes);
    record_sources_choose(&run->sources, id ? (pid_t)strtol(id, NULL, 10) : 0);
    return write_format(run, service, shown, now_ns);
}

/* Encodes a service's profile; value `shown` is what is looked at first. */
static enum pprof_rc encode_recording(struct run *run, const struct service *service, size_t shown,
                                      uint64_t now_ns)
{
    const char *type = service_types[shown_value(run->request)].type;
    enum pprof_rc rc;

    buf_reset(&run->bytes);
    rc = publisher_encode(service, now_ns, NULL, 0, type, &run->bytes);
    if (rc != PPROF_OK || run->request->format == format_named("pprof"))
        return rc;
    return draw_recording(run, service, shown, now_ns);
}

/* The same with nothing in it but the values that --mode names. */
static enum pprof_rc encode_modes(struct run *run, const struct service *service, uint64_t now_ns)
{
    const struct record_request *request = run->request;
    struct service chosen = *service;
    struct pprof_type types[VALUES];
    enum pprof_rc rc;

    for (size_t i = 0; i < request->mode_count; i++)
        types[i] = service_types[request->modes[i]];
    rc = pprof_new(types, request->mode_count, SERVICE_PROFILE_MAX, &chosen.profile);
    if (rc != PPROF_OK)
        return rc;
    rc = pprof_merge(chosen.profile, service->profile);
    if (rc == PPROF_OK)
        rc = encode_recording(run, &chosen, 0, now_ns);
    pprof_free(chosen.profile);
    return rc;
}

/* Writes what was encoded. False: it was said why not. */
static bool write_recording(struct run *run, enum pprof_rc encoded)
{
    struct err err = {""};
    bool whole = encoded == PPROF_OK && output_add(&run->output, &run->bytes);

    if (!output_close(&run->output, whole, &err))
        whole = false;
    else if (encoded != PPROF_OK)
        err_set(&err, "encoding: %s", pprof_rc_text(encoded));
    if (whole) {
        if (run->kept.path[0])
            (void)unlink(run->kept.path);
        return true;
    }
    (void)fprintf(stderr, "pystrobe: %s\n", err.text);
    if (run->kept.path[0])
        (void)fprintf(stderr, "pystrobe: the recording is in %s\n", run->kept.path);
    return false;
}

/* Says what a service's Python does not tell of what was asked, once. */
static void tell_missing(struct run *run, const struct service *service)
{
    uint32_t missing = service->missing & ~run->reported_missing;

    for (size_t i = 0; i < MISSING_OPTION_COUNT; i++)
        if (missing & 1U << i)
            (void)fprintf(stderr, "%spystrobe: Python %s %s\n",
                          isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "", service->python,
                          missing_option_text((enum missing_option)i));
    run->reported_missing |= missing;
}

/* Says what the time line of the file that was written lacks. */
static void tell_left_out(const struct run *run, const struct pprof_timeline *timeline)
{
    struct buf out;

    buf_init(&out, STATS_MAX);
    record_text_timeline(run->path, timeline, &out);
    if (!buf_failed(&out) && out.size > 0)
        (void)fwrite(out.data, 1, out.size, stderr);
    buf_finish(&out);
}

static void write_service_profile(void *ctx, const struct service *service, uint64_t now_ns)
{
    struct run *run = ctx;
    enum pprof_rc encoded;

    tell_missing(run, service);
    if (pprof_total(service->profile, VALUE_SAMPLES) == 0 || (run->any && !run->request->each))
        return;
    run->any = true;
    run->kept.path[0] = '\0';
    set_output_path(run, service);
    output_init(&run->output, run->path, readers_of(run));
    encoded = run->request->mode_count > 0 && !service->timeline
                  ? encode_modes(run, service, now_ns)
                  : encode_recording(run, service, shown_value(run->request), now_ns);
    if (!write_recording(run, encoded)) {
        run->failed = true;
        return;
    }
    run->written++;
    if (service->timeline)
        tell_left_out(run, service->timeline);
}

/* What there is to say of the recording. */
static struct record_text text_of(const struct run *run)
{
    struct record_text text = {.stats = engine_stats(run->engine),
                               .refused = engine_refused(run->engine),
                               .warnings = engine_warnings(run->engine),
                               .elapsed_ns = clock_mono_ns() - run->start_ns,
                               .rate_hz = run->request->rate_hz};

    engine_unwinder(run->engine, &text.unwinder);
    return text;
}

static void print_progress(struct run *run, bool last)
{
    const struct service *service;
    struct record_text text;
    struct buf out;

    for (service = engine_services(run->engine); service; service = service->next)
        tell_missing(run, service);
    if (!isatty(STDERR_FILENO))
        return;
    text = text_of(run);
    buf_init(&out, STATS_MAX);
    record_text_progress(&text, engine_services(run->engine), &out);
    if (!buf_failed(&out))
        (void)fprintf(stderr, "\r%s\033[K%s", buf_text(&out), last ? "\n" : "");
    buf_finish(&out);
}

/* Handles a signal; gives true if it ends the recording. */
static bool handle_record_signal(struct run *run, const struct signalfd_siginfo *info)
{
    if (run->selection->command)
        command_handle(&run->selection->child, info);
    return info->ssi_signo == SIGINT || info->ssi_signo == SIGTERM;
}

static bool is_over(struct run *run)
{
    run->over = target_selection_is_over(run->selection, engine_stats(run->engine), run->start_ns);
    return run->over;
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
        if (event == ENGINE_SIGNAL && handle_record_signal(run, &info))
            break;
        if (event == ENGINE_DEADLINE && clock_mono_ns() >= end_ns)
            break;
        print_progress(run, false);
    }
    print_progress(run, true);
    return true;
}

/* Says what was sampled and what of it was dropped, then the statistics if they are wanted. */
static void print_stats(const struct run *run)
{
    const struct record_text text = text_of(run);
    struct buf out;

    buf_init(&out, STATS_MAX);
    record_text_summary(&text, &out);
    target_selection_explain_descent(run->selection, &out);
    if (run->over)
        target_selection_explain_end(run->selection, text.stats, &out);
    if (run->request->stats == RECORD_STATS_TEXT)
        stats_text(text.stats->samples, &text.unwinder, &out);
    else if (run->request->stats == RECORD_STATS_JSON)
        stats_json(text.stats, &text.unwinder, &out);
    if (!buf_failed(&out))
        (void)fwrite(out.data, 1, out.size, stderr);
    buf_finish(&out);
}

/* Says where the profile is, and what to do with it. */
static void print_output_path(const struct run *run)
{
    const struct record_request *request = run->request;

    if (strcmp(request->output, "-") == 0)
        return;
    (void)fprintf(stderr, "pystrobe: wrote %s", request->output);
    if (request->each)
        (void)fprintf(stderr, ", %zu file%s", run->written, run->written == 1 ? "" : "s");
    else if (request->format == format_named("pprof"))
        (void)fprintf(stderr, "; look at it with: pystrobe report %s", request->output);
    (void)fputs("\n", stderr);
}

/* Says what came of it; gives the exit status of the recording itself. */
static int summarize(const struct run *run)
{
    struct cpy_stats unwinder;

    engine_unwinder(run->engine, &unwinder);
    if (!run->any)
        return target_selection_explain_nothing(run->selection, engine_stats(run->engine),
                                                &unwinder);
    print_stats(run);
    record_sources_explain(&run->sources);
    if (run->written > 0)
        print_output_path(run);
    return run->failed ? EXIT_FAILED : EXIT_OK;
}

/* Says so if the command goes on when the recording is over, and how to end it. */
static void tell_of_command(struct command *command)
{
    command_reap(command);
    if (!command->ended)
        (void)fprintf(
            stderr,
            "pystrobe: the command runs on, as process %d, and pystrobe waits for it; %skill "
            "%d ends both\n",
            (int)command->pid, isatty(STDIN_FILENO) ? "Ctrl-C or " : "", (int)command->pid);
}

/* Whose children are recorded, whatever they run; 0: nobody's. */
static pid_t recorded_parent(const struct run *run)
{
    return run->selection->command && !run->request->options.main_only ? getpid() : 0;
}

/* Makes the engine, with the signals blocked that it reports. False: it was said why not. */
static bool make_engine(struct run *run, sigset_t *before)
{
    const struct record_request *request = run->request;
    struct engine_settings settings = {
        .choose = choose_recorded,
        .chosen_began = note_began,
        .deliver = write_service_profile,
        .ctx = run,
        .scan_ns = NS_PER_S,
        .eager = true,
        .exception = request->options.exception,
        .timeline = request->format->shows_times ? shown_value(request) : VALUE_SAMPLES,
        .only = run->selection->children ? 0 : run->selection->pid,
        .parent = recorded_parent(run)};

    command_block_signals(&settings.signals, before);
    settings.heartbeat = read_watchdog_heartbeat();
    settings.scratch = cpy_scratch_new();
    if (request->rate_hz >= ENGINE_BPF_MIN_HZ)
        (void)cpy_scratch_use_bpf(settings.scratch);
    run->engine = engine_new(&settings);
    if (!run->engine)
        (void)fprintf(stderr, "pystrobe: out of memory or file descriptors\n");
    return run->engine != NULL;
}

static int run_record(struct run *run)
{
    struct err err = {""};
    sigset_t before;
    int status;

    if (!make_engine(run, &before))
        return EXIT_FAILED;
    if (run->selection->command) {
        status = command_start(&run->selection->child, run->selection->command, &before, &err);
        if (status != EXIT_OK) {
            (void)fprintf(stderr, "pystrobe: %s\n", err.text);
            return status;
        }
    }
    read_watchdog_start(abandon_recording, run); /* from here on there is more than one thread */
    slice_shorten(ENGINE_SLICE_NS);
    file_limit_raise();
    run->start_ns = clock_mono_ns();
    status = record(run) ? EXIT_OK : EXIT_FAILED;
    engine_flush(run->engine);
    if (status == EXIT_OK)
        status = summarize(run);
    if (!run->selection->command)
        return status;
    tell_of_command(&run->selection->child);
    /* The command's own status counts, unless it succeeded and we did not. */
    return command_wait(&run->selection->child) ? run->selection->child.exit_status : status;
}

int cmd_record(int argc, char **argv)
{
    struct record_request request = {.rate_hz = 100, .output = "profile.pb.gz"};
    struct run run = {.request = &request, .selection = &request.selection};
    struct err err = {""};
    char command[PROC_COMMAND_MAX];
    int status;

    if (!record_request_read(argc, argv, help, &request, &status))
        return status;
    if (!output_check(request.output, &err)) { /* now, and not after an hour */
        (void)fprintf(stderr, "pystrobe: %s\n", err.text);
        return EXIT_FAILED;
    }
    log_init(LOG_LEVEL_ERROR);
    request.selection.profile = (struct target_profile){
        .rate_hz = request.rate_hz, .split = request.split, .options = request.options};
    if (request.selection.pid && !options_may_read(request.selection.pid, command))
        return EXIT_UNAVAILABLE;
    request.selection.reader = proc_reader_new(CHILD_PROCESS_SELF);
    if (!request.selection.reader || !target_selection_begin(&request.selection)) {
        (void)fputs("pystrobe: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    buf_init(&run.bytes, BYTES_MAX);
    run.sources.wanted = request.format->shows_source;
    status = run_record(&run);
    buf_finish(&run.bytes);
    record_sources_finish(&run.sources);
    engine_free(run.engine);
    target_selection_finish(&request.selection);
    proc_reader_free(request.selection.reader);
    return status;
}

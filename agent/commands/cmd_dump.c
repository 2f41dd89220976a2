/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_dump.c - `pystrobe dump`: the stacks of a process as they are now. */
#include <stdio.h>
#include <unistd.h>

#include "agent/cli/option_table.h"
#include "agent/commands/commands.h"
#include "agent/dump/async.h"
#include "agent/dump/dump.h"
#include "agent/dump/read_watchdog.h"
#include "agent/dump/take.h"
#include "agent/host/clock.h"
#include "agent/proc/proc.h"

static const char help[] =
    "Usage: pystrobe dump --pid PID [OPTIONS]\n\n"
    "Prints the Python stacks of the threads of a process as they are now, the most\n"
    "recent call first.\n\n"
    "  -p, --pid PID          the process\n"
    "  -j, --json             one JSON object, as pystrobe(8) describes it\n"
    "  -t, --threads WHICH    all (the default), main, or gil: the one that holds\n"
    "                         the GIL\n"
    "  -m, --mode MODE        only threads that are on CPU (cpu), hold the GIL (gil)\n"
    "                         or handle an exception (exception); wall, the default,\n"
    "                         means all\n"
    "  -n, --native           show <native> where C code calls Python code again\n"
    "  -g, --gc               show <GC> on a thread that collects garbage\n"
    "      --positions        show which part of the line runs\n"
    "      --opcodes          show the instruction that runs\n"
    "      --async WHAT       asyncio tasks instead: running (and what awaits them),\n"
    "                         or all; goes with --json\n"
    "      --pause            stop the process while it is read, for 100 ms at most\n"
    "      --no-source        do not look for source lines\n"
    "      --color WHEN       auto (the default), always or never; NO_COLOR is\n"
    "                         respected\n"
    "  -h, --help             this text\n\n"
    "Example:\n"
    "  pystrobe dump --pid $(pgrep -n gunicorn)\n";

enum { OUTPUT_MAX = 256 << 20 };

/* What the command line asks for. */
struct request {
    struct dump_request take;
    bool json, no_source;
    bool alone;             /* start no process: the caller ends this one, and waits for no other */
    uint32_t colour;        /* enum colour_when */
    uint32_t threads, mode; /* CPY_STATUS_ bits; 0: all */
    uint32_t tasks;         /* enum async_what */
};

/* Which asyncio tasks are wanted instead of stacks. */
enum async_what { ASYNC_NONE, ASYNC_RUNNING, ASYNC_ALL };

static const struct options_word async_words[] = {
    {"running", ASYNC_RUNNING}, {"all", ASYNC_ALL}, {NULL, 0}};
static const struct options_word thread_words[] = {
    {"all", 0}, {"main", CPY_STATUS_MAIN}, {"gil", CPY_STATUS_GIL}, {NULL, 0}};

static const struct options_word mode_words[] = {{"wall", 0},
                                                 {"cpu", CPY_STATUS_CPU},
                                                 {"gil", CPY_STATUS_GIL},
                                                 {"exception", CPY_STATUS_EXCEPTION},
                                                 {NULL, 0}};

enum colour_when { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

static const struct options_word colour_words[] = {
    {"auto", COLOUR_AUTO}, {"always", COLOUR_ALWAYS}, {"never", COLOUR_NEVER}, {NULL, 0}};

static int print_dump(const struct request *request, const struct dump *dump)
{
    struct buf out;
    int status = EXIT_OK;

    buf_init(&out, OUTPUT_MAX);
    if (request->json)
        dump_json(dump, &out);
    else
        dump_text(dump, &out);
    if (buf_failed(&out)) {
        (void)fprintf(stderr, "pystrobe: out of memory\n");
        status = EXIT_FAILED;
    } else if (fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout) != 0) {
        status = EXIT_FAILED;
    }
    buf_finish(&out);
    return status;
}

static int show_snapshot(const struct request *request, const char *command,
                         const struct cpy_info *info, const struct dump_taken *taken,
                         struct source *source)
{
    pid_t pid = request->take.pid;
    struct dump dump = {.pid = pid,
                        .command = command,
                        .python = info->version,
                        .free_threaded = info->free_threaded,
                        .warning = taken->warning[0] ? taken->warning : NULL,
                        .taken_unix_ns = taken->unix_ns,
                        .threads = taken->snapshot.threads,
                        .thread_count = taken->snapshot.count,
                        .frames = request->take.options.frames,
                        .source = source,
                        .colour = request->colour == COLOUR_ALWAYS ||
                                  (request->colour == COLOUR_AUTO && options_colour())};
    int status;

    status = print_dump(request, &dump);
    source_explain(source);
    return status != EXIT_OK ? status : taken->snapshot.torn ? EXIT_FAILED : EXIT_OK;
}

/* What reads the target's source files. NULL: they are not wanted, or cannot be read. */
static struct source *open_source(const struct request *request)
{
    struct source_owner owner;

    if (request->json || request->no_source || request->tasks != ASYNC_NONE ||
        !source_owner_find(request->take.pid, &owner))
        return NULL;
    return source_open(source_reader_of_owner(&owner));
}

static int dump_process(const struct request *request, struct source *source)
{
    struct heartbeat *heartbeat = read_watchdog_heartbeat();
    struct cpy_target *target = NULL;
    struct dump_taken taken;
    char command[PROC_COMMAND_MAX];
    struct err err = {""};
    enum cpy_rc rc;
    int status;

    if (!request->alone && !options_may_read(request->take.pid, command))
        return EXIT_UNAVAILABLE;
    read_watchdog_start(NULL, NULL);
    heartbeat_begin_read(heartbeat, request->take.pid, clock_mono_ns());
    if (request->alone)
        proc_command_line(request->take.pid, command);
    rc = cpy_open(request->take.pid, &target, &err);
    if (rc != CPY_OK)
        return options_open_failed(rc, ptrace_access_find(request->take.pid), &err);
    if (request->tasks != ASYNC_NONE) {
        status = dump_async(request->take.pid, command, target, heartbeat,
                            request->tasks == ASYNC_ALL, request->json);
        cpy_close(target);
        return status;
    }
    dump_taken_init(&taken);
    status = dump_take(&request->take, target, &taken);
    heartbeat_end_read(heartbeat); /* to write may take as long as it likes */
    if (status == EXIT_OK)
        status = show_snapshot(request, command, cpy_info(target), &taken, source);
    dump_taken_finish(&taken);
    cpy_close(target);
    return status;
}

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"pid", 'p', OPTION_PID, FIELD(take.pid)},
    {"json", 'j', OPTION_FLAG, FIELD(json)},
    {"threads", 't', OPTION_WORD_BITS, FIELD(threads), .words = thread_words},
    {"mode", 'm', OPTION_WORD_BITS, FIELD(mode), .words = mode_words},
    {"native", 'n', OPTION_BITS, FIELD(take.options.frames), CPY_FRAME_NATIVE},
    {"gc", 'g', OPTION_BITS, FIELD(take.options.frames), CPY_FRAME_GC},
    {"positions", 0, OPTION_BITS, FIELD(take.options.frames), CPY_FRAME_POSITIONS},
    {"opcodes", 0, OPTION_BITS, FIELD(take.options.frames), CPY_FRAME_OPCODES},
    {"alone", 0, OPTION_FLAG, FIELD(alone)}, /* for pystrobe agent, not for people */
    {"pause", 0, OPTION_FLAG, FIELD(take.pause)},
    {"no-source", 0, OPTION_FLAG, FIELD(no_source)},
    {"color", 0, OPTION_WORD, FIELD(colour), .words = colour_words},
    {"async", 0, OPTION_WORD, FIELD(tasks), .words = async_words},
    {.name = NULL},
};

/* False: an option was given that is about threads' stacks, but tasks are asked for; says so. */
static bool goes_with_async(const struct request *request)
{
    const struct cpy_options *options = &request->take.options;
    const struct {
        const char *option;
        bool given;
    } stack_options[] = {
        {"--threads", request->threads != 0},
        {"--mode", request->mode != 0},
        {"--native", options->frames & CPY_FRAME_NATIVE},
        {"--gc", options->frames & CPY_FRAME_GC},
        {"--positions", options->frames & CPY_FRAME_POSITIONS},
        {"--opcodes", options->frames & CPY_FRAME_OPCODES},
        {"--pause", request->take.pause},
        {"--color always", request->colour == COLOUR_ALWAYS},
    };

    for (size_t i = 0; i < sizeof(stack_options) / sizeof(stack_options[0]); i++)
        if (stack_options[i].given) {
            (void)fprintf(stderr,
                          "pystrobe: %s is for threads' stacks, and --async shows tasks: leave one "
                          "of the two out\n",
                          stack_options[i].option);
            return false;
        }
    return true;
}

int cmd_dump(int argc, char **argv)
{
    static const struct option_table table = {
        .rows = rows, .help = help, .ends_at_word = true, .help_at_once = true};
    struct request request = {.take.options.status =
                                  CPY_STATUS_CPU | CPY_STATUS_EXCEPTION | CPY_STATUS_GIL_WAIT};
    struct source *source;
    int status;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    request.take.options.only = request.threads | request.mode;
    if (optind < argc || request.take.pid == 0) {
        (void)fprintf(stderr, "pystrobe: dump needs --pid PID%s\n",
                      optind < argc ? " and nothing else" : "");
        return options_usage("dump");
    }
    if (request.tasks != ASYNC_NONE && !goes_with_async(&request))
        return options_usage("dump");
    source = open_source(&request); /* before it is read: see source_owner_find */
    status = dump_process(&request, source);
    source_close(source);
    return status;
}

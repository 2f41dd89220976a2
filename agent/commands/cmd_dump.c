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
#include "agent/proc/program.h"

static const char help[] =
    "Usage: pystrobe dump [OPTIONS] [--pid] PID\n\n"
    "Prints the Python stacks of the threads of a process as they are now, the most\n"
    "recent call first. The main thread is first; equal stacks are printed once.\n\n"
    "  -p, --pid PID          the process\n"
    "      --source           show source lines\n"
    "  -l, --long             each thread by itself, with source lines\n"
    "  -j, --json             one JSON object, as pystrobe(8) describes it\n"
    "  -t, --threads WHICH    all (the default), main, or gil: the one that holds\n"
    "                         the GIL\n"
    "  -m, --mode MODE        only threads that are on CPU (cpu), hold the GIL (gil)\n"
    "                         or handle an exception (exception); wall, the default,\n"
    "                         means all\n"
    "  -n, --native           show <native> where C code calls Python code again\n"
    "  -g, --gc               show <GC> on a thread that collects garbage\n"
    "      --positions        show which part of the line runs; with --source mark it\n"
    "      --opcodes          show the instruction that runs\n"
    "      --async WHAT       asyncio tasks instead: running (and what awaits them),\n"
    "                         or all; goes with --json\n"
    "      --pause            stop the process while it is read, for 100 ms at most\n"
    "      --no-source        no source lines, with --long\n"
    "      --color WHEN       auto (the default), always or never; NO_COLOR is\n"
    "                         respected\n"
    "  -h, --help             this text\n\n"
    "Example:\n"
    "  pystrobe dump --pid $(pgrep -n gunicorn)\n";

enum { OUTPUT_MAX = 256 << 20 };

/* What the command line asks for. */
struct request {
    struct dump_request take;
    bool json, source, each_thread, no_source;
    bool alone;             /* start no process: the caller ends this one, and waits for no other */
    uint32_t colour;        /* enum colour_when */
    uint32_t threads, mode; /* CPY_STATUS_ bits; 0: all */
    uint32_t tasks;         /* enum async_what */
    const char *program;    /* program_format of the one that is meant; NULL: any */
};

/* The process while it is dumped. */
struct session {
    const struct request *request;
    struct held_program held;  /* from before it is read */
    struct source_owner owner; /* likewise */
    struct source *source;     /* owned; NULL: no source lines */
    char command[PROC_COMMAND_MAX];
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

/* Takes the source lines away if the process has other rights than when it was read: which of them
 * it had when it named a file is not known. */
static void check_rights(struct session *session)
{
    struct source_owner now;

    if (!session->source || (source_owner_find(session->request->take.pid, &now) &&
                             source_owner_same(&session->owner, &now)))
        return;
    source_close(session->source);
    session->source = NULL;
    (void)fprintf(stderr,
                  "pystrobe: process %d has another user or root directory than before: no source "
                  "lines are shown\n",
                  (int)session->request->take.pid);
}

static int show_snapshot(const struct session *session, const struct cpy_info *info,
                         const struct dump_taken *taken)
{
    const struct request *request = session->request;
    struct dump dump = {.pid = request->take.pid,
                        .command = session->command,
                        .python = info->version,
                        .free_threaded = info->free_threaded,
                        .warning = taken->warning[0] ? taken->warning : NULL,
                        .taken_unix_ns = taken->unix_ns,
                        .threads = taken->snapshot.threads,
                        .thread_count = taken->snapshot.count,
                        .frames = request->take.options.frames,
                        .each_thread = request->each_thread,
                        .source = session->source,
                        .colour = request->colour == COLOUR_ALWAYS ||
                                  (request->colour == COLOUR_AUTO && options_colour())};
    const int status = print_dump(request, &dump);

    source_explain(session->source);
    return status != EXIT_OK ? status : taken->snapshot.torn ? EXIT_FAILED : EXIT_OK;
}

/* The latest change of a source file whose lines are those that run. The kernel has the times of
 * files and processes to about 10 ms. */
static int64_t newest_source_ns(const struct source_owner *owner)
{
    return clock_utc_ns() - (int64_t)proc_age_ns(owner->program.id.start) +
           (int64_t)(100 * NS_PER_MS);
}

/* Takes hold of the process, and finds what reads its source files if they are wanted. */
static void begin_session(const struct request *request, struct session *session)
{
    *session = (struct session){.request = request};
    program_hold(request->take.pid, &session->held);
    if (!request->json && (request->source || request->each_thread) && !request->no_source &&
        request->tasks == ASYNC_NONE && source_owner_find(request->take.pid, &session->owner))
        session->source =
            source_open(source_reader_of_owner(&session->owner), newest_source_ns(&session->owner));
}

static void end_session(struct session *session)
{
    source_close(session->source);
    program_release(&session->held);
}

/* Checks that the process runs the program that is meant. Gives the exit status; says what is
 * wrong. From then on that program is held, so that one that is executed later is found out, too.
 */
static int check_program(struct session *session)
{
    struct program meant = {.id.pid = session->request->take.pid};

    if (!session->request->program)
        return EXIT_OK;
    if (!program_parse(session->request->program, &meant)) {
        (void)fprintf(stderr, "pystrobe: --program is for pystrobe's own use\n");
        return options_usage("dump");
    }
    session->held.program = meant;
    return dump_refuse_changed(&session->held);
}

/* Says that the process could not be opened, or why not; gives the exit status. */
static int open_failed(const struct session *session, enum cpy_rc rc, const struct err *err)
{
    const pid_t pid = session->request->take.pid;

    if (program_look(&session->held) == PROGRAM_ANOTHER)
        return dump_refuse_changed(&session->held);
    return options_open_failed(rc, ptrace_access_find(pid), err);
}

/* Reads the threads and shows them. */
static int dump_threads(struct session *session, struct cpy_target *target,
                        struct heartbeat *heartbeat)
{
    const struct request *request = session->request;
    struct dump_taken taken;
    int status;

    dump_taken_init(&taken);
    status = dump_take(&request->take, target, &taken);
    heartbeat_end_read(heartbeat); /* to write may take as long as it likes */
    if (status == EXIT_OK)
        status = dump_refuse_changed(&session->held);
    if (status == EXIT_OK) {
        check_rights(session);
        status = show_snapshot(session, cpy_info(target), &taken);
    }
    dump_taken_finish(&taken);
    return status;
}

static int dump_process(struct session *session)
{
    const struct request *request = session->request;
    struct heartbeat *heartbeat = read_watchdog_heartbeat();
    struct cpy_target *target = NULL;
    struct err err = {""};
    enum cpy_rc rc;
    int status;

    if (!request->alone && !options_may_read(request->take.pid, session->command))
        return EXIT_UNAVAILABLE;
    read_watchdog_start(NULL, NULL);
    heartbeat_begin_read(heartbeat, request->take.pid, clock_mono_ns());
    if (request->alone)
        proc_command_line(request->take.pid, session->command);
    rc = cpy_open(request->take.pid, &target, &err);
    if (rc != CPY_OK)
        return open_failed(session, rc, &err);
    status = request->tasks != ASYNC_NONE
                 ? dump_async(&session->held, session->command, target, heartbeat,
                              request->tasks == ASYNC_ALL, request->json)
                 : dump_threads(session, target, heartbeat);
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
    {"source", 0, OPTION_FLAG, FIELD(source)},
    {"long", 'l', OPTION_FLAG, FIELD(each_thread)},
    {"no-source", 0, OPTION_FLAG, FIELD(no_source)},
    {"color", 0, OPTION_WORD, FIELD(colour), .words = colour_words},
    {"async", 0, OPTION_WORD, FIELD(tasks), .words = async_words},
    {"program", 0, OPTION_TEXT, FIELD(program)}, /* for the agent's own use: not in the help */
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
        {"--source", request->source},
        {"--long", request->each_thread},
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
    static const struct option_table table = {.rows = rows, .help = help, .help_at_once = true};
    struct request request = {.take.options.status =
                                  CPY_STATUS_CPU | CPY_STATUS_EXCEPTION | CPY_STATUS_GIL_WAIT};
    struct session session;
    int status = EXIT_OK;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    request.take.options.only = request.threads | request.mode;
    if (optind + 1 == argc && request.take.pid == 0 &&
        !options_pid(argv[optind++], &request.take.pid))
        return options_usage("dump");
    if (optind < argc || request.take.pid == 0) {
        (void)fprintf(stderr, "pystrobe: dump needs a PID%s\n",
                      optind < argc ? ", and nothing else" : "");
        return options_usage("dump");
    }
    if (request.tasks != ASYNC_NONE && !goes_with_async(&request))
        return options_usage("dump");
    begin_session(&request, &session); /* before it is read: see source_owner_find */
    status = check_program(&session);
    if (status == EXIT_OK)
        status = dump_process(&session);
    end_session(&session);
    return status;
}

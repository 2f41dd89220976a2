/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_dump.c - `pystrobe dump`: the stacks of a process as they are now. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/commands.h"
#include "agent/dump_async.h"
#include "agent/json.h"
#include "agent/options.h"
#include "agent/proc.h"
#include "unwind/cpy.h"

static const char help[] =
    "Usage: pystrobe dump --pid PID [--async running|all] [--json]\n\n"
    "Prints the Python stacks of all threads of a process as they are now.\n\n"
    "  -p, --pid PID     the process\n"
    "      --async WHAT  asyncio tasks instead: running (and what awaits them), or all\n"
    "  -j, --json        one JSON object, as pystrobe(8) describes it\n"
    "  -h, --help        this text\n\n"
    "Example:\n"
    "  pystrobe dump --pid $(pgrep -n gunicorn)\n";

enum { OUTPUT_MAX = 256 << 20 };

/* What the callback of a sample carries. */
struct dump {
    pid_t pid;
    struct buf out;
    bool json;
    const char *async;                /* borrowed: "running" or "all"; NULL: stacks */
    bool any_interpreter, any_thread; /* something was written already */
    int64_t interpreter;
    size_t torn;
};

static bool on_cpu(pid_t pid, pid_t tid)
{
    struct proc_thread thread;
    bool runs = proc_thread_open(pid, tid, &thread) && proc_thread_runs(&thread);

    proc_thread_close(&thread);
    return runs;
}

static void add_number(struct buf *out, int64_t number, bool known)
{
    if (known)
        buf_add_fmt(out, "%" PRId64, number);
    else
        buf_add_str(out, "null");
}

static void json_frames(struct buf *out, const struct cpy_thread *thread)
{
    const struct cpy_frame *frame;
    uint32_t i;

    for (i = 0; i < thread->depth; i++) {
        frame = &thread->frames[i];
        buf_add_str(out, i ? ", {\"func\": " : "{\"func\": ");
        json_string(out, frame->code->func);
        buf_add_str(out, ", \"file\": ");
        json_string(out, frame->code->file);
        buf_add_str(out, ", \"line\": ");
        add_number(out, frame->line, frame->line > 0);
        buf_add_str(out, ", \"first_line\": ");
        add_number(out, frame->code->first_line, true);
        buf_add_str(out, "}");
    }
}

static void json_thread(struct dump *dump, const struct cpy_thread *thread)
{
    struct buf *out = &dump->out;
    bool cpu = thread->tid && on_cpu(dump->pid, thread->tid);

    if (!dump->any_interpreter || dump->interpreter != thread->interpreter) {
        if (dump->any_interpreter)
            buf_add_str(out, "]}, ");
        buf_add_fmt(out, "{\"id\": %" PRId64 ", \"threads\": [", thread->interpreter);
        dump->any_interpreter = true;
        dump->any_thread = false;
        dump->interpreter = thread->interpreter;
    }
    buf_add_str(out, dump->any_thread ? ", {\"tid\": " : "{\"tid\": ");
    dump->any_thread = true;
    add_number(out, thread->tid, thread->tid != 0);
    buf_add_str(out, ", \"name\": ");
    json_string(out, thread->name);
    buf_add_fmt(out, ", \"main\": %s, \"status\": [",
                thread->status & CPY_STATUS_MAIN ? "true" : "false");
    buf_add_str(out, thread->status & CPY_STATUS_GIL ? "\"gil\"" : "");
    buf_add_str(out, thread->status & CPY_STATUS_GIL && cpu ? ", " : "");
    buf_add_str(out, cpu ? "\"cpu\"" : "");
    buf_add_str(out, "], \"frames\": ");
    if (thread->torn) {
        buf_add_str(out, "null}");
        return;
    }
    buf_add_str(out, "[");
    json_frames(out, thread);
    buf_add_str(out, "]}");
}

static void text_thread(struct dump *dump, const struct cpy_thread *thread)
{
    struct buf *out = &dump->out;
    const struct cpy_frame *frame;
    uint32_t i;

    buf_add_fmt(out, "%sThread %d \"%s\"%s%s%s%s\n", dump->any_thread ? "\n" : "", (int)thread->tid,
                thread->name ? thread->name : "?", thread->status & CPY_STATUS_MAIN ? " main" : "",
                thread->status & CPY_STATUS_GIL ? ", holds the GIL" : "",
                thread->tid && on_cpu(dump->pid, thread->tid) ? ", on CPU" : "",
                thread->torn ? ", its stack did not hold still" : "");
    dump->any_thread = true;
    for (i = 0; i < thread->depth; i++) {
        frame = &thread->frames[i];
        buf_add_fmt(out, "    %s (%s", frame->code->func, frame->code->file);
        if (frame->line > 0)
            buf_add_fmt(out, ":%" PRId32, frame->line);
        buf_add_str(out, ")\n");
    }
    if (thread->cut)
        buf_add_fmt(out, "    ... deeper than %d frames\n", CPY_DEPTH_MAX);
}

static void each_thread(void *ctx, const struct cpy_thread *thread)
{
    struct dump *dump = ctx;

    dump->torn += thread->torn;
    if (dump->json)
        json_thread(dump, thread);
    else
        text_thread(dump, thread);
}

static int64_t now_unix_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void begin(struct dump *dump, const struct cpy_info *info)
{
    char command[PROC_COMMAND_MAX];

    buf_reset(&dump->out);
    dump->any_interpreter = dump->any_thread = false;
    dump->torn = 0;
    if (dump->json) {
        buf_add_fmt(&dump->out, "{\"pid\": %d, \"python\": ", (int)dump->pid);
        json_string(&dump->out, info->version);
        buf_add_fmt(&dump->out,
                    ", \"free_threaded\": %s, \"taken_unix_ns\": %" PRId64 ", \"interpreters\": [",
                    info->free_threaded ? "true" : "false", now_unix_ns());
        return;
    }
    proc_command_line(dump->pid, command);
    buf_add_fmt(&dump->out, "Process %d: %s\nPython %s\n\n", (int)dump->pid, command,
                info->version);
}

static int take(struct dump *dump, struct cpy_target *target)
{
    enum cpy_rc rc = CPY_RACED;
    int tries;

    for (tries = 0; rc == CPY_RACED && tries < 10; tries++) {
        begin(dump, cpy_info(target));
        rc = cpy_sample(target, each_thread, dump);
    }
    if (rc != CPY_OK) {
        (void)fprintf(stderr, "pystrobe: process %d: %s\n", (int)dump->pid, cpy_rc_text(rc));
        return EXIT_UNAVAILABLE;
    }
    if (dump->json)
        buf_add_str(&dump->out, dump->any_interpreter ? "]}]}\n" : "]}\n");
    if (buf_failed(&dump->out)) {
        (void)fprintf(stderr, "pystrobe: out of memory\n");
        return EXIT_FAILED;
    }
    if (fwrite(dump->out.data, 1, dump->out.size, stdout) != dump->out.size || fflush(stdout) != 0)
        return EXIT_FAILED;
    return dump->torn ? EXIT_FAILED : EXIT_OK;
}

static int dump_process(struct dump *dump)
{
    struct cpy_target *target = NULL;
    struct err err = {""};
    enum cpy_rc rc = cpy_open(dump->pid, &target, &err);
    int status;

    if (rc != CPY_OK)
        return options_open_failed(dump->pid, rc, &err);
    buf_init(&dump->out, OUTPUT_MAX);
    status = dump->async
                 ? dump_async(dump->pid, target, strcmp(dump->async, "all") == 0, dump->json)
                 : take(dump, target);
    buf_finish(&dump->out);
    cpy_close(target);
    return status;
}

int cmd_dump(int argc, char **argv)
{
    static const struct option longs[] = {{"pid", required_argument, NULL, 'p'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"async", required_argument, NULL, 'a'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct dump dump = {0};
    int c;

    while ((c = getopt_long(argc, argv, "+p:jh", longs, NULL)) != -1) {
        if (c == 'h')
            return options_help(help);
        if (c == 'j')
            dump.json = true;
        else if (c == 'a')
            dump.async = optarg;
        else if (c != 'p')
            return options_usage("dump");
        else if (!options_pid(optarg, &dump.pid))
            return EXIT_USAGE;
    }
    if (optind < argc || dump.pid == 0) {
        (void)fprintf(stderr, "pystrobe: dump needs --pid PID%s\n",
                      optind < argc ? " and nothing else" : "");
        return options_usage("dump");
    }
    if (dump.async && strcmp(dump.async, "all") != 0 && strcmp(dump.async, "running") != 0) {
        (void)fprintf(stderr, "pystrobe: --async is \"running\" or \"all\", not \"%s\"\n",
                      dump.async);
        return options_usage("dump");
    }
    return dump_process(&dump);
}

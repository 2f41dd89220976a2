/* SPDX-License-Identifier: Apache-2.0 */
/* async.c - see async.h. */
#include "agent/dump/async.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/dump/async_tasks.h"
#include "agent/dump/async_tree.h"
#include "agent/dump/take.h"
#include "agent/host/clock.h"
#include "agent/host/exits.h"
#include "agent/proc/proc.h"
#include "base/json.h"

enum { OUTPUT_MAX = 256 << 20, TRIES = 10 };

static void json_frame(struct buf *out, const struct async_frame *frame)
{
    json_member(out, "{\"func\": ", frame->func);
    json_member(out, ", \"file\": ", frame->file);
    json_count(out, ", \"line\": ", frame->line);
    buf_add_fmt(out, ", \"first_line\": %" PRId32 "}", frame->first_line);
}

static void json_task(struct buf *out, const struct async_task *task)
{
    buf_add_fmt(out, "{\"id\": %" PRIu64 ", \"name\": ", task->id);
    json_string(out, task->name);
    json_count(out, ", \"tid\": ", (int32_t)task->tid);
    buf_add_fmt(out, ", \"running\": %s, \"cut\": %s, \"coroutines\": [", json_bool(task->running),
                json_bool(task->cut));
    for (uint32_t i = 0; i < task->depth; i++) {
        buf_add_str(out, i ? ", " : "");
        json_frame(out, &task->frames[i]);
    }
    buf_add_str(out, "], \"awaited_by\": [");
    for (uint32_t i = 0; i < task->awaited_by_count; i++)
        buf_add_fmt(out, i ? ", %" PRIu64 : "%" PRIu64, task->awaited_by[i]);
    buf_add_str(out, "]}");
}

/* Marks in `wanted` the running tasks and all that wait for them. */
static bool mark_running(const struct async_tasks *tasks, bool *wanted)
{
    uint32_t *queue = calloc(tasks->count + 1, sizeof(*queue)), k, waiter;
    size_t i, count = 0;

    if (!queue)
        return false;
    for (i = 0; i < tasks->count; i++) {
        wanted[i] = tasks->tasks[i].running;
        if (wanted[i])
            queue[count++] = (uint32_t)i;
    }
    for (i = 0; i < count; i++)
        for (k = 0; k < tasks->tasks[queue[i]].waiter_count; k++) {
            waiter = tasks->tasks[queue[i]].waiters[k];
            if (!wanted[waiter])
                queue[count++] = waiter;
            wanted[waiter] = true;
        }
    free(queue);
    return true;
}

static bool write_json(struct buf *out, pid_t pid, const struct cpy_info *info,
                       const struct async_tasks *tasks, bool all)
{
    bool *wanted = calloc(tasks->count + 1, sizeof(*wanted)), any = false;
    bool good = wanted && (all || mark_running(tasks, wanted));

    buf_add_fmt(out, "{\"pid\": %d, \"python\": ", (int)pid);
    json_string(out, info->version);
    buf_add_fmt(out, ", \"taken_unix_ns\": %" PRId64 ", \"torn\": %" PRIu64 ", \"tasks\": [",
                clock_utc_ns(), tasks->torn);
    for (size_t i = 0; i < tasks->count && good; i++) {
        if (!all && !wanted[i])
            continue;
        buf_add_str(out, any ? ", " : "");
        json_task(out, &tasks->tasks[i]);
        any = true;
    }
    buf_add_str(out, "]}\n");
    free(wanted);
    return good;
}

static bool write_text(struct buf *out, pid_t pid, const char *command, const struct cpy_info *info,
                       const struct async_tasks *tasks, bool all)
{
    size_t i, running = 0;

    for (i = 0; i < tasks->count; i++)
        running += tasks->tasks[i].running;
    buf_add_fmt(out, "Process %d: %s\nPython %s\n%zu asyncio task%s, %zu running", (int)pid,
                command, info->version, tasks->count, tasks->count == 1 ? "" : "s", running);
    if (tasks->torn)
        buf_add_fmt(out, ", %" PRIu64 " that did not hold still", tasks->torn);
    buf_add_str(out, "\n\n");
    return all ? async_tree_all(out, tasks) : async_tree_running(out, tasks);
}

static int print_async_output(const struct buf *out, bool good, uint64_t torn)
{
    if (!good || buf_failed(out)) {
        (void)fprintf(stderr, "pystrobe: out of memory\n");
        return EXIT_FAILED;
    }
    if (fwrite(out->data, 1, out->size, stdout) != out->size || fflush(stdout) != 0)
        return EXIT_FAILED;
    return torn ? EXIT_FAILED : EXIT_OK;
}

static int report_async_failure(pid_t pid, enum cpy_rc rc, const struct cpy_info *info)
{
    if (rc == CPY_FOREIGN)
        (void)fprintf(stderr,
                      "pystrobe: process %d: its Python %s has no asyncio tasks that can be read: "
                      "that takes 3.14 or later, and asyncio imported\n",
                      (int)pid, info->version);
    else
        (void)fprintf(stderr, "pystrobe: process %d: %s\n", (int)pid, cpy_rc_text(rc));
    return rc == CPY_NOMEM ? EXIT_FAILED : rc == CPY_DENIED ? EXIT_NO_PERMISSION : EXIT_UNAVAILABLE;
}

/* Writes and prints tasks that were read, if they are those of the program that is held. */
static int print_tasks(const struct held_program *held, const char *command,
                       const struct cpy_info *info, const struct async_tasks *tasks, bool all,
                       bool json)
{
    const pid_t pid = held->program.id.pid;
    int status = dump_refuse_changed(held);
    struct buf out;
    bool good;

    if (status != EXIT_OK)
        return status;
    buf_init(&out, OUTPUT_MAX);
    good = json ? write_json(&out, pid, info, tasks, all)
                : write_text(&out, pid, command, info, tasks, all);
    status = print_async_output(&out, good, tasks->torn);
    buf_finish(&out);
    return status;
}

int dump_async(const struct held_program *held, const char *command, struct cpy_target *target,
               struct heartbeat *heartbeat, bool all, bool json)
{
    const struct cpy_info *info = cpy_info(target);
    struct async_tasks tasks;
    enum cpy_rc rc = CPY_RACED;
    int tries, status;

    async_tasks_init(&tasks);
    for (tries = 0; rc == CPY_RACED && tries < TRIES; tries++) {
        async_tasks_finish(&tasks);
        async_tasks_init(&tasks);
        rc = async_tasks_take(&tasks, target);
    }
    heartbeat_end_read(heartbeat); /* to write may take as long as it likes */
    if (rc == CPY_OK) {
        status = print_tasks(held, command, info, &tasks, all, json);
    } else {
        status = dump_refuse_changed(held);
        if (status == EXIT_OK)
            status = report_async_failure(held->program.id.pid, rc, info);
    }
    async_tasks_finish(&tasks);
    return status;
}

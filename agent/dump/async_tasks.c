/* SPDX-License-Identifier: Apache-2.0 */
/* async_tasks.c - see async_tasks.h. */
#include "agent/dump/async_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { BYTES_MAX = 256 << 20 };

void async_tasks_init(struct async_tasks *tasks)
{
    *tasks = (struct async_tasks){0};
    arena_init(&tasks->arena, BYTES_MAX);
}

void async_tasks_finish(struct async_tasks *tasks)
{
    arena_finish(&tasks->arena);
    free(tasks->tasks);
    free(tasks->by_id);
    free(tasks->threads);
}

static const char *copy_task_text(struct async_tasks *tasks, const char *text)
{
    char *copy = text ? arena_strndup(&tasks->arena, text, strlen(text)) : NULL;

    tasks->nomem |= text && !copy;
    return copy;
}

static void add_async_thread(void *ctx, const struct cpy_thread *thread)
{
    struct async_tasks *tasks = ctx;

    if (!ARRAY_RESERVE(tasks->threads, tasks->thread_capacity, tasks->thread_count + 1)) {
        tasks->nomem = true;
        return;
    }
    tasks->threads[tasks->thread_count++] =
        (struct async_thread){thread->state, thread->tid, copy_task_text(tasks, thread->name)};
}

static void copy_frames(struct async_tasks *tasks, const struct cpy_task *from,
                        struct async_task *to)
{
    const struct cpy_frame *frame;

    to->frames = arena_alloc(&tasks->arena, from->depth * sizeof(*to->frames) + 1);
    tasks->nomem |= !to->frames;
    for (uint32_t i = 0; i < from->depth && !tasks->nomem; i++) {
        frame = &from->frames[i];
        to->frames[i] = (struct async_frame){
            .func = copy_task_text(tasks, frame->code->func),
            .file = copy_task_text(tasks, frame->code->file),
            .line = frame->line,
            .first_line = frame->code->first_line,
        };
        to->depth = i + 1;
    }
}

static void copy_waiters(struct async_tasks *tasks, const struct cpy_task *from,
                         struct async_task *to)
{
    size_t size = from->awaited_by_count * sizeof(*to->awaited_by);

    to->awaited_by = arena_alloc(&tasks->arena, size + 1);
    tasks->nomem |= !to->awaited_by;
    if (!to->awaited_by || size == 0)
        return;
    memcpy(to->awaited_by, from->awaited_by, size);
    to->awaited_by_count = from->awaited_by_count;
}

static void set_thread(const struct async_tasks *tasks, struct async_task *task)
{
    for (size_t i = 0; i < tasks->thread_count && task->state != 0; i++)
        if (tasks->threads[i].state == task->state) {
            task->tid = tasks->threads[i].tid;
            task->thread_name = tasks->threads[i].name;
        }
}

static void copy_async_task(void *ctx, const struct cpy_task *from)
{
    struct async_tasks *tasks = ctx;
    struct async_task *task;

    if (tasks->nomem || !ARRAY_RESERVE(tasks->tasks, tasks->capacity, tasks->count + 1)) {
        tasks->nomem = true;
        return;
    }
    task = &tasks->tasks[tasks->count++];
    *task = (struct async_task){.id = from->id, .state = from->state};
    task->running = from->running;
    task->cut = from->cut;
    task->name = copy_task_text(tasks, from->name);
    copy_frames(tasks, from, task);
    copy_waiters(tasks, from, task);
    set_thread(tasks, task);
}

static int compare_task_indexes(const void *a, const void *b, void *ctx)
{
    const struct async_task *tasks = ctx;
    const uint32_t *left = a, *right = b;
    cpy_addr x = tasks[*left].id, y = tasks[*right].id;

    return x != y ? (x > y) - (x < y) : (*left > *right) - (*left < *right);
}

/* The index of a task; ASYNC_NONE: there is none of that id. */
static int64_t find_task_index(const struct async_tasks *tasks, cpy_addr id)
{
    size_t low = 0, high = tasks->count, middle;

    while (low < high) {
        middle = (low + high) / 2;
        if (tasks->tasks[tasks->by_id[middle]].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < tasks->count && tasks->tasks[tasks->by_id[low]].id == id)
        return tasks->by_id[low];
    return ASYNC_NONE;
}

/* A task whose thread ended meanwhile was found twice: the first time is forgotten. */
static void drop_duplicate_tasks(struct async_tasks *tasks)
{
    size_t i, kept = 0;

    for (i = 1; i < tasks->count; i++)
        if (tasks->tasks[tasks->by_id[i]].id == tasks->tasks[tasks->by_id[i - 1]].id)
            tasks->tasks[tasks->by_id[i - 1]].id = 0;
    for (i = 0; i < tasks->count; i++)
        if (tasks->tasks[i].id != 0)
            tasks->tasks[kept++] = tasks->tasks[i];
    tasks->count = kept;
}

static void index_tasks(struct async_tasks *tasks)
{
    for (uint32_t i = 0; i < tasks->count; i++)
        tasks->by_id[i] = i;
    qsort_r(tasks->by_id, tasks->count, sizeof(*tasks->by_id), compare_task_indexes, tasks->tasks);
}

static uint32_t *room(struct async_tasks *tasks, size_t count)
{
    uint32_t *items = arena_alloc(&tasks->arena, count * sizeof(*items) + 1);

    tasks->nomem |= !items;
    return items;
}

/* Fills `waiters` and `awaits` of all tasks. */
static void link_task_waiters(struct async_tasks *tasks)
{
    struct async_task *task, *waiter;
    int64_t found;

    for (size_t i = 0; i < tasks->count && !tasks->nomem; i++) {
        task = &tasks->tasks[i];
        task->waiters = room(tasks, task->awaited_by_count);
        for (uint32_t k = 0; k < task->awaited_by_count && !tasks->nomem; k++) {
            found = find_task_index(tasks, task->awaited_by[k]);
            if (found == ASYNC_NONE)
                continue;
            task->waiters[task->waiter_count++] = (uint32_t)found;
            tasks->tasks[found].awaits_count++;
        }
    }
    for (size_t i = 0; i < tasks->count && !tasks->nomem; i++) {
        tasks->tasks[i].awaits = room(tasks, tasks->tasks[i].awaits_count);
        tasks->tasks[i].awaits_count = 0;
    }
    for (size_t i = 0; i < tasks->count && !tasks->nomem; i++)
        for (uint32_t k = 0; k < tasks->tasks[i].waiter_count; k++) {
            waiter = &tasks->tasks[tasks->tasks[i].waiters[k]];
            waiter->awaits[waiter->awaits_count++] = (uint32_t)i;
        }
}

static enum cpy_rc build(struct async_tasks *tasks)
{
    tasks->by_id = calloc(tasks->count + 1, sizeof(*tasks->by_id));
    if (!tasks->by_id)
        return CPY_NOMEM;
    index_tasks(tasks);
    drop_duplicate_tasks(tasks);
    index_tasks(tasks);
    link_task_waiters(tasks);
    return tasks->nomem ? CPY_NOMEM : CPY_OK;
}

enum cpy_rc async_tasks_take(struct async_tasks *tasks, struct cpy_target *target)
{
    uint64_t torn;
    enum cpy_rc rc = cpy_sample(target, add_async_thread, tasks); /* for ids and names of threads */

    torn = cpy_stats(target)->torn;
    if (rc == CPY_OK)
        rc = cpy_tasks(target, copy_async_task, tasks);
    if (rc != CPY_OK)
        return rc;
    tasks->torn = cpy_stats(target)->torn - torn;
    return tasks->nomem ? CPY_NOMEM : build(tasks);
}

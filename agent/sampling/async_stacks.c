/* SPDX-License-Identifier: Apache-2.0 */
/* async_stacks.c - see async_stacks.h. */
#include "agent/sampling/async_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { BYTES_MAX = 64 << 20, NAME_MAX_BYTES = 128, CHAIN_MAX = 1024 };

static const char cycle_name[] = "<awaited in a cycle>";

void async_stacks_init(struct async_stacks *stacks)
{
    *stacks = (struct async_stacks){0};
    arena_init(&stacks->arena, BYTES_MAX);
}

void async_stacks_finish(struct async_stacks *stacks)
{
    arena_finish(&stacks->arena);
    free(stacks->tasks);
    free(stacks->before);
}

/* A name that asyncio has made up says nothing, and would make a stack of its own of each task. */
static void make_task_frame_name(const struct cpy_task *task, char out[NAME_MAX_BYTES])
{
    static const char made_up[] = "Task-";
    const char *name = task->name;

    if (!name || (strncmp(name, made_up, sizeof(made_up) - 1) == 0 &&
                  strspn(name + sizeof(made_up) - 1, "0123456789") == strlen(name) - 5))
        (void)snprintf(out, NAME_MAX_BYTES, "<task>");
    else
        (void)snprintf(out, NAME_MAX_BYTES, "<task %.100s>", name);
}

static void add_task_stack(void *ctx, const struct cpy_task *from)
{
    struct async_stacks *stacks = ctx;
    struct service_stack stack = {arena_alloc(&stacks->arena, (from->depth + 2) * sizeof(uint32_t)),
                                  0};
    struct async_stack *task;
    char name[NAME_MAX_BYTES];

    if (!stack.locations || !ARRAY_RESERVE(stacks->tasks, stacks->capacity, stacks->count + 1)) {
        stacks->failed = true;
        return;
    }
    task = &stacks->tasks[stacks->count++];
    make_task_frame_name(from, name);
    if (service_stack_frames(stacks->service, &stack, from->frames, from->depth) != PPROF_OK ||
        service_stack_name(stacks->service, &stack, name) != PPROF_OK) {
        stacks->count--; /* the profile is full: the thread's own stack is counted as that */
        return;
    }
    *task = (struct async_stack){.id = from->id,
                                 .state = from->state,
                                 .running = from->running,
                                 .awaiter = from->awaited_by_count > 0 ? from->awaited_by[0] : 0,
                                 .locations = stack.locations,
                                 .depth = stack.depth};
}

static int compare_tasks(const void *a, const void *b)
{
    const struct async_stack *left = a, *right = b;

    return (left->id > right->id) - (left->id < right->id);
}

static struct async_stack *find_task_stack(const struct async_stacks *stacks, cpy_addr id)
{
    const struct async_stack key = {.id = id};

    return stacks->count == 0
               ? NULL
               : bsearch(&key, stacks->tasks, stacks->count, sizeof(key), compare_tasks);
}

static struct async_stack *awaiter_of(const struct async_stacks *stacks,
                                      const struct async_stack *task)
{
    return task->awaiter ? find_task_stack(stacks, task->awaiter) : NULL;
}

/* Walks from a task over its awaiters; marks those of a cycle that no walk has met. */
static void find_cycle(struct async_stacks *stacks, struct async_stack *from, size_t walk)
{
    struct async_stack *task = from, *first;

    while (task && task->walk == 0) {
        task->walk = walk;
        task = awaiter_of(stacks, task);
    }
    if (!task || task->walk != walk)
        return; /* the awaiters end, or an earlier walk has been here */
    stacks->has_cycle = true;
    first = task;
    do {
        task->in_cycle = true;
        task = awaiter_of(stacks, task);
    } while (task != first);
}

/* Sorts the tasks, and finds out which await another, and which await each other in a cycle. */
static void find_awaited_tasks(struct async_stacks *stacks)
{
    struct async_stack *awaiter;
    size_t i, kept = 0;

    if (stacks->count > 1)
        qsort(stacks->tasks, stacks->count, sizeof(*stacks->tasks), compare_tasks);
    for (i = 0; i < stacks->count; i++) /* one may be met twice, if its thread ended meanwhile */
        if (kept == 0 || stacks->tasks[kept - 1].id != stacks->tasks[i].id)
            stacks->tasks[kept++] = stacks->tasks[i];
    stacks->count = kept;
    for (i = 0; i < stacks->count; i++) {
        awaiter = awaiter_of(stacks, &stacks->tasks[i]);
        if (awaiter)
            awaiter->awaits = true;
        find_cycle(stacks, &stacks->tasks[i], i + 1);
    }
}

/* Interns the mark of a cycle. Where the profile is full, stacks end without it. */
static void intern_cycle(struct async_stacks *stacks)
{
    struct service_stack mark = {&stacks->cycle, 0};

    stacks->cycle_depth = 0;
    if (service_stack_name(stacks->service, &mark, cycle_name) == PPROF_OK)
        stacks->cycle_depth = mark.depth;
}

/* Remembers which tasks there were. */
static void note_before(struct async_stacks *stacks)
{
    if (!ARRAY_RESERVE(stacks->before, stacks->before_capacity, stacks->count)) {
        stacks->failed = true;
        return;
    }
    for (size_t i = 0; i < stacks->count; i++)
        stacks->before[i] = stacks->tasks[i].id;
    stacks->before_count = stacks->count;
}

enum cpy_rc async_stacks_read(struct async_stacks *stacks, struct cpy_target *target,
                              struct service *service, bool all)
{
    enum cpy_rc rc;

    note_before(stacks);
    arena_reset(&stacks->arena);
    stacks->service = service;
    stacks->count = 0;
    stacks->has_cycle = false;
    rc = all ? cpy_tasks(target, add_task_stack, stacks)
             : cpy_running_tasks(target, add_task_stack, stacks);
    find_awaited_tasks(stacks);
    if (stacks->has_cycle)
        intern_cycle(stacks);
    if (stacks->failed)
        return CPY_NOMEM;
    return rc == CPY_FOREIGN ? CPY_OK : rc;
}

static void append_locations(const uint32_t *locations, uint32_t depth, struct service_stack *out)
{
    const uint32_t room = SERVICE_DEPTH_MAX - out->depth, fits = depth < room ? depth : room;

    memcpy(out->locations + out->depth, locations, fits * sizeof(*out->locations));
    out->depth += fits;
}

/* Puts a task's stack together with those of its awaiters; each of a cycle once. */
static void append_awaiter_stacks(const struct async_stacks *stacks, const struct async_stack *task,
                                  struct service_stack *out)
{
    const struct async_stack *entry = NULL; /* the first task of a cycle */

    for (uint32_t i = 0; task && task != entry && i < CHAIN_MAX; i++) {
        if (!entry && task->in_cycle)
            entry = task;
        append_locations(task->locations, task->depth, out);
        task = out->depth < SERVICE_DEPTH_MAX ? awaiter_of(stacks, task) : NULL;
    }
    if (task && task == entry)
        append_locations(&stacks->cycle, stacks->cycle_depth, out);
}

bool async_stacks_running(const struct async_stacks *stacks, cpy_addr state, uint32_t *room,
                          struct service_stack *out)
{
    *out = (struct service_stack){room, 0};
    for (size_t i = 0; i < stacks->count; i++)
        if (stacks->tasks[i].running && stacks->tasks[i].state == state) {
            append_awaiter_stacks(stacks, &stacks->tasks[i], out);
            return true;
        }
    return false;
}

static int compare_task_ids(const void *a, const void *b)
{
    const cpy_addr *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

void async_stacks_waiting(struct async_stacks *stacks,
                          void (*each)(void *ctx, const struct service_stack *stack, bool is_new),
                          void *ctx)
{
    uint32_t room[SERVICE_DEPTH_MAX];
    struct service_stack stack;
    const struct async_stack *task;

    for (size_t i = 0; i < stacks->count; i++) {
        task = &stacks->tasks[i];
        if (task->running || (task->awaits && !task->in_cycle))
            continue;
        stack = (struct service_stack){room, 0};
        append_awaiter_stacks(stacks, task, &stack);
        each(ctx, &stack,
             stacks->before_count == 0 || !bsearch(&task->id, stacks->before, stacks->before_count,
                                                   sizeof(task->id), compare_task_ids));
    }
}

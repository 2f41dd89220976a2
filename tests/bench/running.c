/* SPDX-License-Identifier: Apache-2.0 */
/* running.c - see running.h. */
#include "tests/bench/running.h"

#include <stdlib.h>
#include <string.h>

void running_init(struct running *running)
{
    *running = (struct running){.nomem = false};
}

void running_finish(struct running *running)
{
    free(running->tasks.items);
    free(running->ids.items);
    free(running->frames.items);
    free(running->slots.items);
    free(running->queue.items);
    running_init(running);
}

void running_reset(struct running *running)
{
    running->tasks.count = running->ids.count = running->frames.count = 0;
    running->slots.count = running->queue.count = 0;
    running->nomem = false;
}

/* Gives room for `count` more items at the end of a row; NULL: out of memory. */
static void *add_items(struct running *running, struct running_row *row, size_t count, size_t size)
{
    size_t capacity = row->capacity ? row->capacity : 64;
    void *wider;

    while (capacity - row->count < count)
        capacity *= 2;
    if (capacity != row->capacity) {
        wider = realloc(row->items, capacity * size);
        running->nomem |= !wider;
        if (!wider)
            return NULL;
        row->items = wider;
        row->capacity = capacity;
    }
    row->count += count;
    return (char *)row->items + (row->count - count) * size;
}

static void push(struct running *running, struct running_row *row, size_t index)
{
    size_t *item = add_items(running, row, 1, sizeof(*item));

    if (item)
        *item = index;
}

void running_add(struct running *running, const struct cpy_task *task)
{
    size_t index = running->tasks.count;
    cpy_addr *ids =
        add_items(running, &running->ids, task->awaited_by_count, sizeof(*task->awaited_by));
    struct cpy_frame *frames =
        add_items(running, &running->frames, task->depth, sizeof(*task->frames));
    struct running_task *copy = add_items(running, &running->tasks, 1, sizeof(*copy));

    if (task->running)
        push(running, &running->queue, index);
    if (running->nomem)
        return;
    *copy = (struct running_task){.id = task->id, .wanted = task->running};
    copy->waiter_count = task->awaited_by_count;
    copy->waiters = running->ids.count - copy->waiter_count;
    copy->depth = task->running ? 0 : task->depth;
    copy->frames = running->frames.count - task->depth;
    if (task->awaited_by_count > 0)
        memcpy(ids, task->awaited_by, task->awaited_by_count * sizeof(*ids));
    if (task->depth > 0)
        memcpy(frames, task->frames, task->depth * sizeof(*frames));
}

/* The slot of a task, or the empty one where it would be. Tasks lie at multiples of 16. */
static size_t *find_slot(const struct running *running, cpy_addr id)
{
    const struct running_task *tasks = running->tasks.items;
    size_t *slots = running->slots.items, mask = running->slots.count - 1;
    size_t at = (size_t)(id / 16 * 0x9e3779b97f4a7c15u >> 20) & mask;

    while (slots[at] != 0 && tasks[slots[at] - 1].id != id)
        at = (at + 1) & mask;
    return &slots[at];
}

/* Puts all tasks into a hash table that is less than half full. */
static bool index_tasks(struct running *running)
{
    const struct running_task *tasks = running->tasks.items;
    size_t i, count = 64, *slots;

    while (count <= running->tasks.count * 2)
        count *= 2;
    slots = add_items(running, &running->slots, count, sizeof(*slots));
    if (!slots)
        return false;
    memset(slots, 0, count * sizeof(*slots));
    for (i = 0; i < running->tasks.count; i++)
        *find_slot(running, tasks[i].id) = i + 1;
    return true;
}

static void want_waiters(struct running *running, const struct running_task *task)
{
    const cpy_addr *ids = running->ids.items;
    struct running_task *tasks = running->tasks.items, *waiter;
    size_t i, slot;

    for (i = 0; i < task->waiter_count; i++) {
        slot = *find_slot(running, ids[task->waiters + i]);
        waiter = slot ? &tasks[slot - 1] : NULL;
        if (waiter && !waiter->wanted) {
            waiter->wanted = true;
            push(running, &running->queue, slot - 1);
        }
    }
}

bool running_close(struct running *running, uint64_t *tasks, uint64_t *frames)
{
    const struct running_task *task;
    size_t i;

    if (running->nomem || !index_tasks(running))
        return false;
    for (i = 0; i < running->queue.count && !running->nomem; i++) {
        task = (struct running_task *)running->tasks.items + ((size_t *)running->queue.items)[i];
        *tasks += 1;
        *frames += task->depth;
        want_waiters(running, task);
    }
    return !running->nomem;
}

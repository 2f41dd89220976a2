/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async_tasks.h - the asyncio tasks of a process as a graph: who awaits whom.
 *
 * Shape: async_tasks_init, async_tasks_take, then read; async_tasks_finish.
 */
#ifndef AGENT_DUMP_ASYNC_TASKS_H
#define AGENT_DUMP_ASYNC_TASKS_H

#include "base/arena.h"
#include "unwind/cpy.h"

enum { ASYNC_NONE = -1 };

struct async_frame {
    const char *func, *file;
    int32_t line, first_line; /* line 0: not known */
};

/* All borrowed from the arena. */
struct async_task {
    cpy_addr id, state;
    pid_t tid;               /* 0: its thread has ended */
    const char *thread_name; /* NULL: not known */
    const char *name;
    bool running, cut;
    uint32_t depth, awaited_by_count, awaits_count;
    struct async_frame *frames; /* [0] is the innermost */
    cpy_addr *awaited_by;       /* ids */
    uint32_t *waiters;          /* the same as indices of tasks, as far as they are known ... */
    uint32_t waiter_count;
    uint32_t *awaits; /* ... and the other way round */
};

struct async_thread {
    cpy_addr state;
    pid_t tid;
    const char *name; /* borrowed from the arena; NULL: not known */
};

struct async_tasks {
    struct arena arena;
    struct async_task *tasks; /* owned; in the order of the target's lists */
    uint32_t *by_id;          /* owned: indices of tasks */
    size_t count, capacity;
    struct async_thread *threads; /* owned */
    size_t thread_count, thread_capacity;
    uint64_t torn; /* tasks that did not hold still */
    bool nomem;
};

void async_tasks_init(struct async_tasks *tasks);
void async_tasks_finish(struct async_tasks *tasks);

/* Reads the tasks of a target. Errors: as cpy_tasks. */
MUST_CHECK enum cpy_rc async_tasks_take(struct async_tasks *tasks, struct cpy_target *target);

#endif

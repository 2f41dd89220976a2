/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async_tasks.h - the asyncio tasks of a process as a graph: which task awaits which.
 *
 * Shape: async_tasks_init, async_tasks_take, then read; async_tasks_finish.
 */
#ifndef AGENT_DUMP_ASYNC_TASKS_H
#define AGENT_DUMP_ASYNC_TASKS_H

#include "base/arena.h"
#include "unwind/cpy.h"

enum { ASYNC_NONE = -1 };

struct async_frame {
    const char *func, *file;  /* borrowed from the arena */
    int32_t line, first_line; /* of the call, 0: not known; of the function */
};

/* All pointers are borrowed from the arena. */
struct async_task {
    cpy_addr id, state;      /* as struct cpy_task has them */
    pid_t tid;               /* its thread; 0: it has ended, or is not known */
    const char *thread_name; /* NULL: not known */
    const char *name;        /* NULL: not known */
    bool running, cut;       /* as struct cpy_task has them */
    uint32_t depth, awaited_by_count, awaits_count; /* sizes of the next arrays */
    struct async_frame *frames;                     /* [0] is the innermost */
    cpy_addr *awaited_by;                           /* ids of the tasks that await it */
    uint32_t *waiters; /* the same tasks as indices, without those that were not read */
    uint32_t waiter_count;
    uint32_t *awaits; /* indices of the tasks that it awaits: those that have it in `waiters` */
};

struct async_thread {
    cpy_addr state; /* cpy_thread.state */
    pid_t tid;
    const char *name; /* borrowed from the arena; NULL: not known */
};

struct async_tasks {
    struct arena arena;           /* owned */
    struct async_task *tasks;     /* owned; in the order of the target's lists */
    uint32_t *by_id;              /* owned: indices of tasks, sorted by id */
    size_t count, capacity;       /* of tasks */
    struct async_thread *threads; /* owned */
    size_t thread_count, thread_capacity;
    uint64_t torn; /* tasks that changed while they were read, and are missing */
    bool nomem;    /* out of memory; async_tasks_take returns CPY_NOMEM */
};

void async_tasks_init(struct async_tasks *tasks);

/* Frees the tasks. Call async_tasks_init before the next use. */
void async_tasks_finish(struct async_tasks *tasks);

/* Reads the tasks and threads of a target. Errors: as cpy_tasks and cpy_sample. */
MUST_CHECK enum cpy_rc async_tasks_take(struct async_tasks *tasks, struct cpy_target *target);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running.h - the running tasks among those that were read, and all that await them.
 *
 * Shape: running_init; running_reset, running_add..., running_close for each sample;
 *        running_finish. What was once big enough is kept: a warm one allocates nothing.
 */
#ifndef TESTS_BENCH_RUNNING_H
#define TESTS_BENCH_RUNNING_H

#include "unwind/cpy.h"

struct running_task {
    cpy_addr id;
    bool wanted;
    size_t waiters, waiter_count; /* of `ids` */
    size_t frames, depth;         /* of `frames` */
};

/* Items of one kind in a row that grows. */
struct running_row {
    void *items; /* owned */
    size_t count, capacity;
};

struct running {
    struct running_row tasks;  /* struct running_task, in the order in which they came */
    struct running_row ids;    /* cpy_addr: of waiters */
    struct running_row frames; /* struct cpy_frame */
    struct running_row slots;  /* size_t: a hash table of tasks by id, index + 1 */
    struct running_row queue;  /* size_t: tasks that are wanted */
    bool nomem;
};

void running_init(struct running *running);
void running_finish(struct running *running);

/* Forgets the tasks. */
void running_reset(struct running *running);

/* Keeps a copy of a task. */
void running_add(struct running *running, const struct cpy_task *task);

/*
 * Marks the running tasks and, through any number of others, what awaits them; adds their number
 * and that of their frames (but for those of a running one, which are its thread's).
 *
 * Errors: false: out of memory.
 */
MUST_CHECK bool running_close(struct running *running, uint64_t *tasks, uint64_t *frames);

#endif

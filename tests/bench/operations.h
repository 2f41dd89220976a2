/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operations.h - what the benchmark times: the three things that CPython's own reader does.
 *
 * Shape:   operation_init, operation_run many times, each followed by a look at `got`.
 * Threads: as the target.
 */
#ifndef TESTS_BENCH_OPERATIONS_H
#define TESTS_BENCH_OPERATIONS_H

#include <time.h>

#include "unwind/cpy.h"

enum operation_kind {
    OPERATION_STACK, /* every thread's stack */
    OPERATION_ASYNC, /* the same, and the running tasks with all that await them */
    OPERATION_TASKS  /* all tasks with their awaiters */
};

/* What a call gave. */
struct operation_got {
    uint64_t threads, frames, tasks;
    uint64_t torn; /* threads and tasks that were given up */
    uint64_t sink; /* of a call that is looked at: made from every name, file and line */
};

struct operation {
    struct cpy_target *target; /* borrowed */
    enum operation_kind kind;
    clockid_t cpu_clock; /* of the target's process: read for each sample, as the agent does that
                            asks for the CPU status; 0: not read */
    uint64_t calls;
    bool looks; /* this call's frames are walked */
    struct operation_got got;
};

/*
 * Every how manyth call is walked to the last frame: it proves that all was in hand. The peer's
 * result is not walked while it is timed, so it is not part of what is compared either.
 */
enum { OPERATION_LOOK_EVERY = 97 };

void operation_init(struct operation *op, struct cpy_target *target, enum operation_kind kind);

/* Errors: as cpy_sample and cpy_tasks. */
MUST_CHECK enum cpy_rc operation_run(struct operation *op);

/* Adds the frames' names, files and lines to a sum. */
uint64_t operation_look_at(const struct cpy_frame *frames, uint32_t depth);

#endif

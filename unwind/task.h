/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - reads one asyncio task whole: its name, what it waits in and who waits for it. */
#ifndef UNWIND_TASK_H
#define UNWIND_TASK_H

#include "unwind/target.h"

/* Where a task is looked for. */
struct task_group {
    cpy_addr interp;
    cpy_addr thread; /* its thread state; 0: its thread has ended */
    pid_t tid;       /* of that; 0: not known */
    struct memos *memos;
    const struct listed *sampled; /* the thread, if the last sample has read its stack together
                                     with the tasks; else NULL */
    /* As they were fetched, unless it is not `consistent`: */
    cpy_addr running;    /* the task that runs in the thread; 0: none */
    uint64_t generation; /* of the interpreter's code objects, with its address */
    bool consistent;
};

/* Looks at what all tasks of a group have in common; to be called before the first one. */
void task_begin_group(struct cpy_target *target, struct task_group *group);

/*
 * Reads the task at `addr`. *gone: it is done, or was given up after several tries.
 *
 * Lends:  what *out points to, until the next task is read.
 * Errors: CPY_GONE, CPY_DENIED, CPY_NOMEM.
 */
MUST_CHECK enum cpy_rc task_read(struct cpy_target *target, const struct task_group *group,
                                 cpy_addr addr, struct cpy_task *out, bool *gone);

/* Before reading once more what was torn: takes the CPU of the group's thread. */
void task_prepare_retry(struct cpy_target *target, const struct task_group *group);

#endif

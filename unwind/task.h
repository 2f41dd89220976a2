/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - reads one asyncio task: its name, the coroutines that it waits in and its waiters. */
#ifndef UNWIND_TASK_H
#define UNWIND_TASK_H

#include "unwind/target.h"

/* Tasks of one thread, or of the ended threads of an interpreter. */
struct task_group {
    cpy_addr interp;              /* address of the interpreter */
    uint64_t interp_id;           /* its id: see struct interp */
    cpy_addr thread;              /* the thread state; 0: the threads have ended */
    pid_t tid;                    /* of the thread; 0: not known */
    struct memos *memos;          /* borrowed: results of earlier samples */
    const struct listed *sampled; /* borrowed: the thread, if the last sample fetched the tasks
                                     together with its stack; else NULL */
    /* Set by task_begin_group: */
    cpy_addr running;    /* the task that runs in the thread; 0: none */
    uint64_t generation; /* see struct codes_owner */
    bool consistent;     /* these two are valid */
};

/* Reads the last three fields of a group; to be called before its first task_read. */
void task_begin_group(struct cpy_target *target, struct task_group *group);

/*
 * Reads the task at `addr`. *gone: *out is not valid, because it is done, or no try was consistent.
 *
 * Lends:  what *out points to, until the next task is read.
 * Errors: CPY_GONE, CPY_DENIED, CPY_NOMEM.
 */
MUST_CHECK enum cpy_rc task_read(struct cpy_target *target, const struct task_group *group,
                                 cpy_addr addr, struct cpy_task *out, bool *gone);

/* To be called before a torn read is repeated: takes the CPU of the group's thread, and makes the
 * next reads go to the target instead of copies. */
void task_prepare_retry(struct cpy_target *target, const struct task_group *group);

#endif

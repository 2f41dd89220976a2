/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiters.h - the tasks that wait for an asyncio task.
 *
 * Source: Modules/_asynciomodule.c, tag v3.14.0: a task or future has one waiter, or a set
 *         of them. If a future waits that is no task, the tasks that wait for it count.
 */
#ifndef UNWIND_TASKS_WAITERS_H
#define UNWIND_TASKS_WAITERS_H

#include "unwind/objects/object.h"

enum { WAITERS_MAX = 4096, WAITERS_FUTURES_MAX = 64 }; /* of one task */

/* The words of a task or future that tell its waiters. */
struct awaited {
    cpy_addr by; /* 0: none; a task, a future or a set */
    bool by_is_set, is_task;
};

struct waiters {
    size_t count;
    bool cut;                    /* there are more */
    cpy_addr tasks[WAITERS_MAX]; /* ascending */
};

/* Takes the words from the bytes of a task or future. */
void waiters_take(const struct layout *layout, const unsigned char *bytes, struct awaited *out);

/* Finds the tasks that wait for what `awaited` is of. */
MUST_CHECK enum cpy_rc waiters_read(const struct reader *reader, const struct awaited *awaited,
                                    struct waiters *out);

#endif

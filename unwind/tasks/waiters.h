/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiters.h - the tasks that wait for an asyncio task.
 *
 * Source: Modules/_asynciomodule.c, tag v3.14.0: a task or future has one waiter, or a set
 *         of them. In place of a waiter that is a future but no task, its own waiters count.
 */
#ifndef UNWIND_TASKS_WAITERS_H
#define UNWIND_TASKS_WAITERS_H

#include "unwind/objects/object.h"

enum { WAITERS_MAX = 4096, WAITERS_FUTURES_MAX = 64 }; /* waiters, such futures, of one task */

/* The words of a task or future that lead to its waiters. */
struct awaited {
    cpy_addr by;             /* a task, a future or a set; 0: none */
    bool by_is_set, is_task; /* `by` is a set; the words are of a task, not of a future */
};

struct waiters {
    size_t count;
    bool cut;                    /* there are more: a limit was reached */
    cpy_addr tasks[WAITERS_MAX]; /* ascending */
};

/* Decodes the words from the bytes of a task or future. */
void waiters_take(const struct layout *layout, const unsigned char *bytes, struct awaited *out);

/* Finds the tasks that wait for the task or future whose words are `awaited`. */
MUST_CHECK enum cpy_rc waiters_read(const struct reader *reader, const struct awaited *awaited,
                                    struct waiters *out);

#endif

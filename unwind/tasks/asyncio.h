/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asyncio.h - finds where the asyncio of a target says how its tasks lie in memory, and
 * keeps what reading tasks needs.
 *
 * Source: Modules/_asynciomodule.c, tags v3.14.0 and v3.15.0: a table of 13 words without
 *         name or version, in a section of its own, of the object that has _asyncio. That
 *         is an extension module, loaded when asyncio is imported, or the interpreter.
 */
#ifndef UNWIND_TASKS_ASYNCIO_H
#define UNWIND_TASKS_ASYNCIO_H

#include "unwind/stack/chain.h"
#include "unwind/tasks/tasklist.h"
#include "unwind/tasks/waiters.h"

struct asyncio {
    cpy_addr table;              /* 0: not found */
    uint64_t samples, next_look; /* in samples of the target */
    uint64_t wait;               /* samples between looks: doubles up to a bound */
    struct kinds kinds;
    struct tasklist list;
    struct chain *chain;     /* owned; NULL until the first task is read */
    struct waiters *waiters; /* owned; the same */
    struct buf name;         /* owned: scratch: the name of the task that is read, */
    struct buf name_again;   /* owned: and when it was read once more */
    enum kind name_kind;     /* KIND_OTHER: it has none */
};

void asyncio_init(struct asyncio *asyncio);
void asyncio_finish(struct asyncio *asyncio);

/* Where to look. */
struct asyncio_place {
    struct mem *mem;
    int proc_fd; /* the process's /proc directory; -1: an image, which says it itself */
    cpy_addr runtime;
};

/* In an image, the word here is where the table lies. No process has anything there. */
#define ASYNCIO_IN_IMAGE UINT64_C(0)

/* Looks for the table and adds it to the layout; nothing changes where there is none. */
void asyncio_look(struct asyncio *asyncio, const struct asyncio_place *place,
                  struct layout *layout);

/* The same at each sample, but ever more rarely. */
void asyncio_next_sample(struct asyncio *asyncio, const struct asyncio_place *place,
                         struct layout *layout);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asyncio.h - finds out how the asyncio of a target lays out its tasks, and holds what reading
 * tasks needs from one sample to the next.
 *
 * The folder unwind/tasks/ knows asyncio's structures: the lists of tasks and the tasks that wait
 * for each other. It does not know in which order a sample reads them (task.h, cpy_tasks).
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

/*
 * Cache: where asyncio's table of offsets lies, and kinds of types
 * Key:   none: one for a process
 * Ends:  with the target: extension modules are never unmapped
 * Test:  tests/unit/unwind/test_tasks.c: takes_the_words_of_an_asyncio_debug_table
 */
struct asyncio {
    cpy_addr table;              /* address of the table; 0: not found */
    uint64_t samples, next_look; /* asyncio_next_sample calls: so far, and at the next look */
    uint64_t wait;               /* samples between two looks: doubles up to a bound */
    uint64_t wait_min;           /* least `wait`: lines of the memory map, which a look reads */
    struct kinds kinds;          /* of the objects that tasks wait in */
    struct tasklist list;        /* scratch: the list of tasks that is being read */
    struct chain *chain;         /* owned; NULL until the first task is read */
    struct waiters *waiters;     /* owned; NULL until the first task is read */
    struct buf name;             /* owned: scratch: name of the current task */
    struct buf name_again;       /* owned: scratch: the same, read a second time */
    enum kind name_kind;         /* type of the current task's name; KIND_OTHER: it has none */
};

void asyncio_init(struct asyncio *asyncio);
void asyncio_finish(struct asyncio *asyncio);

/* The process in which to look. */
struct asyncio_process {
    struct mem *mem;
    int proc_fd;      /* its /proc directory; -1: a memory image, see ASYNCIO_IN_IMAGE */
    cpy_addr runtime; /* address of _PyRuntime */
};

/* Where a memory image has the address of the table. No process maps this address. */
#define ASYNCIO_IN_IMAGE UINT64_C(0)

/* Looks for the table and adds it to the layout. Nothing changes if there is none. */
void asyncio_look(struct asyncio *asyncio, const struct asyncio_process *process,
                  struct layout *layout);

/* To be called in each sample with tasks: calls asyncio_look, at growing intervals, until the table
 * is found. */
void asyncio_next_sample(struct asyncio *asyncio, const struct asyncio_process *process,
                         struct layout *layout);

#endif

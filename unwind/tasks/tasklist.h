/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasklist.h - lists the asyncio tasks of a thread, or those whose thread has ended.
 *
 * The tasks are in a ring of nodes that changes while it is read. A step from one node to
 * the next is valid only if the next points back. If it does not, a task was removed, and
 * reading continues from the last node that is still linked. So all tasks that stay are
 * found, and none is found twice.
 *
 * Source: Modules/_asynciomodule.c and Include/internal/pycore_llist.h, tag v3.14.0.
 */
#ifndef UNWIND_TASKS_TASKLIST_H
#define UNWIND_TASKS_TASKLIST_H

#include "unwind/objects/object.h"

enum { TASKS_MAX = 65536 }; /* tasks of one list; further ones are left out */

struct tasklist {
    cpy_addr *nodes; /* owned: addresses in the target */
    size_t count, capacity;
};

void tasklist_init(struct tasklist *list);
void tasklist_finish(struct tasklist *list);

/*
 * Lists the nodes of the ring that begins and ends at `head`, in the order of the list.
 * Errors: CPY_RACED: it changes all the time, or is no ring; CPY_NOMEM; those of mem_read.
 */
MUST_CHECK enum cpy_rc tasklist_read(struct tasklist *list, const struct reader *reader,
                                     cpy_addr head);

/* Serialise the list: number of bytes, write them, and read them back (CPY_NOMEM). */
size_t tasklist_bytes(const struct tasklist *list);
void tasklist_put(const struct tasklist *list, void *bytes);
MUST_CHECK enum cpy_rc tasklist_take(struct tasklist *list, const void *bytes);

/* Adds a node, unless it is in the list or the list has `most` nodes: CPY_OK, too. */
MUST_CHECK enum cpy_rc tasklist_add(struct tasklist *list, cpy_addr node, size_t most);

#endif

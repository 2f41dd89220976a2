/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descendants.h - the processes that one process, the root, has started, directly or indirectly.
 * Orphans count, too, although /proc shows another parent for them.
 *
 * DESCENT_SURE:   the chain of parents leads to the root, or did in descendants_new; the kernel has
 *                 reported that a descendant started it; or a descendant leads its session.
 * DESCENT_LIKELY: an orphan in the process group of the root or of a descendant, because rarely
 *                 another process joins it. (The programs of a pipeline share one, too.)
 * Not found is an orphan in another session, if it was started before descendants_new or the kernel
 * reports nothing.
 *
 * Cache: pids of the descendants
 * Key:   pid
 * Ends:  when the kernel reports that another parent started a process with that pid, when the
 *        start time differs, or when the process has ended and the table is full
 * Test:  tests/unit/discover/test_descendants.c: forgets_a_number_that_another_parent_uses_again
 */
#ifndef AGENT_DISCOVER_DESCENDANTS_H
#define AGENT_DISCOVER_DESCENDANTS_H

#include "agent/proc/proc.h"

enum { DESCENDANTS_MAX = 4096 };

enum descent { DESCENT_NONE, DESCENT_LIKELY, DESCENT_SURE };

struct descendants;

/* Gives: the descendants of process `root`, ended with descendants_free; NULL: out of memory.
 * Cost:  looks at each process of the host once. */
MUST_CHECK struct descendants *descendants_new(pid_t root);

/* Reads the kernel's reports since the last call. Call it about once a second. */
void descendants_update(struct descendants *descendants);

/* Tells whether process `pid` descends from the root; `stat` is that process's. Updates first. A
 * process that was LIKELY once is SURE in later calls, and so are its children. */
MUST_CHECK enum descent descendants_find(struct descendants *descendants, pid_t pid,
                                         const struct proc_stat *stat);

/* True if the kernel has reported each process that was started since descendants_new. */
MUST_CHECK bool descendants_are_reported(const struct descendants *descendants);

/* For tests: a process was started. */
void descendants_note(struct descendants *descendants, pid_t parent, pid_t child);

/* Frees it. NULL is fine. */
void descendants_free(struct descendants *descendants);

#endif

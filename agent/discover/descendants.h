/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descendants.h - the processes that one process has started, directly or not, also those whose
 * parent has ended since: /proc says then that they are another's.
 *
 * Known for sure is a process whose chain of parents leads to the one, or led there when
 * descendants_new looked; one that the kernel reported when such a process started it; and one in a
 * session that a descendant leads. Likely is an orphan in the
 * process group of the one or of a descendant: who but a descendant has joined it? (A shell puts
 * the programs of a pipeline into one group: one of these, whose shell has ended, looks the same.)
 * Not known is an orphan of another session that was started before descendants_new, or where the
 * kernel reports nothing.
 *
 * Cache: pids of the descendants
 * Key:   pid
 * Ends:  when the kernel reports that another parent started a process of that number, or the start
 *        time is another
 * Test:  tests/unit/discover/test_descendants.c: forgets_a_number_that_another_parent_uses_again
 */
#ifndef AGENT_DISCOVER_DESCENDANTS_H
#define AGENT_DISCOVER_DESCENDANTS_H

#include "agent/proc/proc.h"

enum { DESCENDANTS_MAX = 4096 };

enum descent { DESCENT_NONE, DESCENT_LIKELY, DESCENT_SURE };

struct descendants;

/* Gives: the descendants of a process, ended with descendants_free; NULL: out of memory. Cost: it
 * looks at each process of the host once. */
MUST_CHECK struct descendants *descendants_new(pid_t root);

/* Reads what the kernel has reported since; to be called about once a second. */
void descendants_update(struct descendants *descendants);

/* Whether a process descends from the one; `stat` is its own. Updates first. What is likely is
 * noted, and given as sure from then on, as are its children. */
MUST_CHECK enum descent descendants_find(struct descendants *descendants, pid_t pid,
                                         const struct proc_stat *stat);

/* True if the kernel has reported each process that was started since descendants_new. */
MUST_CHECK bool descendants_are_reported(const struct descendants *descendants);

/* For tests: a process was started. */
void descendants_note(struct descendants *descendants, pid_t parent, pid_t child);

/* Frees it. NULL is fine. */
void descendants_free(struct descendants *descendants);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refused.h - processes that were meant to be sampled, and could not be read: what a profile lacks.
 *
 * A process that is sampled later, or turns out to be none that can be, is taken off the list; one
 * that has ended stays on it.
 */
#ifndef AGENT_SAMPLING_REFUSED_H
#define AGENT_SAMPLING_REFUSED_H

#include "agent/proc/proc.h"
#include "agent/proc/ptrace_access.h"

enum { REFUSED_MAX = 64, REFUSED_COMMAND_MAX = 80 };

struct refused_process {
    struct proc_id id;
    enum ptrace_access access;         /* what keeps us from it */
    char command[REFUSED_COMMAND_MAX]; /* its command line, cut; may hold any bytes */
};

struct refused {
    struct refused_process list[REFUSED_MAX];
    size_t count;
    bool more; /* there were others, which the list has no room for */
};

/* Notes that a process cannot be read; once, how often ever it is tried. */
void refused_note(struct refused *refused, struct proc_id id, enum ptrace_access access);

/* Takes a process off the list, if it is on it. */
void refused_forget(struct refused *refused, struct proc_id id);

#endif

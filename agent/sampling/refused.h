/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refused.h - list of processes that should be sampled but could not be read: profiles lack them.
 *
 * A process is taken off the list when it is sampled after all, or when a later try fails for
 * another reason: it runs no known Python, say. A process that has ended stays on the list.
 */
#ifndef AGENT_SAMPLING_REFUSED_H
#define AGENT_SAMPLING_REFUSED_H

#include "agent/proc/proc.h"
#include "agent/proc/ptrace_access.h"

enum { REFUSED_MAX = 64, REFUSED_COMMAND_MAX = 80 };

struct refused_process {
    struct proc_id id;
    enum ptrace_access access;         /* the obstacle, at the last try */
    char command[REFUSED_COMMAND_MAX]; /* its command line, cut; any bytes; "": not known */
};

struct refused {
    struct refused_process list[REFUSED_MAX];
    size_t count;
    bool more; /* there were others, for which the list has no room */
};

/* Lists a process, or updates it if it is listed. Nothing for PTRACE_ACCESS_GONE and _NONE. */
void refused_note(struct refused *refused, struct proc_id id, enum ptrace_access access);

/* Takes a process off the list, if it is on it. */
void refused_forget(struct refused *refused, struct proc_id id);

#endif

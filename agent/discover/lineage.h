/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lineage.h - the service name of a process below `pystrobe exec`: that of the Python program which
 * started it.
 *
 * Threads: one.
 */
#ifndef AGENT_DISCOVER_LINEAGE_H
#define AGENT_DISCOVER_LINEAGE_H

#include "agent/discover/proc_info.h"

/*
 * Writes a process's service name. Of the process and its ancestors below `root`, the topmost that
 * runs Python gives the name. If none runs Python, the process keeps the name of its own program,
 * which may embed Python. Afterwards `info` may be of an ancestor.
 *
 * Gives: false: it has no name now, because it is a shell or another launcher, or execs just now.
 */
MUST_CHECK bool lineage_name(struct proc_info *info, pid_t pid, pid_t root, char *out, size_t size);

#endif

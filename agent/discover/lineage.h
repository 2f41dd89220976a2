/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lineage.h - what a process below `pystrobe exec` is called: as the program is that it comes from.
 *
 * Threads: one, as the facts are.
 */
#ifndef AGENT_DISCOVER_LINEAGE_H
#define AGENT_DISCOVER_LINEAGE_H

#include "agent/discover/proc_info.h"

/*
 * Writes the name of what the topmost Python below `root` runs, of those that the process has above
 * it, or is. Where there is none it may be a program that has a Python built in, with the name of
 * its own. `facts` are of another process afterwards.
 *
 * Gives: false: it is a shell or the like, which will run another program or start one; or it is
 *        just becoming another program.
 */
MUST_CHECK bool lineage_name(struct proc_info *info, pid_t pid, pid_t root, char *out, size_t size);

#endif

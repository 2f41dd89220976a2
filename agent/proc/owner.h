/* SPDX-License-Identifier: Apache-2.0 */
/* owner.h - whom a process belongs to, for limits that one process cannot escape by forking. */
#ifndef AGENT_PROC_OWNER_H
#define AGENT_PROC_OWNER_H

#include <stdint.h>
#include <sys/types.h>

/* A hash of the real user and the cgroup of a process; of those that can be read, never 0.
 * Cost: reads two files of /proc, neither of which can block. */
uint64_t proc_owner(pid_t pid);

#endif

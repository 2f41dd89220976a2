/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.h - the owner of a process, for limits per owner. An owner cannot escape them by making
 * more processes, cgroups or users of a namespace. The owner of a process is:
 *
 *   in the slice of a user (systemd's user-UID.slice)   that slice; root's processes in it have an
 *                                                       owner of their own
 *   in a container                                      the container
 *   else                                                the real user and the cgroup
 *
 * Slice and container include all cgroups below them, because processes there may make cgroups.
 * Data that a process can choose itself, such as its environment, does not count.
 *
 * Source:  systemd.special(7), cgroups(7); cgroup.h.
 */
#ifndef AGENT_PROC_OWNER_H
#define AGENT_PROC_OWNER_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/proc/cgroup.h"

/* Hash of the owner of a process with this real user and cgroup; never 0. */
uint64_t owner_hash(uid_t user, const struct cgroup *cgroup);

/* The same for process `pid`; 0: its user or cgroup cannot be read.
 * Cost: reads two files of /proc, neither of which can block. */
uint64_t proc_owner(pid_t pid);

#endif

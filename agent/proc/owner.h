/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.h - whom a process belongs to, for limits that nobody escapes by making more processes,
 * cgroups or users of a namespace.
 *
 *   in the slice of a user (systemd's user-UID.slice)   that slice, root's processes in it apart
 *   in a container                                      the container
 *   else                                                the real user and the cgroup
 *
 * The first two hold all cgroups below: who is in them may make as many there as they like. Nothing
 * that a process says of itself, such as its environment, counts.
 *
 * Source:  systemd.special(7), cgroups(7); cgroup.h.
 */
#ifndef AGENT_PROC_OWNER_H
#define AGENT_PROC_OWNER_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/proc/cgroup.h"

/* A hash of the owner of processes of a user in a cgroup; never 0. */
uint64_t owner_hash(uid_t user, const struct cgroup *cgroup);

/* The same of a process; 0 for what cannot be read of it.
 * Cost: reads two files of /proc, neither of which can block. */
uint64_t proc_owner(pid_t pid);

#endif

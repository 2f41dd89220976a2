/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespaces.h - the namespaces that pystrobe runs in: the host's, or those of a container.
 *
 * Threads: any.
 * Source:  include/linux/proc_ns.h of the kernel: the inode numbers of the initial namespaces are
 * part of its interface; user_namespaces(7), pid_namespaces(7).
 */
#ifndef AGENT_PROC_NAMESPACES_H
#define AGENT_PROC_NAMESPACES_H

#include <stdbool.h>
#include <sys/types.h>

/* True if our user namespace, or pid namespace, is the host's. */
bool namespaces_are_hosts_users(void);
bool namespaces_are_hosts_processes(void);

/* True if /proc shows our own pid namespace, so that its pids fit kill() and process_vm_readv. */
bool namespaces_have_own_proc(void);

/*
 * True if the process has the same uid_map as we have, and so probably our user namespace. True
 * also if the map cannot be read, which is rare: it needs no rights.
 */
bool namespaces_share_users(pid_t pid);

enum { NAMESPACES_LABEL_MAX = 128 };

/* Writes the process's label of a security module, such as "docker-default (enforce)"; "": none. */
void namespaces_label(pid_t pid, char out[NAMESPACES_LABEL_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespaces.h - where pystrobe runs: on the host, or in namespaces that show it a part of it only.
 *
 * Threads: any.
 * Source:  include/linux/proc_ns.h of the kernel, whose first namespaces have numbers that are
 *          part of its interface; user_namespaces(7), pid_namespaces(7).
 */
#ifndef AGENT_PROC_NAMESPACES_H
#define AGENT_PROC_NAMESPACES_H

#include <stdbool.h>
#include <sys/types.h>

/* True if the namespace of that kind is the first one, the host's. */
bool namespaces_are_hosts_users(void);
bool namespaces_are_hosts_processes(void);

/* True if what /proc shows as a number is the same process to kill() and process_vm_readv. */
bool namespaces_have_own_proc(void);

/*
 * True if the process is in our user namespace, as far as its map of ids shows: this can be read
 * where nothing else of the process can.
 */
bool namespaces_share_users(pid_t pid);

enum { NAMESPACES_LABEL_MAX = 128 };

/* What a security module calls the process, such as "docker-default (enforce)"; "": nothing. */
void namespaces_label(pid_t pid, char out[NAMESPACES_LABEL_MAX]);

#endif

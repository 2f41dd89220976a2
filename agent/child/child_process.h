/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/child: knows processes of our own: start, deadline, heartbeat, messages, fewer
 * rights, end. Does not know what these processes do.
 *
 * child_process.h - a process of pystrobe's own that may crash or hang: start, check, kill.
 *
 * It is this program with another subcommand, so it has a new memory layout and none of its
 * parent's memory. It gets /dev/null, our stderr, one end of a channel (CHILD_PROCESS_CHANNEL_FD)
 * and a struct heartbeat in shared memory (CHILD_PROCESS_HEARTBEAT_FD).
 *
 * Shape:   child_process_start; ipc_channel_send and ipc_channel_receive on child->channel;
 *          child_process_look now and then; child_process_end, which takes no longer than the
 *          kernel needs to kill it.
 * Threads: one; the parent may have others when it starts a child.
 */
#ifndef AGENT_CHILD_CHILD_PROCESS_H
#define AGENT_CHILD_CHILD_PROCESS_H

#include <spawn.h>

#include "agent/child/heartbeat.h"
#include "agent/child/ipc_channel.h"

enum { CHILD_PROCESS_CHANNEL_FD = 3, CHILD_PROCESS_HEARTBEAT_FD = 4 };

struct child_process {
    pid_t pid; /* 0: none runs */
    int pidfd; /* owned: readable once it has ended; -1: the kernel has no pidfds */
    struct ipc_channel channel;
    struct heartbeat *heartbeat; /* owned mapping, shared with the child */
    uint64_t started_ns;
    uint64_t turns, turned_ns; /* heartbeat turns as last seen; monotonic: last change */
    uint64_t blocked_ns;       /* start of the read that looked blocked; 0: none */
};

/* State of a child. */
enum child_process_look {
    CHILD_PROCESS_WELL,
    CHILD_PROCESS_BLOCKED, /* it reads heartbeat->pid and the read does not return */
    CHILD_PROCESS_SILENT   /* it is stopped, or hangs elsewhere */
};

/*
 * Starts `program` with `argv`. On failure *child is all zero.
 *
 * Gives:  false: `err` says why.
 */
MUST_CHECK bool child_process_start(struct child_process *child, const char *program,
                                    char *const *argv, uint64_t now_ns, struct err *err);

/*
 * Checks the child. Separates a child that is blocked in the kernel by the process that it reads
 * from one that gets no CPU time. CHILD_PROCESS_BLOCKED needs two calls in a row.
 *
 * Cost: reads shared memory; /proc only if something looks wrong.
 */
enum child_process_look child_process_look(struct child_process *child, uint64_t now_ns);

/* The process that the child reads now, by its heartbeat; 0: none. */
pid_t child_process_reads(const struct child_process *child);

/*
 * Exit status of the child, or 128 + the signal that killed it. -1: it still runs, also after a
 * short wait; -2: not known, because another part of this process has reaped it.
 */
int child_process_status(struct child_process *child);

/*
 * Starts a process of ours with these files: in a group of its own, with all signals at their
 * defaults and none blocked, and just what it needs of our environment, as the rest may hold
 * secrets. Gives errno.
 */
MUST_CHECK int child_process_spawn(pid_t *pid, const char *program, char *const *argv,
                                   const posix_spawn_file_actions_t *files);

/* Kills it if it runs still, and frees what belongs to it. NULL pointers and zeros are fine. */
void child_process_end(struct child_process *child);

#endif

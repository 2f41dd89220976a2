/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/child: knows processes of our own: start, deadline, heartbeat, messages, fewer
 * rights, end. Does not know what these processes do.
 *
 * child_process.h - a process of pystrobe's own that can be lost: started, watched and killed.
 *
 * It is this program again with another command, so it has a fresh memory layout and nothing of
 * what its parent knows. It gets /dev/null, our stderr, one end of a link
 * (CHILD_PROCESS_CHANNEL_FD) and a struct heartbeat (CHILD_PROCESS_HEARTBEAT_FD).
 *
 * Shape:   child_process_start; ipc_channel_send and ipc_channel_receive on helper.link;
 * child_process_look now and then; child_process_end, which takes no longer than the kernel needs
 * to kill it. Threads: one; others may run in the parent when a helper is started.
 */
#ifndef AGENT_CHILD_CHILD_PROCESS_H
#define AGENT_CHILD_CHILD_PROCESS_H

#include <spawn.h>

#include "agent/child/heartbeat.h"
#include "agent/child/ipc_channel.h"

enum { CHILD_PROCESS_CHANNEL_FD = 3, CHILD_PROCESS_HEARTBEAT_FD = 4 };

struct child_process {
    pid_t pid; /* 0: it does not run */
    int pidfd; /* owned: tells its end, as the link does, too; -1: the kernel has none */
    struct ipc_channel channel;
    struct heartbeat *heartbeat; /* owned mapping, which both processes see */
    uint64_t started_ns;
    uint64_t turns, turned_ns; /* its turns as last seen, and when they were others */
    uint64_t blocked_ns;       /* the read that it was seen blocked in; 0: none */
};

/* How a helper is found. */
enum child_process_look {
    CHILD_PROCESS_WELL,
    CHILD_PROCESS_BLOCKED, /* it reads beat->pid and does not come back from it */
    CHILD_PROCESS_SILENT   /* it was stopped, or hangs in something else */
};

/*
 * Starts `program` with `argv`; all zero but for that on failure.
 *
 * Gives:  false: `err` says why.
 */
MUST_CHECK bool child_process_start(struct child_process *child, const char *program,
                                    char *const *argv, uint64_t now_ns, struct err *err);

/*
 * Tells one that is blocked in the kernel, by what it reads, from one that gets no CPU.
 * CHILD_PROCESS_BLOCKED needs two looks in a row.
 *
 * Cost: reads shared memory; /proc only if something looks wrong.
 */
enum child_process_look child_process_look(struct child_process *child, uint64_t now_ns);

/* The process that it reads now; 0: none. */
pid_t child_process_reads(const struct child_process *child);

/*
 * How it ended: its exit status, 128 + the signal that killed it; -1: it runs still, also a
 * moment later; -2: not known, as somebody else has reaped it.
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/child: knows processes of our own: start, deadline, heartbeat, messages, fewer
 * rights, end. Does not know what these processes do.
 *
 * child_process.h - a process of pystrobe's own that may crash or hang: start, check, kill, reap.
 *
 * It is this program with another subcommand, so it has a new memory layout and none of its
 * parent's memory, and a read of a target that hangs can be killed with it. It is started with a
 * message channel or with its output captured. One that needs our memory is forked.
 *
 * No call waits for a process to end but with a deadline. One that does not end at once when it is
 * killed (it is blocked in the kernel, state D) stays in a table until a later call of
 * child_process_reap finds that it has ended. While the table is full no child starts.
 *
 * Shape:   child_process_start; ipc_channel_send and ipc_channel_receive on child->channel;
 *          child_process_look now and then; child_process_end. Or child_process_fork,
 *          child_process_wait and child_process_end. Or child_process_run, or
 *          child_process_start_captured and child_process_capture until it has ended.
 *          child_process_reap now and then.
 * Threads: a child belongs to one thread, of which there may be several; child_process_reap and the
 *          functions below it may be called from any.
 */
#ifndef AGENT_CHILD_CHILD_PROCESS_H
#define AGENT_CHILD_CHILD_PROCESS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "agent/child/blocked_read.h"
#include "agent/child/heartbeat.h"
#include "agent/child/ipc_channel.h"

enum { CHILD_PROCESS_CHANNEL_FD = 3, CHILD_PROCESS_HEARTBEAT_FD = 4 };

/* Children that are not reaped. The web server's clients, each with one, and the samplers need
 * fewer. */
enum { CHILD_PROCESS_MAX = 64 };

/* Of one owner (owner.h) no process is read while so many children that its processes block do not
 * end. */
enum { CHILD_PROCESS_OWNER_MAX = 3 };

/* The file that this process was started from. The kernel holds it as a descriptor would: an
 * upgrade that renames a new file to its name, or removes it, leaves us the children of our own
 * build. */
#define CHILD_PROCESS_SELF "/proc/self/exe"

struct child_process {
    pid_t pid; /* 0: none runs */
    int pidfd; /* owned: readable once it has ended; -1: the kernel has no pidfds */
    struct ipc_channel channel;
    struct heartbeat *heartbeat; /* owned mapping, shared with the child; NULL if captured */
    int output_fd;               /* owned: its output, if captured; -1: closed */
    uint64_t deadline_ns;        /* monotonic: killed at the first child_process_capture after it */
    uint64_t started_ns;
    uint64_t turns, turned_ns; /* heartbeat turns as last seen; monotonic: last change */
    struct blocked_read seen;  /* of the read that runs, or of one before */
    uint64_t blamed;           /* set before child_process_end: the owner (owner.h) of the process
                                * that blocks it; 0: none */
};

/* State of a child. */
enum child_process_look {
    CHILD_PROCESS_WELL,
    CHILD_PROCESS_BLOCKED, /* it reads heartbeat->pid and the read does not return */
    CHILD_PROCESS_SILENT   /* it is stopped, or hangs elsewhere */
};

/*
 * Starts `program` with `argv`. It gets /dev/null, our stderr, one end of a channel
 * (CHILD_PROCESS_CHANNEL_FD) and a struct heartbeat in shared memory (CHILD_PROCESS_HEARTBEAT_FD).
 * On failure there is nothing to end.
 *
 * Gives:  false: `err` says why.
 */
MUST_CHECK bool child_process_start(struct child_process *child, const char *program,
                                    char *const *argv, uint64_t now_ns, struct err *err);

/*
 * Checks the child. Separates a child that is blocked in the kernel by the process that it reads
 * from one that gets no CPU time, as blocked_read.h says; that takes several calls.
 *
 * Cost: reads shared memory; two files of /proc only if something looks wrong.
 */
enum child_process_look child_process_look(struct child_process *child, uint64_t now_ns);

/* True if the child reads nothing now. */
bool child_process_rests(const struct child_process *child);

/* The process that the child reads now, by its heartbeat; 0: none. */
pid_t child_process_reads(const struct child_process *child);

/*
 * Forks a process that calls `run` and exits with status 0 unless `run` has exited. It is ended as
 * the others. On failure there is nothing to end. Gives errno.
 */
MUST_CHECK int child_process_fork(struct child_process *child, void (*run)(void *ctx), void *ctx);

/* Exit status of the child, or 128 + the signal that killed it; or one of the following. */
int child_process_status(const struct child_process *child);
enum {
    CHILD_PROCESS_STATUS_RUNS = -1,   /* it has not ended */
    CHILD_PROCESS_STATUS_UNKNOWN = -2 /* another part of this process has reaped it */
};

/* The same, once the child has ended or the deadline is over. Cost: waits up to 200 ms more. */
int child_process_wait(const struct child_process *child, uint64_t deadline_ns);

struct child_process_command {
    const char *program;      /* borrowed: CHILD_PROCESS_SELF, or a name that PATH leads to */
    char *const *argv;        /* borrowed */
    bool errors;              /* capture its standard error, too */
    char *const *environment; /* borrowed; NULL: only what a process of our own needs of ours */
    uint64_t blamed;          /* owner of the process that it reads; 0: none */
};

/* When to kill it. */
struct child_process_limits {
    uint64_t deadline_ns; /* monotonic */
    atomic_bool *stop;    /* borrowed: as soon as it is true; NULL: only at the deadline */
};

/* State of a child whose output is captured. */
enum child_process_capture {
    CHILD_PROCESS_RUNS,
    CHILD_PROCESS_DONE,  /* it has exited with status 0, and its output is complete */
    CHILD_PROCESS_FAILED /* it failed, or was killed: at its deadline, or when `out` was full */
};

/* Starts a command with its output captured. On failure there is nothing to end. Gives errno. */
MUST_CHECK int child_process_start_captured(struct child_process *child,
                                            const struct child_process_command *command,
                                            uint64_t deadline_ns);

/*
 * Appends the output that is there to `out`. Ends the child unless it gives CHILD_PROCESS_RUNS.
 * What processes that the child has started write after its end is not read.
 *
 * Cost: never waits; reads up to 1 MiB.
 */
MUST_CHECK enum child_process_capture child_process_capture(struct child_process *child,
                                                            uint64_t now_ns, struct buf *out);

/*
 * Runs a command and appends its output to `out`. Kills it at its limits, and when `out` is full.
 *
 * Errors: false and errno; 0: it failed by itself; ETIMEDOUT: it was killed at a limit; EFBIG: it
 *         was killed because `out` was full; others: it could not be started.
 * Cost:   waits up to the deadline.
 */
MUST_CHECK bool child_process_run(const struct child_process_command *command,
                                  const struct child_process_limits *limits, struct buf *out);

/* Closes its channel and kills it, so that child_process_status tells of its end soon. One that is
 * exiting keeps its exit status. */
void child_process_hang_up(struct child_process *child);

/* Kills it if it runs still, and frees what belongs to it. NULL pointers and zeros are fine. Only
 * the direct child is killed: the process that holds a target for a dump has to let it go. */
void child_process_end(struct child_process *child, uint64_t now_ns);

/* Reaps the killed children that have ended. Gives how many were killed a second ago or earlier
 * and have not. */
size_t child_process_reap(uint64_t now_ns);

/* True if that process is a child that is not reaped. */
bool child_process_is_ours(pid_t pid);

/* How many killed children have not ended; the second: those that this owner's processes block. */
size_t child_process_left(void);
size_t child_process_left_by(uint64_t owner);

/* True if processes of this owner block CHILD_PROCESS_OWNER_MAX of these: no other one of it is to
 * be read. */
bool child_process_refuses(uint64_t owner);

/* The CPU time so far of captured commands, or of all other children.
 * Cost: two short system calls for each that is not reaped. */
uint64_t child_process_cpu_ns(bool captured);

/* Gives how many children run that were not killed, and their processes: captured commands, or the
 * others. */
size_t child_process_running(pid_t out[CHILD_PROCESS_MAX], bool captured);

#endif

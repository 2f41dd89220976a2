/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/child: knows child processes of pystrobe: start, deadline, heartbeat, messages,
 * fewer rights, end. Does not know what these processes do.
 *
 * child_process.h - a child process that may crash or hang: start, check, kill, reap.
 *
 * It is usually this program with another subcommand, so it has a new memory layout and none of its
 * parent's memory. A read of a target that hangs can be killed with it. It has a message channel,
 * or its output is captured. A child that needs our memory is forked.
 *
 * No call waits for a process without a deadline. A killed child that is blocked in the kernel
 * (state D) does not end at once. It stays in a table until a later call of child_process_reap
 * finds that it has ended. While the table is full no child starts.
 *
 * Shape:   child_process_start; ipc_channel_send and ipc_channel_receive on child->channel;
 *          child_process_look now and then; child_process_end. Or child_process_fork,
 *          child_process_wait and child_process_end. Or child_process_run, or
 *          child_process_start_captured and child_process_capture until it has ended.
 *          child_process_reap now and then.
 * Threads: one thread uses a struct child_process; several threads may have children.
 *          child_process_reap and the functions below it may be called from any thread.
 */
#ifndef AGENT_CHILD_CHILD_PROCESS_H
#define AGENT_CHILD_CHILD_PROCESS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "agent/child/blocked_read.h"
#include "agent/child/heartbeat.h"
#include "agent/child/ipc_channel.h"

/* Descriptor numbers in a child of child_process_start. */
enum { CHILD_PROCESS_CHANNEL_FD = 3, CHILD_PROCESS_HEARTBEAT_FD = 4 };

/* Most children that are not reaped. All samplers and web requests together need fewer. */
enum { CHILD_PROCESS_MAX = 64 };

/* Most killed children that processes of one owner (owner.h) still block: child_process_refuses. */
enum { CHILD_PROCESS_OWNER_MAX = 3 };

/* The file that this process was started from. The kernel keeps that file open, so children are of
 * our own build even after an upgrade has replaced or removed it. */
#define CHILD_PROCESS_SELF "/proc/self/exe"

struct child_process {
    pid_t pid; /* 0: none runs */
    int pidfd; /* owned: readable once it has ended; -1: the kernel has no pidfds */
    struct ipc_channel channel;  /* owned: our end; a caller that forks may set its own */
    struct heartbeat *heartbeat; /* owned mapping, shared with the child; NULL: captured, forked */
    int output_fd;               /* owned: its output, if captured; -1: closed */
    uint64_t deadline_ns;        /* monotonic: killed at the first child_process_capture after it */
    uint64_t started_ns;         /* monotonic; 0 if captured or forked */
    uint64_t turns, turned_ns;   /* heartbeat->turns at the last look; monotonic: its last change */
    struct blocked_read seen;    /* looks at the present read, or at an earlier one */
    uint64_t blamed;             /* set before child_process_end: the owner (owner.h) of the process
                                  * that blocks it; 0: none */
};

/* State of a child. */
enum child_process_look {
    CHILD_PROCESS_WELL,    /* it works, or has ended, which `pidfd` tells */
    CHILD_PROCESS_BLOCKED, /* it reads heartbeat->pid and the read does not return */
    CHILD_PROCESS_SILENT   /* it is stopped, or hangs elsewhere */
};

/*
 * Starts `program` with `argv`. The child's stdin and stdout are /dev/null, its stderr is ours. It
 * gets one end of a channel (CHILD_PROCESS_CHANNEL_FD) and a struct heartbeat in shared memory
 * (CHILD_PROCESS_HEARTBEAT_FD).
 *
 * Errors: false: `err` says why; there is nothing to end.
 */
MUST_CHECK bool child_process_start(struct child_process *child, const char *program,
                                    char *const *argv, uint64_t now_ns, struct err *err);

/*
 * Checks a child of child_process_start. A sleeping child is BLOCKED only after several calls, as
 * blocked_read.h says: it may only lack CPU time.
 *
 * Cost: reads shared memory; two files of /proc only if something looks wrong.
 */
enum child_process_look child_process_look(struct child_process *child, uint64_t now_ns);

/* True if the child reads no process now, by its heartbeat. */
bool child_process_rests(const struct child_process *child);

/* The process that the child reads now, by its heartbeat; 0: none. */
pid_t child_process_reads(const struct child_process *child);

/*
 * Forks a child that calls `run`, then exits with status 0 unless `run` itself exits. Gives 0; or
 * errno, with nothing to end. EBUSY: the table is full.
 */
MUST_CHECK int child_process_fork(struct child_process *child, void (*run)(void *ctx), void *ctx);

/* Exit status of the child, or 128 + the signal that killed it; or one of the following. */
int child_process_status(const struct child_process *child);
enum {
    CHILD_PROCESS_STATUS_RUNS = -1,   /* it has not ended */
    CHILD_PROCESS_STATUS_UNKNOWN = -2 /* another part of this process has reaped it */
};

/* The same after a wait, until the child has ended or `deadline_ns` (monotonic) plus 200 ms. */
int child_process_wait(const struct child_process *child, uint64_t deadline_ns);

struct child_process_command {
    const char *program;      /* borrowed: CHILD_PROCESS_SELF, or a name that PATH leads to */
    char *const *argv;        /* borrowed; NULL after the last */
    bool errors;              /* capture its standard error, too; false: it is /dev/null */
    char *const *environment; /* borrowed; NULL: LD_LIBRARY_PATH and sanitizer options of ours */
    uint64_t blamed;          /* owner (owner.h) of the process that it reads; 0: none */
};

/* When to kill it. */
struct child_process_limits {
    uint64_t deadline_ns; /* monotonic */
    atomic_bool *stop;    /* borrowed: kill within 200 ms once it is true; NULL: only deadline_ns */
};

/* State of a child whose output is captured. */
enum child_process_capture {
    CHILD_PROCESS_RUNS,
    CHILD_PROCESS_DONE,  /* it has exited with status 0, and its output is complete */
    CHILD_PROCESS_FAILED /* it failed, or was killed: at its deadline, or when `out` was full */
};

/* Starts a command with its output captured. Gives 0 or errno; EBUSY: the table is full. On failure
 * there is nothing to end. */
MUST_CHECK int child_process_start_captured(struct child_process *child,
                                            const struct child_process_command *command,
                                            uint64_t deadline_ns);

/*
 * Appends the output that is there to `out`. Ends the child unless it returns CHILD_PROCESS_RUNS.
 * Output that the child's own children write after its end is not read.
 *
 * Cost: never waits; reads up to 1 MiB.
 */
MUST_CHECK enum child_process_capture child_process_capture(struct child_process *child,
                                                            uint64_t now_ns, struct buf *out);

/*
 * Runs a command and appends its output to `out`. Kills it at its limits, and when `out` is full.
 *
 * Errors: false and errno. 0: the command failed; ETIMEDOUT: it was killed at a limit; EFBIG: it
 *         was killed because `out` was full; others: it could not be started.
 * Cost:   waits up to the deadline, and up to 200 ms longer.
 */
MUST_CHECK bool child_process_run(const struct child_process_command *command,
                                  const struct child_process_limits *limits, struct buf *out);

/* Closes the channel and kills the child, so that child_process_status soon reports its end. A
 * child that already exits keeps its exit status. Call child_process_end afterwards. */
void child_process_hang_up(struct child_process *child);

/* Kills the child if it still runs, and frees the fields of *child; a zeroed one is fine. The
 * child's own children are not killed: the one that stops a target for a dump must resume it. */
void child_process_end(struct child_process *child, uint64_t now_ns);

/* Reaps the killed children that have ended. Gives the number of those that were killed at least
 * one second ago and have not ended. */
size_t child_process_reap(uint64_t now_ns);

/* True if that process is a child that is not reaped. */
bool child_process_is_ours(pid_t pid);

/* Number of killed children that have not ended: of all, and of those with `owner` as `blamed`. */
size_t child_process_left(void);
size_t child_process_left_by(uint64_t owner);

/* True if processes of this owner block CHILD_PROCESS_OWNER_MAX killed children: the caller must
 * not read another process of it. */
bool child_process_refuses(uint64_t owner);

/* CPU time so far of all captured commands, or of all other children, ended ones included.
 * Cost: two short system calls for each child that is not reaped. */
uint64_t child_process_cpu_ns(bool captured);

/* Writes the pids of the captured commands, or of the other children, that were not killed and not
 * reaped. Gives their number. */
size_t child_process_running(pid_t out[CHILD_PROCESS_MAX], bool captured);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.h - knows when a process hangs: a thread is stuck with the GIL, or all threads wait for each
 * other.
 *
 * Stuck: in each sample for `after_ns` the thread held the GIL, and was in the same instruction of
 * the same stack. It runs C code that does not end, or waits in it, and no other thread can run.
 *
 * Deadlock: the process has used no CPU time for `after_ns`, and each of its threads sleeps in
 * futex(2) without a timeout, on a lock that only this process has. No thread is left that could
 * open one: only a signal can. (A program that does nothing but wait for signals, by a lock, looks
 * the same.)
 *
 * Cost:   nothing as long as the process moves; for a deadlock the threads' /proc files are read
 *         once after it has rested for `after_ns`.
 * Source: proc_pid_syscall(5); futex(2); glibc's sem_wait, which is how CPython waits for locks.
 */
#ifndef AGENT_SAMPLING_HANG_H
#define AGENT_SAMPLING_HANG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum hang_kind { HANG_NONE, HANG_STUCK, HANG_DEADLOCK };
enum { HANG_KINDS = 3 };

struct hang {
    uint64_t after_ns; /* 0: nobody asks */
    enum hang_kind kind;
    uint64_t since_ns;   /* monotonic */
    pid_t tid;           /* of the thread that is stuck; 0: not known */
    bool unreported;     /* `kind` has changed, and nobody was told yet */
    uint64_t checked_ns; /* the rest, by its begin, for which the threads were looked at, */
    bool all_wait;       /* and whether all waited for each other */
};

/* What a sample says. */
struct hang_signs {
    uint64_t stuck_ns; /* monotonic: since when a thread is stuck; 0: none is */
    pid_t tid;
    uint64_t moved_ns; /* when the process was last seen to have used CPU time */
};

/* Takes in what a sample at `now_ns` says. True: `kind` has changed. */
bool hang_note(struct hang *hang, pid_t pid, const struct hang_signs *signs, uint64_t now_ns);

/* True if each thread of a process waits for a lock of its own, without a timeout. */
MUST_CHECK bool hang_all_wait(pid_t pid);

/* True if a line of /proc/PID/task/TID/syscall says so. */
MUST_CHECK bool hang_waits(const char *line);

/* What labels and texts call it; NULL: HANG_NONE. Static. */
const char *hang_name(enum hang_kind kind);

#endif

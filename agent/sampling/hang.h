/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.h - decides whether a process hangs: a thread is stuck with the GIL, or threads wait for
 * each other.
 *
 * Stuck:    in each sample for `after_ns` the thread held the GIL at the same instruction of the
 * same stack. It runs C code that does not end, or waits in it, and no other thread can run.
 * Deadlock: the process has used no CPU time for `after_ns`, and each of its threads sleeps in
 *           futex(2) without a timeout, on a lock that is private to the process. No thread is left
 *           that could release one; only a signal can. (A program that only waits for signals, by a
 *           lock, looks the same.)
 * Cycle:    a deadlock, too, whatever the other threads do: each of some threads waits, as above,
 *           for a lock that the next of them took by `with` and still has (cpy_lock_holders). Two
 *           looks, `after_ns` apart, see the same.
 *
 * Cost:     for a deadlock the threads' /proc files are read once, after the process was idle for
 *           `after_ns`; for a cycle once in that time, and the stacks of those that wait,
 *           if one has run.
 * Source:   proc_pid_syscall(5); futex(2); glibc's sem_wait, which CPython waits for locks with.
 */
#ifndef AGENT_SAMPLING_HANG_H
#define AGENT_SAMPLING_HANG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum hang_kind { HANG_NONE, HANG_STUCK, HANG_DEADLOCK };
enum { HANG_KINDS = 3 };

/* Threads that wait for each other's locks. */
struct hang_cycle {
    uint64_t looked_ns;  /* monotonic: the last look; 0: there was none */
    uint64_t waits_mark; /* which threads waited, and what they had run, at the last look */
    uint64_t mark;       /* which threads and locks; 0: none */
    uint64_t since_ns;   /* since when it has been `mark` */
    pid_t tid;           /* one of the threads */
};

struct hang {
    uint64_t after_ns; /* 0: hangs are not looked for */
    enum hang_kind kind;
    uint64_t since_ns;   /* monotonic */
    pid_t tid;           /* of the thread that is stuck, or one of a cycle; 0: not known */
    bool unreported;     /* `kind` has changed since it was last reported */
    uint64_t checked_ns; /* start of the idle time for which the threads were checked */
    bool all_wait;       /* result of that check */
    struct hang_cycle cycle;
};

/* Input from one sample. */
struct hang_signs {
    uint64_t stuck_ns; /* monotonic: since when a thread is stuck; 0: none is */
    pid_t tid;
    uint64_t moved_ns; /* when the process was last seen to have used CPU time */
};

/* Updates the state from a sample at `now_ns`. True: `kind` has changed. */
bool hang_note(struct hang *hang, pid_t pid, const struct hang_signs *signs, uint64_t now_ns);

/* True if each thread of a process waits for a lock of its own, without a timeout. */
MUST_CHECK bool hang_all_wait(pid_t pid);

/* The same for one thread. Gives: *out_at, the address that it waits at. */
MUST_CHECK bool hang_thread_waits(pid_t pid, pid_t tid, uint64_t *out_at);

/* The same for the line of its /proc/PID/task/TID/syscall. */
MUST_CHECK bool hang_waits(const char *line, uint64_t *out_at);

/* Name in labels and texts; NULL for HANG_NONE. Static. */
const char *hang_name(enum hang_kind kind);

#endif

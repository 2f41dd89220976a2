/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.h - decides whether a process hangs: a thread is stuck with the GIL, or threads wait for
 * each other.
 *
 * Stuck:    in each sample for `after_ns` the thread held the GIL at the same instruction of the
 *           same stack. It runs C code that does not end, or waits in it; no other thread can run.
 * Deadlock: the process has used no CPU time for `after_ns`, and each of its threads sleeps in
 *           futex(2) without a timeout, on a lock that is private to the process. No thread is left
 *           that could release one; only a signal can. (A program whose threads wait for a signal
 *           by such locks looks the same.)
 * Cycle:    a deadlock of some threads, whatever the others do: each of them sleeps, as above, on a
 *           lock that the next one took by `with` and still has (cpy_lock_holders). Two looks,
 *           `after_ns` apart, see the same cycle.
 *
 * Cost:     for a deadlock, one read of the /proc file of each thread, after the process was idle
 *           for `after_ns`. For a cycle, one in each `after_ns` (two seconds if that is longer),
 *           and then the stacks of the waiting threads if their list has changed.
 * Source:   proc_pid_syscall(5); futex(2); glibc's sem_wait, which CPython waits for locks with.
 */
#ifndef AGENT_SAMPLING_HANG_H
#define AGENT_SAMPLING_HANG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum hang_kind { HANG_NONE, HANG_STUCK, HANG_DEADLOCK }; /* a cycle is HANG_DEADLOCK */
enum { HANG_KINDS = 3 };

/* State of the search for a cycle. */
struct hang_cycle {
    uint64_t looked_ns;  /* monotonic: the last look; 0: there was none */
    uint64_t waits_mark; /* hash of the waiting threads, their CPU times and futex addresses */
    uint64_t mark;       /* hash of the threads and locks of the cycle; 0: no cycle */
    uint64_t since_ns;   /* monotonic: when `mark` got its value */
    pid_t tid;           /* one thread of the cycle */
};

struct hang {
    uint64_t after_ns; /* time after which a process hangs; 0: hangs are not looked for */
    enum hang_kind kind;
    uint64_t since_ns;   /* monotonic: when the hang began */
    pid_t tid;           /* thread that is stuck, or one of a cycle; 0: all wait, or not known */
    bool unreported;     /* `kind` has changed since it was last reported */
    uint64_t checked_ns; /* hang_signs.moved_ns for which the threads were checked last */
    bool all_wait;       /* result of that check: hang_all_wait */
    struct hang_cycle cycle;
};

/* Input from one sample. */
struct hang_signs {
    uint64_t stuck_ns; /* monotonic: since when a thread is stuck; 0: none is */
    pid_t tid;         /* of that thread */
    uint64_t moved_ns; /* monotonic: when the process was last seen to have used CPU time */
};

/* Updates the state from a sample at `now_ns`. True: `kind` has changed. */
bool hang_note(struct hang *hang, pid_t pid, const struct hang_signs *signs, uint64_t now_ns);

/* True if each thread of a process sleeps in futex(2) without a timeout, on a lock that is private
 * to the process. False also if that cannot be read. */
MUST_CHECK bool hang_all_wait(pid_t pid);

/* The same for one thread. Sets *out_at to the address of the futex. */
MUST_CHECK bool hang_thread_waits(pid_t pid, pid_t tid, uint64_t *out_at);

/* The same for `line`, the content of the thread's /proc/PID/task/TID/syscall. */
MUST_CHECK bool hang_waits(const char *line, uint64_t *out_at);

/* Name in labels and texts; NULL for HANG_NONE. Static. */
const char *hang_name(enum hang_kind kind);

#endif

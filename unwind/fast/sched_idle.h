/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched_idle.h - knows from the kernel that a thread has not run since its stack was read.
 *
 * The kernel counts how often a thread was given a CPU (the third word of its schedstat). A
 * thread that slept when the count was n, and has n now, has slept all the time. To ask
 * costs less than to read some kilobytes of stack, so this is for deep stacks, and for the
 * only thread of a process: while that sleeps there is nothing to be read.
 *
 * Shape: sched_idle_init; before a stack is read sched_idle_since_read: true, it need not be; after
 * it was read sched_idle_note; sched_idle_finish.
 */
#ifndef UNWIND_FAST_SCHED_IDLE_H
#define UNWIND_FAST_SCHED_IDLE_H

#include "unwind/cpy.h"

enum { SCHED_IDLE_BYTES = 8192 }; /* of a stack: from here on it is worth asking */

struct sched_idle {
    int fd, stat_fd; /* owned: its schedstat; its stat if it runs often; -1: not open */
    unsigned idle;   /* times in a row that stat did not say that it runs */
    bool asleep;     /* it slept when it had had `turns` */
    bool sole;       /* and was the only thread of its process: until it wakes, it still is */
    bool read;       /* and its stack was read since then */
    bool late;       /* it fell asleep after what sched_idle_note is told of next was read */
    bool queued;     /* it waited for a CPU for more than a moment, lately */
    int cpu;         /* where it was when sched_idle_is_ready looked just now; -1: it did not */
    uint64_t turns;  /* on a CPU */
    uint64_t cpu_ns, wait_ns;
    uint64_t woke_ns, woke_sum_ns; /* when it was last known to run as its CPU was taken, and what
                                      it had used and waited then; 0: not known */
    unsigned patience;             /* times that sched_idle_note lets pass until it looks again, */
    unsigned passed;               /* and has let pass */
};

/* Whoever looks may have taken a CPU by waking up there: what the kernel has counted of the thread
 * that ran there goes up to that moment. */
struct sched_idle_here {
    uint64_t woke_ns; /* when, by a clock that does not stop; 0: it has not */
    int cpu;
};

void sched_idle_init(struct sched_idle *sched_idle);
void sched_idle_finish(struct sched_idle *sched_idle);

/* True if the thread has slept since before its stack was read. */
bool sched_idle_since_read(struct sched_idle *sched_idle);

/* True if the thread is known to have slept when it was last looked at, and has slept since. */
bool sched_idle_since_look(struct sched_idle *sched_idle);

/*
 * True if the thread runs or waits for a CPU now. `queued` says whether it is known to wait.
 * `proc_fd` is the process's /proc directory.
 *
 * Cost: its schedstat (0.4 us warm); its stat, too (1.2 us), unless it slept on, or has used or
 *       waited for a CPU all the time since the last look from a CPU that we took from it.
 */
bool sched_idle_is_ready(struct sched_idle *sched_idle, int proc_fd, pid_t tid,
                         const struct sched_idle_here *here);

/* The same where the thread is known to run on that CPU now. */
void sched_idle_runs(struct sched_idle *sched_idle, int proc_fd, pid_t tid, int cpu);

/* Its stack was read in a sample in which sched_idle_is_ready was asked, too. */
void sched_idle_was_read(struct sched_idle *sched_idle);

/*
 * The same where it was not: finds out now and then whether the thread sleeps. `same`: its stack
 * was as before. `proc_fd` is the process's /proc directory.
 */
void sched_idle_note(struct sched_idle *sched_idle, int proc_fd, pid_t tid, bool same);

#endif

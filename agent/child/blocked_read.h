/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked_read.h - decides whether a thread is blocked in a read of another process, or is only
 * slow because it gets little CPU time.
 *
 * On a loaded host a reading thread may be found asleep at any look: it waits for a page of a slow
 * disk, or for a lock. But it gets a CPU again and again. So a sleeping thread counts as blocked
 * if it got no CPU between looks that are BLOCKED_READ_STILL_NS apart. It also counts as blocked
 * if it slept for BLOCKED_READ_SLEPT_NS in total in one read, because a process may hand out its
 * memory page by page. Time on a CPU and time on the run queue are not sleep.
 *
 * On a kernel without scheduler counters (CONFIG_SCHED_INFO) all time counts as sleep.
 */
#ifndef AGENT_CHILD_BLOCKED_READ_H
#define AGENT_CHILD_BLOCKED_READ_H

#include <stdbool.h>

#include "base/proc_stat.h"
#include "base/time_units.h"

#define BLOCKED_READ_STILL_NS (240 * NS_PER_MS)
#define BLOCKED_READ_SLEPT_NS (2 * NS_PER_S)

/* Observations of one read of a thread; all zero bytes at first. Instants are CLOCK_MONOTONIC. */
struct blocked_read {
    uint64_t began_ns; /* start of the read; identifies it */
    uint64_t first_ns; /* the first look that found the thread asleep */
    uint64_t busy_ns;  /* its total time on a CPU and on the run queue, as of first_ns */
    uint64_t still_ns; /* the first look with the present value of `turns` */
    uint64_t turns;    /* times that the thread was given a CPU, as of the last look */
};

/*
 * Records a look that found a thread asleep in the read that began at `began_ns`; `sched` holds the
 * thread's counters now.
 *
 * Gives: true: the thread is blocked.
 */
MUST_CHECK bool blocked_read_sleeps(struct blocked_read *seen, uint64_t began_ns,
                                    const struct proc_sched *sched, uint64_t now_ns);

#endif

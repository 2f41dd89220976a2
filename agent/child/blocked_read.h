/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked_read.h - tells a thread that a read of another process blocks from one that gets too
 * little CPU time.
 *
 * On a loaded host a thread that reads is slow, and may be found asleep at any look: it waits for
 * a page of a slow disk, or for a lock. But it is given a CPU again and again. So a sleeping thread
 * counts as blocked if the kernel has not given it a CPU over looks that are BLOCKED_READ_STILL_NS
 * apart; or if it slept in one read for BLOCKED_READ_SLEPT_NS in all, because a process may hand
 * out its memory page by page. Time on a CPU and time in the queue for one are no sleep.
 *
 * Where the kernel has no scheduler counters (CONFIG_SCHED_INFO), all time is sleep.
 */
#ifndef AGENT_CHILD_BLOCKED_READ_H
#define AGENT_CHILD_BLOCKED_READ_H

#include <stdbool.h>

#include "base/proc_stat.h"
#include "base/time_units.h"

#define BLOCKED_READ_STILL_NS (240 * NS_PER_MS)
#define BLOCKED_READ_SLEPT_NS (2 * NS_PER_S)

/* What was seen of one read of a thread; zeroed at first. */
struct blocked_read {
    uint64_t began_ns; /* its start, which tells it from others */
    uint64_t first_ns; /* monotonic: the first look at which the thread slept */
    uint64_t busy_ns;  /* time on a CPU and in the queue for one until then */
    uint64_t still_ns; /* monotonic: the first look since it was given a CPU last */
    uint64_t turns;    /* times that it was given one */
};

/*
 * Takes note of a look at a thread that sleeps in the read which began at `began_ns`.
 *
 * Gives: true: it is blocked.
 */
MUST_CHECK bool blocked_read_sleeps(struct blocked_read *seen, uint64_t began_ns,
                                    const struct proc_sched *sched, uint64_t now_ns);

#endif

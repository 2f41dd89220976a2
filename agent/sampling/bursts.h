/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bursts.h - the targets that somebody wants to see more of for a while.
 *
 * A burst of a service holds for its processes that come later, too.
 */
#ifndef AGENT_SAMPLING_BURSTS_H
#define AGENT_SAMPLING_BURSTS_H

#include "agent/proc/proc.h"

/*
 * Cache: processes that are sampled more often for a while
 * Key:   pid and start time, or the name of a service
 * Ends:  at until_ns
 * Test:  tests/unit/sampling/test_bursts.c: is_not_of_a_later_process_with_the_same_number
 */
struct burst {
    struct proc_id id; /* this process; pid 0: any; start 0: any with this pid */
    char service[256]; /* of this service; "": of any */
    double rate_hz;
    uint64_t until_ns; /* monotonic */
};

enum { BURSTS_MAX = 16 }; /* at a time */

struct bursts {
    struct burst all[BURSTS_MAX];
    size_t count;
};

/* Notes a burst, in place of one of the same target. False: there are BURSTS_MAX already. */
MUST_CHECK bool bursts_add(struct bursts *bursts, const struct burst *burst, uint64_t now_ns);

/* True if the burst is of this process. */
bool burst_fits(const struct burst *burst, struct proc_id id, const char *service);

/* True if any burst runs. */
bool bursts_any(const struct bursts *bursts, uint64_t now_ns);

/* The running burst of the same target; NULL: there is none. */
const struct burst *bursts_like(const struct bursts *bursts, const struct burst *burst,
                                uint64_t now_ns);

/* The fastest running burst that a process has a part in; NULL: it has none. */
const struct burst *bursts_of(const struct bursts *bursts, struct proc_id id, const char *service,
                              uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bursts.h - targets that are sampled more often for a while, on request.
 *
 * A burst of a service also holds for processes of it that start later.
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
    struct proc_id id; /* the process; pid 0: any; start 0: any with this pid */
    char service[256]; /* name of the service of the process; "": any */
    double rate_hz;
    uint64_t until_ns; /* monotonic */
};

enum { BURSTS_MAX = 16 }; /* at a time */

struct bursts {
    struct burst all[BURSTS_MAX];
    size_t count;
};

/* Adds a burst; it replaces one with equal `id` and `service`. False: BURSTS_MAX of others run. */
MUST_CHECK bool bursts_add(struct bursts *bursts, const struct burst *burst, uint64_t now_ns);

/* True if the burst covers this process of `service`. Does not look at until_ns. */
bool burst_fits(const struct burst *burst, struct proc_id id, const char *service);

/* True if any burst runs. */
bool bursts_any(const struct bursts *bursts, uint64_t now_ns);

/* The running burst with equal `id` and `service`; NULL: none. Lends until bursts_add. */
const struct burst *bursts_like(const struct bursts *bursts, const struct burst *burst,
                                uint64_t now_ns);

/* The fastest running burst that covers a process; NULL: none. Lends until bursts_add. */
const struct burst *bursts_of(const struct bursts *bursts, struct proc_id id, const char *service,
                              uint64_t now_ns);

#endif

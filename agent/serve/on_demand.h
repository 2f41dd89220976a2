/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_demand.h - profiles on request, of a given time from the request on.
 *
 * No process is sampled twice for a request. The profile is the sum of the intervals that end
 * during the request and of the interval that runs at its end, less what the interval at its begin
 * had before. At both ends the samplers are told to commit all time that they have counted.
 *
 * Shape:   on_demand_new; on_demand_ask in the thread that wants a profile; in the main loop
 *          on_demand_step when the signal has come or on_demand_next_ns has passed, and
 *          on_demand_deliver for each service at the end of an interval; on_demand_free.
 * Threads: on_demand_ask from any; all others belong to the main loop.
 */
#ifndef AGENT_SERVE_ON_DEMAND_H
#define AGENT_SERVE_ON_DEMAND_H

#include <pthread.h>
#include <stdatomic.h>

#include "agent/serve/control_text.h"
#include "agent/supervisor/supervisor.h"
#include "conf/conf.h"

enum {
    ON_DEMAND_MAX = SPLIT_PIDS_MAX, /* requests at a time */
    ON_DEMAND_SECONDS_MAX = 300,    /* longest duration; for callers, not checked here */
    ON_DEMAND_PROFILE_MAX = 8 << 20 /* most bytes of a profile in memory */
};

struct on_demand; /* private */

struct on_demand_request {
    char target[CONTROL_TARGET_MAX]; /* in the form of resolve_target.h */
    uint64_t duration_ns;
    double rate_hz; /* sample at least so often; 0: at the current rate */
};

enum on_demand_rc {
    ON_DEMAND_OK,
    ON_DEMAND_BUSY,    /* ON_DEMAND_MAX requests run, or BURSTS_MAX bursts */
    ON_DEMAND_UNKNOWN, /* no sampled process matches the target */
    ON_DEMAND_FULL,    /* the profile got too large */
    ON_DEMAND_NOMEM,
    ON_DEMAND_ENDED /* *stop was set */
};

struct on_demand_answer {
    struct pprof *profile; /* owned by the caller: pprof_free */
    int64_t start_utc_ns;
    uint64_t duration_ns;
    uint64_t period_ns; /* shortest of the services in it; 0: there are none */
};

/* `signal` is sent to this process for each request. NULL: out of memory. */
MUST_CHECK struct on_demand *on_demand_new(int signal);

/*
 * Requests a profile and waits for it, or until *stop is true. May take some seconds longer than
 * requested, because a sampler may hang.
 *
 * Gives: *out, with ON_DEMAND_OK only.
 */
MUST_CHECK enum on_demand_rc on_demand_ask(struct on_demand *on_demand,
                                           const struct on_demand_request *request,
                                           atomic_bool *stop, struct on_demand_answer *out);

/* Begins and ends the requests that are due. */
void on_demand_step(struct on_demand *on_demand, struct supervisor *supervisor,
                    const struct conf *conf);

/* When to call on_demand_step next without a signal (monotonic); UINT64_MAX: not at all. */
uint64_t on_demand_next_ns(struct on_demand *on_demand);

/* Adds an ended interval to the requests, before its profile is emptied. NULL is fine. */
void on_demand_deliver(struct on_demand *on_demand, const struct service *service);

/* Frees it. No thread may be in on_demand_ask any more. NULL is fine. */
void on_demand_free(struct on_demand *on_demand);

#endif

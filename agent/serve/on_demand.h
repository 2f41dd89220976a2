/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_demand.h - profiles that somebody asks for: what the agent samples from now on, for a while.
 *
 * Nobody is sampled for it a second time. Each pull adds up what the samplers hand over: the
 * profiles of the intervals that end meanwhile, and of the running one what came since the pull
 * began. At both ends the samplers are told to give out all time that they have counted.
 *
 * Shape:   pulls_new; pulls_ask by whoever wants a profile; in the main loop pulls_step when the
 *          signal came or pulls_next_ns is over, and pulls_deliver at the end of each interval;
 *          pulls_free.
 * Threads: pulls_ask may be called by any; all else belongs to the main loop.
 */
#ifndef AGENT_SERVE_ON_DEMAND_H
#define AGENT_SERVE_ON_DEMAND_H

#include <pthread.h>
#include <stdatomic.h>

#include "agent/serve/control_text.h"
#include "agent/supervisor/supervisor.h"
#include "conf/conf.h"

enum {
    PULLS_MAX = ENGINE_APART_MAX, /* at a time */
    PULL_SECONDS_MAX = 300,
    PULL_PROFILE_MAX = 8 << 20 /* bytes that one may take while it is added up */
};

struct pulls; /* private */

struct pull_request {
    char target[CONTROL_TARGET_MAX]; /* as command_targets.h has it */
    uint64_t duration_ns;
    double rate_hz; /* at least; 0: as it is sampled anyway */
};

enum pull_rc {
    PULL_OK,
    PULL_BUSY,    /* there are PULLS_MAX, or BURSTS_MAX bursts, already */
    PULL_UNKNOWN, /* nothing that is sampled is called so */
    PULL_FULL,    /* it got too large */
    PULL_NOMEM,
    PULL_ENDED /* the agent ends, or has given up answering here */
};

struct pull_answer {
    struct pprof *profile; /* owned by who asked: pprof_free */
    int64_t start_utc_ns;
    uint64_t duration_ns;
    uint64_t period_ns; /* between two samples, of the service that was sampled most often */
};

/* `signal` wakes the main loop when somebody asks. NULL: out of memory. */
MUST_CHECK struct pulls *pulls_new(int signal);

/*
 * Asks for a profile and waits for it, or until `*stop`. May wait some seconds longer than asked
 * for: a sampler may hang.
 *
 * Gives: *out if it is PULL_OK.
 */
MUST_CHECK enum pull_rc pulls_ask(struct pulls *pulls, const struct pull_request *request,
                                  atomic_bool *stop, struct pull_answer *out);

/* Begins and ends what is due. */
void pulls_step(struct pulls *pulls, struct fleet *fleet, const struct conf *conf);

/* When to call it next without a signal (monotonic); UINT64_MAX: not at all. */
uint64_t pulls_next_ns(struct pulls *pulls);

/* An interval of a service has ended: its profile is about to be emptied. NULL is fine. */
void pulls_deliver(struct pulls *pulls, const struct service *service);

/* Nobody may be waiting any more. NULL is fine. */
void pulls_free(struct pulls *pulls);

#endif

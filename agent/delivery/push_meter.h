/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_meter.h - counts what an exporter's sends came to and what servers said, and how long
 * they took.
 *
 * Threads: one sends, any may read.
 */
#ifndef AGENT_DELIVERY_PUSH_METER_H
#define AGENT_DELIVERY_PUSH_METER_H

#include <stdatomic.h>

#include "agent/delivery/delivery.h"

/* Bounds of the histogram of durations, in ms; the last bucket has none. */
#define PUSH_BOUNDS_MS                                        \
    {                                                         \
        10, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000 \
    }
enum { PUSH_BOUNDS = 10, PUSH_BUCKETS = PUSH_BOUNDS + 1 };

/* OK, to be tried again, refused for good, denied for want of a secret. */
enum push_outcome { PUSH_OK, PUSH_RETRY, PUSH_REFUSED, PUSH_DENIED, PUSH_OUTCOMES };

/* Answers with one status. A server that makes up ever new ones fills PUSH_CODES and no more. */
enum { PUSH_CODES = 24, PUSH_CODE_NONE = 0, PUSH_CODE_OTHER = -1 };
struct push_code {
    long code; /* PUSH_CODE_NONE: pushes to a server without any answer */
    uint64_t count;
};

struct push_counts {
    uint64_t pushes[PUSH_OUTCOMES];
    uint64_t buckets[PUSH_BUCKETS]; /* of all outcomes, not summed up */
    uint64_t duration_ns;           /* of all together */
    int64_t last_ok_ns;             /* UTC; 0: none yet */
    struct push_code codes[PUSH_CODES];
    size_t code_count;
};

struct push_meter; /* private */

/* "ok", "retry", "refused", "denied". */
const char *push_outcome_name(enum push_outcome outcome);

/*
 * Puts a meter around a sink. Gives: the sink to use in its place, which owns `inner`, and
 * *out, the caller's own reference, ended with push_meter_unref. False: out of memory.
 */
MUST_CHECK bool push_meter_new(const struct delivery_sink *inner, struct delivery_sink *out_sink,
                               struct push_meter **out);

/* What happened so far. */
void push_meter_counts(struct push_meter *meter, struct push_counts *out);

/* One more reference. */
struct push_meter *push_meter_ref(struct push_meter *meter);

/* Gives a reference back. NULL is fine. */
void push_meter_unref(struct push_meter *meter);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_counts.h - what an exporter's pushes came to and what servers said, and how long they took.
 *
 * Threads: belongs to whoever holds its delivery's lock.
 */
#ifndef AGENT_DELIVERY_PUSH_COUNTS_H
#define AGENT_DELIVERY_PUSH_COUNTS_H

#include "exporters/exporter.h"

/* Bounds of the histogram of durations, in ms; the last bucket has none. */
#define PUSH_BOUNDS_MS                                        \
    {                                                         \
        10, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000 \
    }
enum { PUSH_BOUNDS = 10, PUSH_BUCKETS = PUSH_BOUNDS + 1 };

/* OK, to be tried again, refused for good, denied for want of a secret or a server. */
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

/* "ok", "retry", "refused", "denied". */
const char *push_outcome_name(enum push_outcome outcome);

/* Counts a push that has ended now, after `took_ns`. */
void push_counts_add(struct push_counts *counts, enum exporter_rc rc,
                     const struct exporter_answer *answer, uint64_t took_ns, int64_t utc_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_counts.h - counts the pushes of one exporter: their outcomes, the statuses that servers
 * answered, and how long they took. A push is one try to send a batch of profiles.
 *
 * Threads: the caller holds the lock of the delivery that the exporter belongs to.
 */
#ifndef AGENT_DELIVERY_PUSH_COUNTS_H
#define AGENT_DELIVERY_PUSH_COUNTS_H

#include "exporters/exporter.h"

/* Upper bounds of the histogram's buckets, in ms, inclusive. The last bucket has no bound. */
#define PUSH_BOUNDS_MS                                        \
    {                                                         \
        10, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000 \
    }
enum { PUSH_BOUNDS = 10, PUSH_BUCKETS = PUSH_BOUNDS + 1 };

enum push_outcome {
    PUSH_OK,      /* the server took the batch */
    PUSH_RETRY,   /* failed; will be tried again, unless the batch gets too old */
    PUSH_REFUSED, /* refused for good. If the answer does not say which of several profiles failed,
                     the batch is halved, and both halves are sent */
    PUSH_DENIED,  /* our secret is missing or wrong (401, 403, 407), or the answer shows that the
                     server is not of the exporter's type; tried again as with PUSH_RETRY */
    PUSH_OUTCOMES
};

enum {
    PUSH_CODES = 24,     /* entries: the first 23 different codes, and PUSH_CODE_OTHER */
    PUSH_CODE_NONE = 0,  /* there was no answer, or the exporter has no server */
    PUSH_CODE_OTHER = -1 /* `code` of the entry that counts all other statuses */
};

/* Counts the pushes that had one status. */
struct push_code {
    long code;      /* HTTP status (gRPC codes are converted), PUSH_CODE_NONE or PUSH_CODE_OTHER */
    uint64_t count; /* pushes */
};

/* All 0 at first. */
struct push_counts {
    uint64_t pushes[PUSH_OUTCOMES]; /* by outcome */
    uint64_t buckets[PUSH_BUCKETS]; /* histogram of the durations of all pushes, not cumulative */
    uint64_t duration_ns;           /* sum of the durations of all pushes */
    int64_t last_ok_ns;             /* UTC, ns since 1970: end of the last PUSH_OK; 0: none yet */
    struct push_code codes[PUSH_CODES];
    size_t code_count; /* entries used in `codes` */
};

/* "ok", "retry", "refused" or "denied". Static. */
const char *push_outcome_name(enum push_outcome outcome);

/* Counts a push that has just ended with `rc` and *answer (not NULL), after `took_ns`. `utc_ns` is
 * the time now. */
void push_counts_add(struct push_counts *counts, enum exporter_rc rc,
                     const struct exporter_answer *answer, uint64_t took_ns, int64_t utc_ns);

#endif

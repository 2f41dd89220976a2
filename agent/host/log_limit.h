/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_limit.h - says whether a line of some kind may be written now.
 *
 * Of a kind LOG_BURST lines may come at once, and from then on one every LOG_EVERY_NS
 * (the generic cell rate algorithm). Kinds share a fixed table: when it is full, those
 * that find no place share one.
 *
 * Threads: any, also after a fork: atomics only, no locks. A table of zeros is empty.
 */
#ifndef AGENT_HOST_LOG_LIMIT_H
#define AGENT_HOST_LOG_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time_units.h"

enum { LOG_BURST = 20, LOG_KINDS = 128 };

#define LOG_EVERY_NS (30 * NS_PER_S)

struct log_kind {
    atomic_uint_fast64_t kind;     /* 0: free; it is never freed again */
    atomic_uint_fast64_t due_ns;   /* when all of its allowance is there again */
    atomic_uint_fast64_t left_out; /* since the last line that was written */
};

struct log_limit {
    struct log_kind kinds[LOG_KINDS];
};

/*
 * True: a line of `kind` may be written at `now_ns` (monotonic), and *out_left_out were
 * left out since the last. False: this one is counted as left out.
 */
MUST_CHECK bool log_limit_pass(struct log_limit *limit, uint64_t kind, uint64_t now_ns,
                               uint64_t *out_left_out);

#endif

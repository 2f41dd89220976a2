/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_limit.h - rate limit of log lines, per kind of line.
 *
 * LOG_BURST lines of a kind may come at once, and then one every LOG_EVERY_NS (generic cell rate
 * algorithm). Kinds have entries in a fixed table; kinds that find no free entry share one.
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
    atomic_uint_fast64_t kind;     /* hash of the kind; 0: free; never freed again */
    atomic_uint_fast64_t due_ns;   /* monotonic: when LOG_BURST lines are allowed again */
    atomic_uint_fast64_t left_out; /* lines left out since the last one that was written */
};

struct log_limit {
    struct log_kind kinds[LOG_KINDS];
};

/*
 * True: a line of `kind` may be written at `now_ns` (monotonic); *out_left_out is the number of
 * lines left out before it. False: it may not, and is counted as left out.
 */
MUST_CHECK bool log_limit_pass(struct log_limit *limit, uint64_t kind, uint64_t now_ns,
                               uint64_t *out_left_out);

#endif

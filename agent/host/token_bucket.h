/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_bucket.h - rate limit by a token bucket: `most` times at once, then `per_s` times a second.
 *
 * Threads: one. Reads no clock: the time is an argument.
 */
#ifndef AGENT_HOST_TOKEN_BUCKET_H
#define AGENT_HOST_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Holds up to `most` tokens and gets `per_s` of them each second. All zeros: it never has one. */
struct token_bucket {
    double per_s, most, tokens;
    uint64_t filled_ns; /* monotonic: the time up to which `tokens` has been filled */
};

/* A full bucket. */
struct token_bucket token_bucket_full(double per_s, double most, uint64_t now_ns);

/* Takes a token. False: there is none. */
MUST_CHECK bool token_bucket_take(struct token_bucket *bucket, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* token_bucket.c - see token_bucket.h. */
#include "agent/host/token_bucket.h"

#include "base/time_units.h"

struct token_bucket token_bucket_full(double per_s, double most, uint64_t now_ns)
{
    return (struct token_bucket){.per_s = per_s, .most = most, .tokens = most, .filled_ns = now_ns};
}

static void fill(struct token_bucket *bucket, uint64_t now_ns)
{
    if (now_ns <= bucket->filled_ns)
        return;
    bucket->tokens += (double)(now_ns - bucket->filled_ns) / NS_PER_S * bucket->per_s;
    if (bucket->tokens > bucket->most)
        bucket->tokens = bucket->most;
    bucket->filled_ns = now_ns;
}

bool token_bucket_take(struct token_bucket *bucket, uint64_t now_ns)
{
    fill(bucket, now_ns);
    if (bucket->tokens < 1)
        return false;
    bucket->tokens -= 1;
    return true;
}

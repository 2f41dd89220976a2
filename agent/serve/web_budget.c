/* SPDX-License-Identifier: Apache-2.0 */
/* web_budget.c - see web_budget.h. */
#include "agent/serve/web_budget.h"

#include "base/time_units.h"

static double elapsed_s(uint64_t now_ns, uint64_t before_ns)
{
    return now_ns > before_ns ? (double)(now_ns - before_ns) / NS_PER_S : 0;
}

void web_rate_init(struct web_rate *rate, uint64_t now_ns)
{
    *rate =
        (struct web_rate){.all = token_bucket_full(WEB_REQUESTS_PER_S, WEB_REQUESTS_BURST, now_ns)};
}

/* The bucket of an address; a full one in place of the longest unused one if it has none yet. */
static struct token_bucket *client_bucket(struct web_rate *rate, struct web_client_key key,
                                          uint64_t now_ns)
{
    size_t i, oldest = 0;

    for (i = 0; i < WEB_ADDRESSES; i++) {
        if (rate->each[i].bucket.most > 0 && rate->each[i].key.high == key.high &&
            rate->each[i].key.low == key.low)
            return &rate->each[i].bucket;
        if (rate->each[i].bucket.filled_ns < rate->each[oldest].bucket.filled_ns)
            oldest = i;
    }
    rate->each[oldest].key = key;
    rate->each[oldest].bucket =
        token_bucket_full(WEB_REQUESTS_PER_S / 2.0, WEB_REQUESTS_BURST / 2.0, now_ns);
    return &rate->each[oldest].bucket;
}

bool web_rate_take(struct web_rate *rate, struct web_client_key key, uint64_t now_ns)
{
    return token_bucket_take(client_bucket(rate, key, now_ns), now_ns) &&
           token_bucket_take(&rate->all, now_ns);
}

void web_cpu_init(struct web_cpu *cpu, double share, uint64_t now_ns, uint64_t used_ns)
{
    *cpu = (struct web_cpu){.share = share,
                            .saved_ns = share * WEB_CPU_SAVED_S * NS_PER_S,
                            .filled_ns = now_ns,
                            .used_ns = used_ns};
    (void)pthread_mutex_init(&cpu->lock, NULL);
}

void web_cpu_finish(struct web_cpu *cpu)
{
    (void)pthread_mutex_destroy(&cpu->lock);
}

void web_cpu_set_share(struct web_cpu *cpu, double share)
{
    (void)pthread_mutex_lock(&cpu->lock);
    if (share != cpu->share)
        cpu->saved_ns = share * WEB_CPU_SAVED_S * NS_PER_S;
    cpu->share = share;
    (void)pthread_mutex_unlock(&cpu->lock);
}

unsigned web_cpu_wait_s(struct web_cpu *cpu, uint64_t now_ns, uint64_t used_ns)
{
    double most, owed, wait_s = 0;

    (void)pthread_mutex_lock(&cpu->lock);
    most = cpu->share * WEB_CPU_SAVED_S * NS_PER_S;
    owed = cpu->share * WEB_CPU_OWED_S * NS_PER_S;
    cpu->saved_ns += elapsed_s(now_ns, cpu->filled_ns) * cpu->share * NS_PER_S;
    cpu->saved_ns = cpu->saved_ns > most ? most : cpu->saved_ns;
    cpu->saved_ns -= used_ns > cpu->used_ns ? (double)(used_ns - cpu->used_ns) : 0;
    cpu->saved_ns = cpu->saved_ns < -owed ? -owed : cpu->saved_ns;
    cpu->filled_ns = now_ns > cpu->filled_ns ? now_ns : cpu->filled_ns;
    cpu->used_ns = used_ns > cpu->used_ns ? used_ns : cpu->used_ns;
    if (cpu->share > 0 && cpu->saved_ns <= 0)
        wait_s = 1 - cpu->saved_ns / (cpu->share * NS_PER_S);
    (void)pthread_mutex_unlock(&cpu->lock);
    return (unsigned)wait_s;
}

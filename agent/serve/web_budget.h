/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_budget.h - limits of the HTTP server: requests per second, and CPU time of answers.
 *
 * Requests are limited in number (web_rate), all of them and those of one client address, by token
 * buckets. A client that asks in a loop gets at most half of what there is, so another one still
 * gets answers.
 *
 * Answers that start a process are limited by CPU time (web_cpu), too: a share of one core over a
 * minute. The cost of an answer is known when it is done, so an expensive one may overdraw the
 * share. No other one begins until that is made up for, after WEB_CPU_OWED_S at most.
 *
 * Threads: a web_rate belongs to one thread; a web_cpu has a lock. Reads no clock: the time is an
 *          argument.
 */
#ifndef AGENT_SERVE_WEB_BUDGET_H
#define AGENT_SERVE_WEB_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/host/token_bucket.h"
#include "agent/serve/web_header.h"

enum {
    WEB_REQUESTS_PER_S = 10, /* of all clients */
    WEB_REQUESTS_BURST = 240,
    WEB_ADDRESSES = 64,   /* with a bucket of their own; the longest unused one is replaced */
    WEB_CPU_SAVED_S = 60, /* unused CPU time is kept for so long */
    WEB_CPU_OWED_S = 300
};

struct web_rate {
    struct token_bucket all;
    struct {
        struct web_client_key key;
        struct token_bucket bucket;
    } each[WEB_ADDRESSES];
};

void web_rate_init(struct web_rate *rate, uint64_t now_ns);

/* True if a request from this address may be served now. It is counted if it may. */
MUST_CHECK bool web_rate_take(struct web_rate *rate, struct web_client_key key, uint64_t now_ns);

struct web_cpu {
    pthread_mutex_t lock;
    double share;                /* of one core; 0: no limit */
    double saved_ns;             /* CPU time; below 0: overdrawn */
    uint64_t filled_ns, used_ns; /* at the last step */
};

/* `used_ns` is the CPU time of all answers up to now, here and below. */
void web_cpu_init(struct web_cpu *cpu, double share, uint64_t now_ns, uint64_t used_ns);
void web_cpu_finish(struct web_cpu *cpu);
void web_cpu_set_share(struct web_cpu *cpu, double share);

/* In how many seconds a dear answer may begin; 0: now. */
unsigned web_cpu_wait_s(struct web_cpu *cpu, uint64_t now_ns, uint64_t used_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_budget.h - limits of the HTTP server: requests per second, and CPU time of answers.
 *
 * Token buckets (web_rate) limit the number of requests: one bucket for all, and one for each
 * client address with half of that, so that a client that asks in a loop leaves room for others.
 *
 * web_cpu limits the CPU time of answers that start a process to a share of one core, mean of a
 * minute. The cost of an answer is known when it is done, so an expensive one may overdraw the
 * account. Then no other such answer begins until the account is filled again, WEB_CPU_OWED_S later
 * at most.
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
    WEB_REQUESTS_PER_S = 10,  /* refill of the bucket for all clients */
    WEB_REQUESTS_BURST = 240, /* size of that bucket */
    WEB_ADDRESSES = 64,       /* addresses with a bucket; the longest unused one is replaced */
    WEB_CPU_SAVED_S = 60,     /* the account holds at most the share of so many seconds */
    WEB_CPU_OWED_S = 300      /* it is overdrawn by at most the share of so many seconds */
};

struct web_rate {
    struct token_bucket all;
    struct {
        struct web_client_key key;
        struct token_bucket bucket;
    } each[WEB_ADDRESSES];
};

void web_rate_init(struct web_rate *rate, uint64_t now_ns);

/* Takes a token of this address, and one of all clients. True: both had one: serve the request. The
 * token of the address is spent also if the other one is missing, because clients in a loop would
 * else have tokens all the time and take each new one of all clients. */
MUST_CHECK bool web_rate_take(struct web_rate *rate, struct web_client_key key, uint64_t now_ns);

struct web_cpu {
    pthread_mutex_t lock;
    double share;                /* of one core; 0: no limit */
    double saved_ns;             /* CPU time in the account; below 0: overdrawn */
    uint64_t filled_ns, used_ns; /* `now_ns` and `used_ns` of the last update */
};

/* Fills the account. `used_ns`, here and below: CPU time of all answers up to now. */
void web_cpu_init(struct web_cpu *cpu, double share, uint64_t now_ns, uint64_t used_ns);
void web_cpu_finish(struct web_cpu *cpu);
void web_cpu_set_share(struct web_cpu *cpu, double share); /* another share fills the account */

/* In how many seconds an answer that starts a process may begin; 0: now. */
unsigned web_cpu_wait_s(struct web_cpu *cpu, uint64_t now_ns, uint64_t used_ns);

#endif

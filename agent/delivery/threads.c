/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - how the threads of a delivery start, wait and end; see internal.h. */
#include <time.h>

#include "agent/delivery/internal.h"
#include "agent/host/thread.h"
#include "base/time_units.h"

#define WAIT_MAX_NS (3600 * NS_PER_S)

uint64_t delivery_now(const struct delivery *delivery)
{
    return delivery->world.now_ns(delivery->world.ctx);
}

void delivery_wait(struct delivery *delivery, pthread_cond_t *cond, uint64_t until_ns)
{
    uint64_t now_ns = delivery_now(delivery);
    struct timespec until;

    if (until_ns > now_ns + WAIT_MAX_NS)
        until_ns = now_ns + WAIT_MAX_NS;
    if (delivery->world.wait) {
        delivery->world.wait(delivery->world.ctx, cond, &delivery->lock, until_ns);
        return;
    }
    until.tv_sec = (time_t)(until_ns / NS_PER_S);
    until.tv_nsec = (long)(until_ns % NS_PER_S);
    (void)pthread_cond_timedwait(cond, &delivery->lock, &until);
}

bool delivery_init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    bool made = pthread_condattr_init(&attr) == 0;

    made = made && pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0;
    return made && pthread_cond_init(cond, &attr) == 0; /* on Linux an attr owns nothing */
}

/* libcurl's threads for names inherit the mask, too. */
bool delivery_start_thread(struct delivery *delivery, pthread_t *thread, void *(*run)(void *),
                           void *ctx, const char *title)
{
    (void)pthread_mutex_lock(&delivery->lock);
    delivery->threads++;
    (void)pthread_mutex_unlock(&delivery->lock);
    if (thread_start(thread, run, ctx) == 0) {
        (void)pthread_setname_np(*thread, title);
        return true;
    }
    (void)pthread_mutex_lock(&delivery->lock);
    delivery->threads--;
    (void)pthread_mutex_unlock(&delivery->lock);
    return false;
}

void delivery_end_thread(struct delivery *delivery, bool *ended)
{
    bool last;

    (void)pthread_mutex_lock(&delivery->lock);
    *ended = true;
    last = --delivery->threads == 0 && delivery->abandoned;
    (void)pthread_cond_broadcast(&delivery->thread_ended);
    (void)pthread_mutex_unlock(&delivery->lock);
    if (last)
        delivery->destroy(delivery);
}

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
    until = timespec_of_ns(until_ns);
    (void)pthread_cond_clockwait(cond, &delivery->lock, CLOCK_MONOTONIC, &until);
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

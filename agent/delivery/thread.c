/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - see thread.h. */
#include "agent/delivery/thread.h"

#include <signal.h>

#include "base/time_units.h"

#define WAIT_MAX_NS (3600 * NS_PER_S)

/* libcurl's name server threads inherit the mask, too. */
bool delivery_thread_start(pthread_t *thread, void *(*run)(void *), void *ctx, const char *title)
{
    sigset_t all, before;
    int failed;

    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    failed = pthread_create(thread, NULL, run, ctx);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return false;
    (void)pthread_setname_np(*thread, title);
    return true;
}

bool delivery_thread_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    bool made = pthread_condattr_init(&attr) == 0;

    made = made && pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0;
    return made && pthread_cond_init(cond, &attr) == 0; /* on Linux an attr owns nothing */
}

void delivery_thread_wait(const struct delivery_world *world, pthread_cond_t *cond,
                          pthread_mutex_t *lock, uint64_t deadline_ns)
{
    uint64_t now_ns = world->now_ns(world->ctx);
    uint64_t left = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    struct timespec until;

    if (world->wait) {
        world->wait(world->ctx, cond, lock, deadline_ns);
        return;
    }
    if (left > WAIT_MAX_NS)
        left = WAIT_MAX_NS;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until = timespec_of_ns(timespec_to_ns(until) + left);
    (void)pthread_cond_timedwait(cond, lock, &until);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - what the threads of a delivery do alike: start, wait by the world's clock.
 *
 * Threads: any.
 */
#ifndef AGENT_DELIVERY_THREAD_H
#define AGENT_DELIVERY_THREAD_H

#include <pthread.h>

#include "agent/delivery/delivery.h"

/* Starts a thread with all signals blocked: they are the main thread's. False: there is none. */
MUST_CHECK bool delivery_thread_start(pthread_t *thread, void *(*run)(void *), void *ctx,
                                      const char *title);

/* Makes a condition that waits by CLOCK_MONOTONIC. */
MUST_CHECK bool delivery_thread_cond(pthread_cond_t *cond);

/*
 * Waits for `cond` until `deadline_ns` of the world's clock, an hour at most. May return early.
 * `lock` is held by the caller.
 */
void delivery_thread_wait(const struct delivery_world *world, pthread_cond_t *cond,
                          pthread_mutex_t *lock, uint64_t deadline_ns);

#endif

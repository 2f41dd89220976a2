/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - threads beside the main one, which get none of the process's signals.
 *
 * The kernel gives a signal to any thread that does not block it. The main thread is the one that
 * waits for them; in another thread a signal would only interrupt whatever that waits for.
 */
#ifndef AGENT_HOST_THREAD_H
#define AGENT_HOST_THREAD_H

#include <pthread.h>
#include <signal.h>

#include "base/err.h"

/*
 * Starts a thread with all signals blocked, which threads that it starts inherit. The caller's own
 * signals stay as they are.
 *
 * Gives: 0 and *out, to be joined or detached; else an errno, and no thread.
 */
MUST_CHECK int thread_start(pthread_t *out, void *(*run)(void *), void *ctx);

/* Blocks all signals of this thread while a library starts its own; *before is what they were. */
void thread_block_signals(sigset_t *before);
void thread_restore_signals(const sigset_t *before);

#endif

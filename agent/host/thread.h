/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - starts threads that receive none of the process's signals.
 *
 * The kernel delivers a signal to any thread that does not block it. The main thread waits for
 * signals; in another thread a signal would only interrupt a system call.
 */
#ifndef AGENT_HOST_THREAD_H
#define AGENT_HOST_THREAD_H

#include <pthread.h>
#include <signal.h>

#include "base/err.h"

/*
 * Starts a thread with all signals blocked; its own threads inherit that. The caller's signal mask
 * stays as it is.
 *
 * Gives: 0 and *out, which the caller joins or detaches; else an errno, and no thread.
 */
MUST_CHECK int thread_start(pthread_t *out, void *(*run)(void *), void *ctx);

/* Blocks all signals of this thread while a library starts threads. *before: the mask before. */
void thread_block_signals(sigset_t *before);
void thread_restore_signals(const sigset_t *before);

#endif

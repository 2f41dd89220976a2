/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - see thread.h. */
#include "agent/host/thread.h"

void thread_block_signals(sigset_t *before)
{
    sigset_t all;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, before);
}

void thread_restore_signals(const sigset_t *before)
{
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

int thread_start(pthread_t *out, void *(*run)(void *), void *ctx)
{
    sigset_t before;
    int cause;

    thread_block_signals(&before);
    cause = pthread_create(out, NULL, run, ctx);
    thread_restore_signals(&before);
    return cause;
}

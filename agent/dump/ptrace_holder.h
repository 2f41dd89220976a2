/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptrace_holder.h - the part of pause.h that runs in a child process, the holder: it traces the
 * target. There is no clean-up, because the kernel detaches all threads when the holder exits.
 */
#ifndef AGENT_DUMP_PTRACE_HOLDER_H
#define AGENT_DUMP_PTRACE_HOLDER_H

#include "agent/dump/pause.h"

enum { PTRACE_HOLDER_THREADS_MAX = 16384 };

struct ptrace_held_thread {
    pid_t tid;
    int signal;   /* signal that it was about to handle when it stopped; 0: none */
    bool ran;     /* it was running or runnable before the stop */
    bool stopped; /* neither this nor `ended`: it runs on */
    bool ended;
};

/* Result of the holder, in memory that both processes share; all zero bytes at first. */
struct ptrace_holder {
    enum pause_rc rc;
    struct err err; /* why, unless rc is PAUSE_OK */
    bool all;       /* `threads` has all threads of the process */
    size_t count;   /* of `threads` */
    struct ptrace_held_thread threads[PTRACE_HOLDER_THREADS_MAX];
};

/*
 * Runs the holder: stops process `pid`, writes a byte to `fd`, and lets the process continue when
 * the other side closes its end or at PAUSE_HOLD_MS. Exit status 0: the close came first.
 */
_Noreturn void ptrace_holder_run(pid_t pid, struct ptrace_holder *shared, int fd);

#endif

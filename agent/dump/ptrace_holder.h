/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptrace_holder.h - the part of pause.h that runs in a child process: it traces the target.
 *
 * The kernel undoes all of it when that child exits, so there is no clean-up here.
 */
#ifndef AGENT_DUMP_PTRACE_HOLDER_H
#define AGENT_DUMP_PTRACE_HOLDER_H

#include "agent/dump/pause.h"

enum { PTRACE_HOLDER_THREADS_MAX = 16384 };

struct ptrace_held_thread {
    pid_t tid;
    int signal; /* signal that it was about to handle; 0: none */
    bool ran;   /* it was running or runnable before */
    bool stopped;
    bool ended;
};

/* Result of the holder, in memory that both processes share. */
struct ptrace_holder {
    enum pause_rc rc;
    struct err err; /* why, unless rc is PAUSE_OK */
    bool all;       /* `threads` has all threads of the process */
    size_t count;
    struct ptrace_held_thread threads[PTRACE_HOLDER_THREADS_MAX];
};

/*
 * Runs the holder: stops the process, writes a byte to `fd`, waits until the other side closes it,
 * and lets the process continue. Exit status 0: the process was stopped until then.
 */
_Noreturn void ptrace_holder_run(pid_t pid, struct ptrace_holder *shared, int fd);

#endif

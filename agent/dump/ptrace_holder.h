/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptrace_holder.h - the holding half of pause.h: what runs in the process that traces the target.
 *
 * Everything that it does ends with that process, so nothing here is ever undone.
 */
#ifndef AGENT_DUMP_PTRACE_HOLDER_H
#define AGENT_DUMP_PTRACE_HOLDER_H

#include "agent/dump/pause.h"

enum { PTRACE_HOLDER_THREADS_MAX = 16384 };

struct ptrace_held_thread {
    pid_t tid;
    int signal; /* what it was about to handle when it stopped, 0: nothing */
    bool ran;   /* it ran, or could have, before */
    bool stopped;
    bool ended;
};

/* What the holder tells, in memory that both processes see. */
struct ptrace_holder {
    enum pause_rc rc;
    struct err err; /* why, unless rc is PAUSE_OK */
    bool all;       /* there are no other threads than these */
    size_t count;
    struct ptrace_held_thread threads[PTRACE_HOLDER_THREADS_MAX];
};

/*
 * The holder's whole life: stops the process, writes a byte to `fd`, waits until the other
 * side closes it, and lets the process run on. Exit status 0: it was held until then.
 */
_Noreturn void ptrace_holder_run(pid_t pid, struct ptrace_holder *shared, int fd);

#endif

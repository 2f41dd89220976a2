/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause.h - stops a process for at most PAUSE_MAX_MS, without its parent noticing.
 *
 * Shape:   pause_begin, read the process, pause_end.
 * How:     a child process of ours stops all threads with ptrace (PTRACE_SEIZE,
 *          PTRACE_INTERRUPT) until it is told to end, we exit, or the time is up; a timer kills
 *          it if it hangs. In each case the kernel lets the threads continue when their tracer
 *          exits. No signal is sent to the target, so no parent sees a stop; a signal that
 *          arrives meanwhile is delivered.
 * Threads: pause_begin and pause_end on one thread; it forks. Beware:  a system call that the
 *          kernel does not restart, such as epoll_wait, ends with EINTR, as with any debugger
 *          (signal(7)).
 * Source:  ptrace(2).
 */
#ifndef AGENT_DUMP_PAUSE_H
#define AGENT_DUMP_PAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum {
    PAUSE_STOP_MS = 50, /* threads that have not stopped by then run on */
    PAUSE_HOLD_MS = 95, /* then the threads continue, read or not */
    PAUSE_MAX_MS = 100  /* then the holder is killed */
};

enum pause_rc {
    PAUSE_OK,
    PAUSE_GONE,   /* no such process */
    PAUSE_DENIED, /* no permission to trace it */
    PAUSE_FAILED  /* another tracer has it, or it could not be done in time */
};

struct pause;

/*
 * Stops all threads of a process.
 *
 * Gives:  *out, which the caller ends with pause_end; untouched on failure.
 * Errors: `err` says why; nothing is stopped then.
 */
MUST_CHECK enum pause_rc pause_begin(pid_t pid, struct pause **out, struct err *err);

/* Number of threads that did not stop in time and run on; 0: all are stopped. */
size_t pause_late(const struct pause *pause);

/* True if the thread was running or runnable when it was stopped. */
bool pause_ran(const struct pause *pause, pid_t tid);

/*
 * Lets the process continue. NULL is fine.
 *
 * Errors: false, and `err` says it: the process ran on before, because the time was up; or who
 *         stopped it hangs, and the process may stand still until that one ends.
 * Cost:   under a millisecond; a second if who stopped it hangs.
 */
bool pause_end(struct pause *pause, struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause.h - stops a process for at most PAUSE_MAX_MS, without its parent noticing.
 *
 * Shape:   pause_begin, read the process, pause_end.
 * How:     a child process, the holder (ptrace_holder.h), stops all threads with ptrace
 *          (PTRACE_SEIZE, PTRACE_INTERRUPT) until pause_end, our exit, or the end of the time. A
 *          timer kills the holder if it hangs. When it exits, the kernel lets the threads continue.
 *          No signal is sent to the target, so its parent sees no stop. Signals that arrive for the
 *          target meanwhile are delivered.
 * Threads: pause_begin and pause_end on one thread; it forks.
 * Beware:  in the target a system call that the kernel does not restart, such as epoll_wait, ends
 *          with EINTR, as under any debugger (signal(7)).
 * Source:  ptrace(2).
 */
#ifndef AGENT_DUMP_PAUSE_H
#define AGENT_DUMP_PAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum {
    PAUSE_STOP_MS = 50, /* the holder waits so long for threads to stop; later ones run on */
    PAUSE_HOLD_MS = 95, /* after it the holder lets the threads continue, read or not */
    PAUSE_MAX_MS = 100  /* after it a timer kills the holder; all since the holder's start */
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
 * Errors: `err` says why; no thread stays stopped.
 * Cost:   waits up to PAUSE_STOP_MS; two seconds if the holder hangs.
 */
MUST_CHECK enum pause_rc pause_begin(pid_t pid, struct pause **out, struct err *err);

/* Number of threads that run on because they did not stop in time; 0: all are stopped. */
size_t pause_late(const struct pause *pause);

/* True if the thread was running or runnable when it was stopped. */
bool pause_ran(const struct pause *pause, pid_t tid);

/*
 * Lets the process continue. NULL is fine.
 *
 * Errors: false, and `err` says which: the process continued earlier, at PAUSE_HOLD_MS; or the
 *         holder hangs and is killed, and the process may stay stopped until the holder has ended.
 * Cost:   under a millisecond; a second if the holder hangs.
 */
bool pause_end(struct pause *pause, struct err *err);

#endif

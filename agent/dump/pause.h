/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause.h - stops a process for a moment, without its parent noticing.
 *
 * Shape:   pause_begin, read the process, pause_end.
 * How:     a process of our own holds all threads by ptrace (PTRACE_SEIZE, PTRACE_INTERRUPT)
 *          until it is told, we are gone, or the time is up; it is killed by a timer if it
 *          hangs itself. Whichever it is, the kernel lets the threads run on when their
 *          tracer ends. No signal is sent to anybody, so no parent sees a stop, and a
 *          signal that arrives meanwhile is passed on.
 * Threads: pause_begin and pause_end on one thread; it forks.
 * Beware:  a system call that the kernel does not begin again by itself, as epoll_wait,
 *          ends with EINTR, as with any debugger (signal(7)).
 * Source:  ptrace(2).
 */
#ifndef AGENT_DUMP_PAUSE_H
#define AGENT_DUMP_PAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum {
    PAUSE_STOP_MS = 50, /* threads that have not stopped by then are left running */
    PAUSE_HOLD_MS = 95, /* then the threads go on, read or not */
    PAUSE_MAX_MS = 100  /* then whoever holds them is killed */
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

/* How many threads did not stop in time, and run on; 0: all are stopped. */
size_t pause_late(const struct pause *pause);

/* True if the thread ran, or could have, when it was stopped. */
bool pause_ran(const struct pause *pause, pid_t tid);

/* Lets the process run on. False: it did so before, as the time was up. NULL is fine. */
bool pause_end(struct pause *pause);

#endif

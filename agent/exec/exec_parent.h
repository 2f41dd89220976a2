/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/exec: knows how a command is started and what the first process of a container owes
 * it: signals, reaping, exit status. Does not know Python, samples and profiles.
 *
 * exec_parent.h - stands in front of a command as if it were not there, with a profiler that can be
 * lost.
 *
 * Three processes, as the first of a container must not fail: its end is the end of them all.
 *
 *     front ─┬─ command            where a process may be read by those beside it
 *            └─ profiler
 *
 *     front ── profiler ── command where Yama lets ancestors read only
 *
 * The front starts and reaps, passes signals on, and gives the command's exit status. It parses
 * nothing and talks to nobody. A profiler that crashes or hangs is ended and started anew; a
 * command below it comes to the front then, as all orphans do. The profiler does not reap the
 * command: so its status reaches the front, whatever became of the profiler.
 *
 * Threads: one.
 */
#ifndef AGENT_EXEC_EXEC_PARENT_H
#define AGENT_EXEC_EXEC_PARENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/child/heartbeat.h"
#include "base/err.h"

/* What a profiler works with. */
struct exec_profiler {
    pid_t root;                  /* whose descendants it is to profile */
    pid_t command;               /* if it is its parent, else 0 */
    struct heartbeat *heartbeat; /* turns must count on, or it is held for hung */
};

struct exec_parent {
    char **command;
    bool above; /* the profiler is to be the command's parent */
    bool
        group; /* signals are for all of the command's process group, where it has one of its own */
    /* Profiles until SIGTERM, which is blocked, in a process of its own; gives its exit status. */
    int (*profile)(void *ctx, const struct exec_profiler *profiler);
    void *ctx;
};

/* Runs the command to its end. Gives the exit status: its own, 128 + the signal that killed it, or
 * why it could not be run, which has been logged. */
MUST_CHECK int exec_parent_run(const struct exec_parent *parent);

/* In a profiler that is the command's parent, when a child has ended or stopped: reaps all but the
 * command. */
void exec_parent_reap_others(const struct exec_profiler *profiler);

#endif

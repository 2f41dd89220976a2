/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/exec: knows how a command is started and what the first process of a container owes
 * it: signals, reaping, exit status. Does not know Python, samples and profiles.
 *
 * exec_parent.h - starts a command as if we were not there, and beside it a profiler that may be
 * lost.
 *
 * Three processes, because the first process of a container must not fail: its end ends all others.
 *
 *     exec parent ─┬─ command              where a process may read those beside it
 *                  └─ profiler
 *
 *     exec parent ── profiler ── command   where Yama lets ancestors read only
 *
 * The exec parent starts and reaps, forwards signals, and returns the command's exit status. It
 * parses nothing and talks to nobody. A profiler that crashes or hangs is killed and restarted; a
 * command below it is then a child of the exec parent, as all orphans are. The profiler does not
 * reap the command, so the exec parent gets its status whatever happens to the profiler. Neither is
 * a child_process (agent/child): the exec parent reaps whatever ends, orphans among it.
 *
 * Threads: one.
 */
#ifndef AGENT_EXEC_EXEC_PARENT_H
#define AGENT_EXEC_EXEC_PARENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/child/heartbeat.h"
#include "base/err.h"

/* Arguments of the profiler. */
struct exec_profiler {
    pid_t root;                  /* it profiles the descendants of this process */
    pid_t command;               /* if the profiler is its parent; else 0 */
    bool first;                  /* false: one before it was lost */
    struct heartbeat *heartbeat; /* its turns must count on, or the profiler counts as hung */
};

struct exec_parent {
    char **command;
    bool above; /* the profiler is the command's parent */
    bool group; /* forward signals to the command's process group, if it has its own */
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/exec: knows how a command is started and what the first process of a container owes
 * it: signals, reaping, exit status. Does not know Python, samples and profiles.
 *
 * exec_parent.h - starts a command as if we were not there, and a profiler that may crash or hang.
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
    struct heartbeat *heartbeat; /* if its turns stand still for 30 s, the profiler is killed */
};

struct exec_parent {
    char **command; /* borrowed */
    bool above;     /* the profiler is the command's parent */
    bool group;     /* forward signals to the command's process group, if it has its own */
    /* In the profiler's process: profiles until SIGTERM (blocked); gives the exit status. */
    int (*profile)(void *ctx, const struct exec_profiler *profiler);
    void *ctx;
};

/* Runs the command to its end. Gives its exit status, 128 + the signal that killed it, or, after
 * logging why, the status for a command that cannot be run. */
MUST_CHECK int exec_parent_run(const struct exec_parent *parent);

/* In a profiler that is the command's parent, when a child has ended or stopped: reaps all but the
 * command, and tells the exec parent if the command has stopped. */
void exec_parent_reap_others(const struct exec_profiler *profiler);

#endif

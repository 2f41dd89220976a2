/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/exec: knows how a command is started, and the duties of the first process of a
 * container: signals, reaping, exit status. Does not know Python, samples and profiles.
 *
 * exec_parent.h - `pystrobe exec`: runs a command as if it ran alone, and a profiler, which may
 * crash or hang. The exec parent is a process of its own, because the first process of a container
 * must not fail: if it ends, all others end.
 *
 *     exec parent ─┬─ command              if a process may read its siblings
 *                  └─ profiler
 *
 *     exec parent ── profiler ── command   if Yama lets only ancestors read
 *
 * The exec parent starts and reaps, forwards signals, and returns the command's exit status. It
 * reads no data of others. It kills a profiler that hangs, and restarts one that was killed or
 * crashed. A command below a lost profiler becomes a child of the exec parent, as all orphans do.
 * The profiler does not reap the command, so the exec parent gets its status in any case.
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
    pid_t command;               /* the command, if the profiler is its parent; else 0 */
    bool first;                  /* false: it replaces one that was lost */
    struct heartbeat *heartbeat; /* borrowed; if its turns stand still for 30 s, it is killed */
};

struct exec_parent {
    char **command; /* borrowed; NULL after the last argument */
    bool above;     /* the profiler is the command's parent */
    bool group;     /* forward signals to the command's process group, if it has its own */
    /* Called in the profiler's process: profiles until SIGTERM, which is blocked; returns that
     * process's exit status. */
    int (*profile)(void *ctx, const struct exec_profiler *profiler);
    void *ctx;
};

/* Runs the command to its end. Gives its exit status, or 128 + the signal that killed it. If it
 * cannot be run, logs why and gives EXIT_NOT_FOUND, EXIT_CANNOT_RUN or EXIT_NOT_STARTED. */
MUST_CHECK int exec_parent_run(const struct exec_parent *parent);

/* For a profiler that is the command's parent, after SIGCHLD: reaps its children but the command,
 * and reports to the exec parent if the command has stopped. */
void exec_parent_reap_others(const struct exec_profiler *profiler);

#endif

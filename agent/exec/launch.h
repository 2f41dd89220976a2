/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - starts a command with the signals, terminal, session and descriptors that it would
 * have without us.
 *
 * Shape:   launch_prepare once; launch_start in the process that will be the command's parent;
 *          launch_result in the process that waits for the outcome.
 * Threads: there are none yet.
 */
#ifndef AGENT_EXEC_LAUNCH_H
#define AGENT_EXEC_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Process group and session of the command. */
enum launch_process_group {
    LAUNCH_SHARED,  /* in our process group: a job of a shell, which stops and goes on as a whole */
    LAUNCH_GROUP,   /* in a group of its own, in the foreground if ours was: we lead the session */
    LAUNCH_SESSION, /* leads a session of its own: we lead one, too, and there is no terminal */
};

struct launch {
    char **command; /* borrowed */
    sigset_t mask;  /* the signals that were blocked before us */
    struct sigaction on_child;
    enum launch_process_group process_group;
    int terminal;      /* whose foreground group we are; -1: none */
    pid_t exec_parent; /* pid of the exec parent */
    int report[2];
};

/*
 * Saves what the command gets back, blocks all signals that can be forwarded, and makes this
 * process the parent of orphans. False: `err` says why not.
 */
MUST_CHECK bool launch_prepare(struct launch *launch, char **command, struct err *err);

/* Starts the command as a child of the calling process. Gives its pid, -1: it has none. */
pid_t launch_start(struct launch *launch);

/*
 * Waits until the command runs.
 *
 * Gives:  EXIT_OK and *out_pid, or the exit status for a command that does not run; `err` says
 *         why, and its process, if there is one, is still to be reaped.
 */
MUST_CHECK int launch_result(struct launch *launch, pid_t *out_pid, struct err *err);

/* Releases what belongs to the command: closes input, output and other descriptors, and changes to
 * / so that no mount is held. Keeps stderr, for the log. */
void launch_let_go(void);

#endif

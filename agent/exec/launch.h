/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - starts a command with the signals, terminal, session and descriptors that it would
 * have without us.
 *
 * Shape:   launch_prepare once; launch_start in the process that will be the command's parent;
 *          launch_result in the process that waits for the outcome.
 * Threads: before any is started.
 */
#ifndef AGENT_EXEC_LAUNCH_H
#define AGENT_EXEC_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Process group and session of the command. */
enum launch_process_group {
    LAUNCH_SHARED,  /* in our group: we lead no session, and are one job of a shell */
    LAUNCH_GROUP,   /* in its own group, foreground if ours was: we lead a session with terminal */
    LAUNCH_SESSION, /* in its own session: we lead one without a terminal */
};

struct launch {
    char **command;            /* borrowed */
    sigset_t mask;             /* of signals, for the command: as it was */
    struct sigaction on_child; /* SIGCHLD, for the command: as it was */
    enum launch_process_group process_group;
    int terminal;      /* owned: whose foreground group we are; -1: none */
    pid_t exec_parent; /* who has called launch_prepare */
    int report[2];     /* owned: pipe, for launch_result */
};

/*
 * Saves what the command gets back, blocks all signals that can be forwarded, and makes this
 * process the parent of orphans. False: `err` says why not.
 */
MUST_CHECK bool launch_prepare(struct launch *launch, char **command, struct err *err);

/* Starts the command as a child of this process. Gives its pid; -1: launch_result says why. */
pid_t launch_start(struct launch *launch);

/*
 * Waits until the command runs.
 *
 * Gives:  EXIT_OK, or the exit status for a command that does not run, and `err` says why.
 *         *out_pid: its process, still to be reaped in either case; 0: none.
 */
MUST_CHECK int launch_result(struct launch *launch, pid_t *out_pid, struct err *err);

/* Releases what belongs to the command: closes input, output and other descriptors, and changes to
 * / so that no mount is held. Keeps stderr, for the log. */
void launch_let_go(void);

#endif

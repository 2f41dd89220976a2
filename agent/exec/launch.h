/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - starts a command with the signals, terminal, session and descriptors that it would
 * have without us.
 *
 * Shape:   launch_prepare once; launch_start in the process that will be the command's parent;
 *          launch_result in the one that called launch_prepare, after close(report[1]) if it is not
 *          the parent.
 * Threads: the process must have only one.
 */
#ifndef AGENT_EXEC_LAUNCH_H
#define AGENT_EXEC_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Process group and session of the command. */
enum launch_process_group {
    LAUNCH_SHARED,  /* in our group; we lead no session, and are one job of a shell */
    LAUNCH_GROUP,   /* in its own group, foreground if ours was; we lead a session with terminal */
    LAUNCH_SESSION, /* in its own session; we lead one without a terminal */
};

struct launch {
    char **command;            /* borrowed */
    sigset_t mask;             /* signal mask before launch_prepare; the command gets it back */
    struct sigaction on_child; /* action of SIGCHLD before; the command gets it back */
    enum launch_process_group process_group;
    int terminal;      /* owned: the terminal, if our group is in its foreground; -1: it is not */
    pid_t exec_parent; /* the process that called launch_prepare */
    int report[2];     /* owned: pipe from the command's process to launch_result */
};

/*
 * Saves the signal settings for the command, blocks all signals that can be forwarded, and makes
 * this process the parent of orphans. False: `err` says why not.
 */
MUST_CHECK bool launch_prepare(struct launch *launch, char **command, struct err *err);

/* Forks the command's process. Gives its pid; -1: no process. launch_result tells the outcome. */
pid_t launch_start(struct launch *launch);

/*
 * Waits until the command is executed or has failed.
 *
 * Gives:  EXIT_OK; or EXIT_NOT_FOUND, EXIT_CANNOT_RUN or EXIT_NOT_STARTED, and `err` says why.
 *         *out_pid: its process, which its parent must reap in either case; 0: none.
 */
MUST_CHECK int launch_result(struct launch *launch, pid_t *out_pid, struct err *err);

/* Releases resources that only the command needs: replaces stdin and stdout by /dev/null, closes
 * all descriptors above stderr, and changes to "/". Keeps stderr, for the log. */
void launch_let_go(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - runs the user's command below `pystrobe record` or `top`, forwards signals to it, and
 * returns its exit status.
 *
 * The command keeps our standard streams, process group and terminal. Unlike a child_process
 * (agent/child) it has no deadline and is never killed.
 */
#ifndef AGENT_EXEC_COMMAND_H
#define AGENT_EXEC_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "base/err.h"

struct command {
    pid_t pid;       /* 0: it was not started */
    bool ended;      /* and reaped */
    int exit_status; /* once it has ended: its own, or 128 + the signal that killed it */
};

/* Blocks the signals that the engine reports, and ignores SIGPIPE. *reported: the blocked signals,
 * SIGCHLD among them; *before: the signal mask before the call. */
void command_block_signals(sigset_t *reported, sigset_t *before);

/* Starts a command with the signal mask `mask`, and makes this process the parent of its orphans.
 * Gives EXIT_OK; or EXIT_NOT_FOUND, EXIT_CANNOT_RUN or EXIT_NOT_STARTED, and `err` says why. */
MUST_CHECK int command_start(struct command *child, char **argv, const sigset_t *mask,
                             struct err *err);

/* Reaps all children that have ended, including orphans; updates *child. */
void command_reap(struct command *child);

/*
 * Handles a signal that the engine reported: reaps children after SIGCHLD, forwards others to the
 * command. A signal of the terminal is not forwarded, because the terminal sends it to both.
 */
void command_handle(struct command *child, const struct signalfd_siginfo *info);

/* Waits until the command has ended, and forwards signals meanwhile. Gives child->exit_status. */
int command_wait(struct command *child);

/* Gives the number of running processes for which command_is_ours is true, which may be above
 * `max`, and writes the pids of up to `max` of them. */
size_t command_descendants(pid_t *out, size_t max);

/* True if the process descends from us, and is not itself a child of child_process.h. */
MUST_CHECK bool command_is_ours(pid_t pid);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - runs a command, forwards signals to it, and returns its exit status.
 *
 * The command keeps our standard streams, process group and terminal; it gets the signal mask that
 * was set before ours. It is no child_process (agent/child): it is the user's, has no deadline, and
 * is never killed.
 */
#ifndef AGENT_EXEC_COMMAND_H
#define AGENT_EXEC_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "base/err.h"

struct command {
    pid_t pid;
    bool ended;
    int exit_status; /* once it has ended: its own, or 128 + the signal that killed it */
};

/* Blocks the signals that the engine is to report; `before` gets the mask that was there. */
void command_block_signals(sigset_t *reported, sigset_t *before);

/* Starts a command. Gives EXIT_OK, or the exit status for a command that cannot be run. */
MUST_CHECK int command_start(struct command *child, char **argv, const sigset_t *mask,
                             struct err *err);

/* Collects all children that have ended: ours, and orphans that came to us. */
void command_reap(struct command *child);

/*
 * Handles a signal that the engine reported: reaps, or passes it on to the command.
 * What the terminal sent, the command has got already.
 */
void command_handle(struct command *child, const struct signalfd_siginfo *info);

/* Waits for the command if it runs still; gives its exit status. Signals are passed on. */
int command_wait(struct command *child);

/* Finds those that the command has started and that have not ended: up to `max` of them. Gives how
 * many there are. */
size_t command_descendants(pid_t *out, size_t max);

/* True if the process descends from us, and is no process of our own that child_process.h started.
 */
MUST_CHECK bool command_is_ours(pid_t pid);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - runs a command, forwards signals to it, and returns its exit status.
 *
 * The command keeps our standard streams, process group and terminal. It is no child_process
 * (agent/child): it is the user's, has no deadline, and is never killed.
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

/* Blocks the signals that the engine is to report, and ignores SIGPIPE; *before is the mask until
 * then. */
void command_block_signals(sigset_t *reported, sigset_t *before);

/* Starts a command with a signal mask, and makes us the parent of its orphans. Gives EXIT_OK, or
 * the exit status for a command that cannot be run, and `err` says why. */
MUST_CHECK int command_start(struct command *child, char **argv, const sigset_t *mask,
                             struct err *err);

/* Reaps all children that have ended, orphans among them. */
void command_reap(struct command *child);

/*
 * Handles a signal that the engine reported: reaps, or forwards it to the command, unless the
 * terminal sent it, which sends it to the command, too.
 */
void command_handle(struct command *child, const struct signalfd_siginfo *info);

/* Waits until the command has ended, and forwards signals to it. Gives its exit status. */
int command_wait(struct command *child);

/* Gives how many processes that command_is_ours holds for have not ended, and the pids of up to
 * `max` of them. */
size_t command_descendants(pid_t *out, size_t max);

/* True if the process descends from us, and was not started by child_process.h. */
MUST_CHECK bool command_is_ours(pid_t pid);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_targets.h - the processes that a command line names by --pid, --target or -- COMMAND:
 * which they are, what they are called, and when there will be no more of them.
 *
 * Shape:   fill the words in, aim_fits, aim_begin; aim_choose as an engine asks; aim_finish.
 * Threads: one.
 */
#ifndef AGENT_CLI_COMMAND_TARGETS_H
#define AGENT_CLI_COMMAND_TARGETS_H

#include "agent/discover/proc_info.h"
#include "agent/exec/command.h"
#include "agent/sampling/engine.h"

struct aim {
    /* The words; exactly one of pid, target and command. Borrowed. */
    pid_t pid;
    bool children; /* of `pid`, too */
    const char *target;
    char **command;
    /* What comes of them. */
    struct choice choice;
    struct facts *facts; /* owned: for names */
    struct child child;  /* that the command became */
};

/* True if the words make sense together; else says what is wrong, as `command` (record, ...). */
MUST_CHECK bool aim_fits(const struct aim *aim, const char *command);

/* Names what is sampled, in aim->choice. False: out of memory. */
MUST_CHECK bool aim_begin(struct aim *aim);

/* Is this process meant? For engine_settings.choose. */
MUST_CHECK bool aim_choose(const struct aim *aim, pid_t pid, struct choice *out);

/* True once all that was meant has ended, or cannot be sampled at all. */
MUST_CHECK bool aim_is_over(const struct aim *aim, const struct engine_stats *stats,
                            uint64_t start_ns);

/* Says why nothing was sampled; gives the exit status. */
int aim_explain_nothing(const struct aim *aim, const struct engine_stats *stats);

/* Frees what it holds; the command runs on. */
void aim_finish(struct aim *aim);

#endif

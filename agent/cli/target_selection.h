/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_selection.h - the processes that a command line names by --pid, --target or -- COMMAND:
 * which they are, what they are called, and when there will be no more of them.
 *
 * Shape:   fill the words in, target_selection_fits, target_selection_begin;
 *          target_selection_choose as an engine asks; target_selection_finish.
 * Threads: one.
 */
#ifndef AGENT_CLI_TARGET_SELECTION_H
#define AGENT_CLI_TARGET_SELECTION_H

#include "agent/discover/descendants.h"
#include "agent/discover/proc_info.h"
#include "agent/exec/command.h"
#include "agent/sampling/engine.h"

enum { LIKELY_MAX = 8 };

/* A process that is taken for a descendant by its process group. */
struct likely_descendant {
    pid_t pid;
    char command[80]; /* cut; may hold any bytes */
};

struct target_selection {
    /* The words; exactly one of pid, target and command. Borrowed. */
    pid_t pid;
    bool children; /* of `pid`, too */
    const char *target;
    char **command;
    struct proc_reader *reader; /* borrowed; NULL: names are read without a limit in time */
    /* What comes of them. */
    struct target_profile profile;
    struct proc_info *info;          /* owned: for names */
    struct command child;            /* that the command became */
    struct descendants *descendants; /* owned: with `children`, else NULL */
    struct likely_descendant likely[LIKELY_MAX];
    size_t likely_count;
    uint64_t start;   /* of process `pid`; 0: not known */
    uint64_t last_ns; /* monotonic: when something was sampled last; 0: never yet */
};

/* True if the words make sense together; else says what is wrong, as `command` (record, ...). */
MUST_CHECK bool target_selection_fits(const struct target_selection *selection,
                                      const char *command);

/* Names what is sampled, in aim->choice. False: out of memory. */
MUST_CHECK bool target_selection_begin(struct target_selection *selection);

/* Is this process meant? For engine_settings.choose. */
MUST_CHECK bool target_selection_choose(struct target_selection *selection, pid_t pid,
                                        const struct proc_stat *stat, struct target_profile *out);

/* True once all that was meant has ended, or could not be sampled for a second. */
MUST_CHECK bool target_selection_is_over(struct target_selection *selection,
                                         const struct engine_stats *stats, uint64_t start_ns);

/* Says why it is over, once target_selection_is_over has said so: a process that has ended is told
 * from one that goes on, but cannot be sampled any more. */
void target_selection_explain_end(const struct target_selection *selection,
                                  const struct engine_stats *stats, struct buf *out);

/* Says which processes are taken for descendants, and which may be missing; and which descendants
 * of a command that has ended go on. */
void target_selection_explain_descent(const struct target_selection *selection, struct buf *out);

/* Says why nothing was sampled; gives the exit status. */
int target_selection_explain_nothing(const struct target_selection *selection,
                                     const struct engine_stats *stats,
                                     const struct cpy_stats *unwinder);

/* Frees what it holds; the command runs on. */
void target_selection_finish(struct target_selection *selection);

#endif

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
    uint64_t start;   /* of process `pid`, in clock ticks after boot; 0: not known */
    uint64_t last_ns; /* monotonic: when something was sampled last, else the start; 0: neither */
};

/* True if the words make sense together; else says what is wrong, as `command` (record, ...). */
MUST_CHECK bool target_selection_fits(const struct target_selection *selection,
                                      const char *command);

/* Sets the profile's service; the caller has set its rate, labels and options before. False: out of
 * memory. */
MUST_CHECK bool target_selection_begin(struct target_selection *selection);

/* Is this process meant? For engine_settings.choose. */
MUST_CHECK bool target_selection_choose(struct target_selection *selection, pid_t pid,
                                        const struct proc_stat *stat, struct target_profile *out);

/* True once the command or the process has ended, or nothing was sampled for a second. To be called
 * again and again. */
MUST_CHECK bool target_selection_is_over(struct target_selection *selection,
                                         const struct engine_stats *stats, uint64_t start_ns);

/* Says why it is over, once target_selection_is_over has said so: it distinguishes a
 * process that has ended from one that runs on, but cannot be sampled any more. */
void target_selection_explain_end(const struct target_selection *selection,
                                  const struct engine_stats *stats, struct buf *out);

/* Says which processes are taken for descendants, which may be missing, and which have outlived
 * the command. */
void target_selection_explain_descent(const struct target_selection *selection, struct buf *out);

/* Says why nothing was sampled; gives the exit status. */
int target_selection_explain_nothing(const struct target_selection *selection,
                                     const struct engine_stats *stats,
                                     const struct cpy_stats *unwinder);

/* Frees what it holds; the command runs on. */
void target_selection_finish(struct target_selection *selection);

#endif

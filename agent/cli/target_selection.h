/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_selection.h - the processes that a command line names by --pid, --target or -- COMMAND:
 * which they are, what they are called, and when there will be no more of them.
 *
 * Shape:   set the first fields, target_selection_fits, target_selection_begin;
 *          target_selection_choose as an engine asks; target_selection_finish.
 * Threads: one.
 */
#ifndef AGENT_CLI_TARGET_SELECTION_H
#define AGENT_CLI_TARGET_SELECTION_H

#include "agent/discover/descendants.h"
#include "agent/discover/proc_info.h"
#include "agent/exec/command.h"
#include "agent/sampling/engine.h"

enum { LIKELY_MAX = 8 }; /* noted for a message; others are sampled as well */

/* A process whose parent has ended: only its process group says that it is a descendant. */
struct likely_descendant {
    pid_t pid;
    char command[80]; /* cut; may hold any bytes */
};

struct target_selection {
    /* Set by the caller. Exactly one of pid, target and command is set; the others are 0 or NULL.
     * Borrowed. */
    pid_t pid;
    bool children;      /* of `pid`, too */
    const char *target; /* name of a service, or path of its script; no pattern */
    char **command;
    struct proc_reader *reader;    /* NULL: names are read without a time limit */
    struct target_profile profile; /* without its service, which target_selection_begin sets */
    /* Set by the functions below, but `child` by the caller, once it has started it. */
    struct proc_info *info;          /* owned: for names */
    struct command child;            /* the running `command` */
    struct descendants *descendants; /* owned: of `pid`, with `children`; else NULL */
    struct likely_descendant likely[LIKELY_MAX];
    size_t likely_count;
    uint64_t start;   /* of process `pid`, in clock ticks after boot; 0: not known */
    uint64_t last_ns; /* monotonic: when something was sampled last, else the start; 0: neither */
};

/* True if what the caller has set fits together; else prints why not. `command`: record, ... */
MUST_CHECK bool target_selection_fits(const struct target_selection *selection,
                                      const char *command);

/* Sets the profile's service, and opens `info` and `descendants`. False: out of memory;
 * target_selection_finish is due all the same. */
MUST_CHECK bool target_selection_begin(struct target_selection *selection);

/* True if this process is to be sampled; *out says how. For engine_settings.choose. */
MUST_CHECK bool target_selection_choose(struct target_selection *selection, pid_t pid,
                                        const struct proc_stat *stat, struct target_profile *out);

/* To be called repeatedly. With a command: true once it has ended. Else: true once nothing was
 * sampled for a second, or, without `children`, `pid` has ended. `start_ns`: monotonic start. */
MUST_CHECK bool target_selection_is_over(struct target_selection *selection,
                                         const struct engine_stats *stats, uint64_t start_ns);

/* If `pid` is set, appends why target_selection_is_over gave true: the process has ended, or runs
 * on and cannot be sampled any more. */
void target_selection_explain_end(const struct target_selection *selection,
                                  const struct engine_stats *stats, struct buf *out);

/* Appends which processes count as descendants by their process group, whether others may be
 * missing, and which go on after the command has ended. */
void target_selection_explain_descent(const struct target_selection *selection, struct buf *out);

/* Prints why nothing was sampled; gives the exit status. */
int target_selection_explain_nothing(const struct target_selection *selection,
                                     const struct engine_stats *stats,
                                     const struct cpy_stats *unwinder);

/* Frees what it holds; the command runs on. */
void target_selection_finish(struct target_selection *selection);

#endif

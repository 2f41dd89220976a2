/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_selection.h - selects the processes to sample: those that the user names with --pid or
 * --target, or those of a COMMAND that pystrobe starts. Also finds the name of the service that
 * their profile belongs to, and tells when the processes have ended.
 *
 * Shape:   The caller sets the first group of fields, then calls target_selection_fits,
 *          target_selection_begin and, if there is a COMMAND, command_start. The engine calls
 *          target_selection_choose for each process that it finds. Meanwhile the caller calls
 *          target_selection_is_over about once a second. Last: target_selection_finish.
 * Threads: one.
 */
#ifndef AGENT_CLI_TARGET_SELECTION_H
#define AGENT_CLI_TARGET_SELECTION_H

#include "agent/discover/descendants.h"
#include "agent/discover/proc_info.h"
#include "agent/exec/command.h"
#include "agent/sampling/engine.h"

/* Most processes that target_selection_explain_descent names for each reason. */
enum { LIKELY_MAX = 8 };

/* An orphan that --children samples as a likely descendant: DESCENT_LIKELY in descendants.h. */
struct likely_descendant {
    pid_t pid;
    char command[80]; /* its command line, cut; ends with a 0 byte, may hold any other bytes */
};

/* All fields must be 0 or NULL at first. */
struct target_selection {
    /* The caller sets these fields. Of pid, target and command exactly one is set; the other two
     * are 0 or NULL. All pointers are borrowed until target_selection_finish. */
    pid_t pid;                  /* --pid: sample this process */
    bool children;              /* --children: sample all descendants of `pid`, too */
    const char *target;         /* --target: name of a service, or path of a script [DIR/]NAME.py */
    char **command;             /* COMMAND and its arguments, NULL after the last */
    struct proc_reader *reader; /* reads /proc with a time limit; NULL: read without one */
    /* How to sample. target_selection_begin sets profile.service and, with --pid, the labels and
     * other fields that naming_apply sets. Holds no pointers, so a copy stays valid. */
    struct target_profile profile;

    /* The running `command`. The caller sets this field with command_start, between
     * target_selection_begin and the first target_selection_is_over. */
    struct command child;

    /* The functions below set these. */
    struct proc_info *info;          /* owned: reads /proc to find the name of a service */
    struct descendants *descendants; /* owned: the descendants of `pid`; NULL without `children` */
    struct likely_descendant likely[LIKELY_MAX];
    size_t likely_count;  /* entries used in `likely` */
    uint64_t start_ticks; /* start of process `pid`, to notice a reused pid: clock ticks after
                             boot; 0: not known */
    /* CLOCK_MONOTONIC: last call of target_selection_is_over that found a process being sampled; if
     * none has yet, start of the recording. 0: not called yet, or there is a COMMAND. */
    uint64_t last_sample_ns;
};

/* Checks whether pid, target, command and children fit together. If not, returns false and prints
 * the reason to stderr; `subcommand` is the name to print, such as "record". */
MUST_CHECK bool target_selection_fits(const struct target_selection *selection,
                                      const char *subcommand);

/* Sets profile.service to the name from COMMAND, from --target or, with --pid, from /proc; also
 * `info`, `descendants` and start_ticks. Returns false, without a message, if out of memory. Call
 * target_selection_finish in both cases. */
MUST_CHECK bool target_selection_begin(struct target_selection *selection);

/* Tells whether to sample process `pid`, whose stat file is *stat. With `command`: if it descends
 * from pystrobe, except for pystrobe's own helper processes. With `target`: if its service has that
 * name, and it does not set PYSTROBE_DISABLE. With selection->pid: if it is that process or, with
 * `children`, descends from it. Copies `profile` to *out in all cases, for engine_settings.choose.
 * Cost: a command_line_read for a process that is added to `likely`. */
MUST_CHECK bool target_selection_choose(struct target_selection *selection, pid_t pid,
                                        const struct proc_stat *stat, struct target_profile *out);

/*
 * Tells whether the recording, which began at `start_ns` (CLOCK_MONOTONIC), is over. Also updates
 * `descendants`.
 *
 * With `command`: true when the command has ended.
 * With `target`, or with `pid` and `children`: true when no process has been sampled for more than
 * one second. (Processes that sleep are sampled, too.)
 * With `pid` alone: true when the process has ended, or has not been sampled for more than one
 * second.
 */
MUST_CHECK bool target_selection_is_over(struct target_selection *selection,
                                         const struct engine_stats *stats, uint64_t start_ns);

/* With `pid`, appends a line that says why target_selection_is_over returned true: the process has
 * ended, or it still runs but can no longer be sampled. Otherwise appends nothing. */
void target_selection_explain_end(const struct target_selection *selection,
                                  const struct engine_stats *stats, struct buf *out);

/*
 * Appends, as far as they apply:
 * - if `command` has ended, a line for each process that it has started and that still runs,
 *   LIKELY_MAX at most, and a line that counts the others. Cost: a command_line_read for each
 *   process that is named;
 * - a line for each process in `likely`;
 * - a line that descendants of `pid` may be missing, because the kernel did not report all starts.
 */
void target_selection_explain_descent(const struct target_selection *selection, struct buf *out);

/* Prints to stderr why nothing was sampled; returns the exit status for that. */
int target_selection_explain_nothing(const struct target_selection *selection,
                                     const struct engine_stats *stats,
                                     const struct cpy_stats *unwinder);

/* Frees `info` and `descendants`. Leaves the command running, and the borrowed pointers alone. */
void target_selection_finish(struct target_selection *selection);

#endif

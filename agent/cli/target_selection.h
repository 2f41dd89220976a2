/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_selection.h - selects the processes to sample: those that the user names with --pid or
 * --target, or those of a COMMAND that pystrobe starts. Finds out the name of their service, under
 * which their profile is kept, and when the processes have ended.
 *
 * Shape:   The caller sets the first group of fields, then calls target_selection_fits,
 *          target_selection_begin and, if there is a COMMAND, command_start. The engine calls
 *          target_selection_choose for each process that it finds, the caller calls
 *          target_selection_is_over now and then. Last: target_selection_finish.
 * Threads: one.
 */
#ifndef AGENT_CLI_TARGET_SELECTION_H
#define AGENT_CLI_TARGET_SELECTION_H

#include "agent/discover/descendants.h"
#include "agent/discover/proc_info.h"
#include "agent/exec/command.h"
#include "agent/sampling/engine.h"

/* How many likely descendants a message names at most. Further ones are sampled, but not named. */
enum { LIKELY_MAX = 8 };

/* A process that counts as a descendant only by its process group, because its parent has ended. */
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
    const char *target;         /* --target: exact name of a service, or path of its script */
    char **command;             /* COMMAND and its arguments, NULL after the last */
    struct proc_reader *reader; /* reads /proc with a time limit; NULL: read without one */
    /* How to sample; target_selection_begin sets profile.service. Contains no pointers, so copies
     * stay valid. */
    struct target_profile profile;

    /* The running `command`. The caller sets this field with command_start, between
     * target_selection_begin and the first target_selection_is_over. */
    struct command child;

    /* The functions below set these. */
    struct proc_info *info;          /* owned: reads /proc to find the name of a service */
    struct descendants *descendants; /* owned: the descendants of `pid`; NULL without `children` */
    struct likely_descendant likely[LIKELY_MAX];
    size_t likely_count;  /* entries used in `likely` */
    uint64_t start_ticks; /* start of process `pid`, in clock ticks after boot; 0: not known */
    /* CLOCK_MONOTONIC: when target_selection_is_over last found that a process is sampled; if it
     * never did, the `start_ns` that it was given. 0 before its first call. */
    uint64_t last_sample_ns;
};

/* Checks whether pid, target, command and children fit together. If not, returns false and prints
 * the reason to stderr; `subcommand` is the name to print, such as "record". */
MUST_CHECK bool target_selection_fits(const struct target_selection *selection,
                                      const char *subcommand);

/* Fills in profile.service, and opens `info` and `descendants`. Returns false if out of memory.
 * Call target_selection_finish in both cases. */
MUST_CHECK bool target_selection_begin(struct target_selection *selection);

/* Tells whether to sample process `pid`, and copies `profile` to *out in both cases. Meant for
 * engine_settings.choose. */
MUST_CHECK bool target_selection_choose(struct target_selection *selection, pid_t pid,
                                        const struct proc_stat *stat, struct target_profile *out);

/*
 * Tells whether the recording is over. `start_ns` is when it began (CLOCK_MONOTONIC).
 *
 * With `command`: true when the command has ended.
 * With `target`, or with `pid` and `children`: true when for more than one second no process was
 * under sampling. (A process that sleeps is under sampling, too.)
 * With `pid` alone: true when for more than one second the process was not under sampling, or when
 * it has ended.
 */
MUST_CHECK bool target_selection_is_over(struct target_selection *selection,
                                         const struct engine_stats *stats, uint64_t start_ns);

/* With `pid`, appends a line that says why target_selection_is_over returned true: the process has
 * ended, or it still runs but can no longer be sampled. Otherwise appends nothing. */
void target_selection_explain_end(const struct target_selection *selection,
                                  const struct engine_stats *stats, struct buf *out);

/*
 * Appends a line for each of these that applies; nothing if none does:
 * - a process that the ended command has started still runs, and is no longer sampled;
 * - a process counts as a descendant only by its process group (`likely`);
 * - some descendants of `pid` may have been missed, because the kernel did not report all starts.
 */
void target_selection_explain_descent(const struct target_selection *selection, struct buf *out);

/* Prints to stderr why nothing was sampled; returns the exit status for that. */
int target_selection_explain_nothing(const struct target_selection *selection,
                                     const struct engine_stats *stats,
                                     const struct cpy_stats *unwinder);

/* Frees `info` and `descendants`. Leaves the command running, and the borrowed pointers alone. */
void target_selection_finish(struct target_selection *selection);

#endif

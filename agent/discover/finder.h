/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/discover: knows which processes are to be profiled, under which service name and
 * labels. Does not know how a process is sampled.
 *
 * finder.h - finds the processes that are wanted, and remembers how we stand with each.
 *
 * /proc is read each five seconds; between, who is new is found by the numbers that the kernel has
 * handed out since. A process is looked at once for each program that it runs: rules are not cheap.
 * What tells one process from the next with its pid is the inode of its directory in /proc, which
 * reading /proc gives for nothing. That it runs another program the kernel tells (execs.h); where
 * it does not, each scan asks every unwanted process for its CPU time, one short system call, and
 * compares the executable of those that ran for long enough to have begun another program.
 *
 * It never reads a process's memory: whoever takes a process opens and samples it, here or
 * in another process, and tells back how that went.
 *
 * Shape:   finder_new; finder_scan whenever finder_next_ns is over; for each process that
 *          was taken finder_put_off or finder_ended; finder_free.
 * Threads: one.
 */
#ifndef AGENT_DISCOVER_FINDER_H
#define AGENT_DISCOVER_FINDER_H

#include "agent/discover/target_profile.h"
#include "agent/proc/proc.h"
#include "unwind/cpy.h"

struct finder_settings {
    /* Is this process wanted? Not called for pystrobe itself nor for zombies. */
    bool (*choose)(void *choose_ctx, pid_t pid, const struct proc_stat *stat,
                   struct target_profile *out);
    void *choose_ctx;
    /* A wanted process is there: sample it. May call finder_put_off at once. */
    void (*take)(void *ctx, struct proc_id id, const struct target_profile *profile);
    /* A process that was taken is not there any more. It is forgotten already. */
    void (*lost)(void *ctx, struct proc_id id);
    void *ctx;        /* of take and lost */
    uint64_t scan_ns; /* how often /proc is looked through for processes */
    pid_t only;       /* look at this process alone; 0: at all of /proc */
    bool eager;       /* look five times a second, and at first still more often */
    bool polls;       /* look for execs, do not let the kernel tell them */
};

/* Processes now, but for the last four. */
struct finder_stats {
    size_t known, unwanted, foreign, waiting, taken;
    bool notices;    /* the kernel tells of execs */
    uint64_t whole;  /* how often /proc was read as nobody could tell who is new */
    uint64_t looks;  /* how often the rules were tried on one */
    uint64_t checks; /* how often one's program was compared, to find execs */
    uint64_t unseen; /* processes beyond FINDER_MAX, in the last scan */
};

/* Processes that are remembered. Others are not looked at. */
enum { FINDER_MAX = 65536 };

struct finder;

/* Gives: the finder, ended with finder_free; NULL: out of memory. */
MUST_CHECK struct finder *finder_new(const struct finder_settings *settings);

/*
 * The rules have changed: tries them on all processes anew, at the next scans, which begin at
 * once. A process that was taken is lost unless it is wanted still and `holds` says that it is
 * sampled just so; its ctx is that of `take`.
 */
void finder_reconsider(struct finder *finder, uint64_t scan_ns,
                       bool (*holds)(void *ctx, struct proc_id id,
                                     const struct target_profile *profile));

/*
 * Looks up to `factor` times more rarely from now on, as far as that is needed for scans to take no
 * more than `share` of a core; but each five seconds at least, or as asked if that is more rarely.
 * 1: as asked.
 */
void finder_stretch(struct finder *finder, double factor, double share);

/* Looks at all processes now. */
void finder_scan(struct finder *finder, uint64_t now_ns);

/* When to look next, on the monotonic clock; 0: at once. */
uint64_t finder_next_ns(const struct finder *finder);

/* A process that was taken cannot be sampled now: it is taken again later, ever more rarely. */
void finder_put_off(struct finder *finder, struct proc_id id, enum cpy_rc rc, const struct err *err,
                    uint64_t now_ns);

/* A process that was taken is sampled: if it fails later on, it is soon taken again. */
void finder_began(struct finder *finder, struct proc_id id);

/* A process that was taken has ended, as far as its taker knows. */
void finder_ended(struct finder *finder, struct proc_id id);

void finder_stats(const struct finder *finder, struct finder_stats *out);

/* Ends it, without a word to the takers. NULL is fine. */
void finder_free(struct finder *finder);

#endif

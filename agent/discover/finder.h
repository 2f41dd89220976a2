/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/discover: knows which processes are to be profiled, under which service name and
 * labels. Does not know how a process is sampled.
 *
 * finder.h - finds the processes that match the rules, and keeps the state of each.
 *
 * The kernel reports the children of processes that were taken, and wakes up who waits for
 * finder_births_fd: they are looked at some milliseconds later, when those that were started to
 * execute another program have done so. Where it does not, and for those whose parents are not
 * wanted: for two seconds after a scan that found a process to sample, scans come each 20 ms,
 * or more rarely so that they take at most 0.3 of the limit: who has started one may start others,
 * and these may be over soon.
 *
 * /proc is read each five seconds; in between, new processes are found by the pids that the kernel
 * has handed out since. The rules are tried once for each program that a process runs, because they
 * are not cheap. A reused pid is recognised by the inode of /proc/PID, which reading /proc gives
 * for free. The kernel reports execs (execs.h); where it does not, each scan reads the CPU time of
 * every unwanted process, one short system call, and compares the executable of those that ran for
 * long enough to have started another program.
 *
 * The finder never reads a process's memory: the receiver of `take` opens and samples the process,
 * here or in another process, and reports the result.
 *
 * Shape:   finder_new; finder_run when finder_next_ns is over; for each process that was taken
 *          finder_put_off or finder_ended; finder_free.
 * Threads: one.
 */
#ifndef AGENT_DISCOVER_FINDER_H
#define AGENT_DISCOVER_FINDER_H

#include "agent/discover/target_profile.h"
#include "agent/proc/proc.h"
#include "unwind/cpy.h"

struct finder_settings {
    /* Decides whether a process is sampled. Not called for pystrobe itself or for zombies. False
     * with out->unknown: it is asked again within ten seconds. */
    bool (*choose)(void *choose_ctx, pid_t pid, const struct proc_stat *stat,
                   struct target_profile *out);
    void *choose_ctx;
    /* Hands over a process to sample. May call finder_put_off at once. */
    void (*take)(void *ctx, struct proc_id id, const struct target_profile *profile);
    /* A process that was taken is gone. The finder has removed it already. */
    void (*lost)(void *ctx, struct proc_id id);
    void *ctx;        /* of take and lost */
    uint64_t scan_ns; /* time between two scans */
    pid_t only;       /* consider this process only; 0: all of /proc */
    bool eager;       /* scan five times a second, and more often at first */
    bool polls;       /* find execs by polling, not by the kernel's reports */
};

/* Why a process that matches is not sampled: enum cpy_rc, and two more. */
#define FINDER_ONE(name, label, text) +1
enum {
    FINDER_BUDGET = 0 CPY_OUTCOMES(FINDER_ONE), /* for what pystrobe may use: finder_refuse */
    FINDER_OWNER, /* for what other processes of its owner do: finder_refuse_owner */
    FINDER_REASONS
};
#undef FINDER_ONE

/* The first four: processes now; the last three: counters. */
struct finder_stats {
    size_t known, foreign, waiting, taken;
    size_t left_out[FINDER_REASONS]; /* of `waiting` and those that are tried again, by reason */
    bool notices;                    /* the kernel reports execs */
    uint64_t whole;  /* scans that read all of /proc, because new pids were not known */
    uint64_t looks;  /* times that the rules were tried */
    uint64_t checks; /* executables compared, to find execs */
};

/* Most processes that are tracked; others are ignored. */
enum { FINDER_MAX = 65536 };

struct finder;

/* Gives: the finder, ended with finder_free; NULL: out of memory. */
MUST_CHECK struct finder *finder_new(const struct finder_settings *settings);

/*
 * Tries changed rules on all processes, in the next scans, which begin at once. For a process that
 * was taken `lost` is called, unless it still matches and `holds` returns true: it is sampled with
 * the same target profile. The ctx of `holds` is that of `take`.
 */
void finder_reconsider(struct finder *finder, uint64_t scan_ns,
                       bool (*holds)(void *ctx, struct proc_id id,
                                     const struct target_profile *profile));

/* Makes scans rarer as far as they take more than `share` of a core, but up to five seconds apart,
 * or scan_ns if that is longer. 0: no limit. */
void finder_limit(struct finder *finder, double share);

/* Scans now. */
void finder_scan(struct finder *finder, uint64_t now_ns);

/* Does what is due: looks at processes whose start was heard of, scans. True: it has scanned. */
bool finder_run(struct finder *finder, uint64_t now_ns);

/*
 * Readable when a process that was taken has started another; -1: the kernel does not tell, or so
 * many were started that to look at them takes more than finder_limit leaves: scans find those.
 */
int finder_births_fd(const struct finder *finder, uint64_t now_ns);

/* To be called once that is readable: notes those that were started. */
void finder_hear_births(struct finder *finder, uint64_t now_ns);

/* When finder_run is due (monotonic); 0: at once. */
uint64_t finder_next_ns(const struct finder *finder);

/* A process that was taken cannot be sampled now: `take` is called again later, with backoff. With
 * CPY_NOMEM also soon after another process has ended, whose descriptors are free then. */
void finder_put_off(struct finder *finder, struct proc_id id, enum cpy_rc rc, const struct err *err,
                    uint64_t now_ns);

/* The same because of what pystrobe may use; `err` says of what. Retried after a minute, then two,
 * and so on up to an hour. */
void finder_refuse(struct finder *finder, struct proc_id id, const struct err *err,
                   uint64_t now_ns);

/* The same because processes of its owner (owner.h) block those that read them. Not logged. */
void finder_refuse_owner(struct finder *finder, struct proc_id id, uint64_t now_ns);

/* The metric label of a reason, e.g. "nomem", "budget". Never NULL. */
const char *finder_reason_label(size_t reason);

/*
 * A process that was taken is sampled: resets its backoff, so that after a later failure it is soon
 * taken again. True: for the first time, whatever programs it has run.
 */
bool finder_began(struct finder *finder, struct proc_id id);

/* A process that was taken has ended, as its receiver reports. */
void finder_ended(struct finder *finder, struct proc_id id);

void finder_stats(const struct finder *finder, struct finder_stats *out);

/* Frees it, without calling `lost`. NULL is fine. */
void finder_free(struct finder *finder);

#endif

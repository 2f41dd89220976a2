/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/discover: knows which processes are profiled, under which service name and labels.
 * Does not know how a process is sampled.
 *
 * finder.h - finds the processes that match the rules, and keeps the state of each.
 *
 * Scans. A scan looks at the processes that are new or have execed. /proc is read every five
 * seconds; in between, new processes are found by the pids that the kernel has assigned since. For
 * two seconds after a scan that found a process to sample, scans come every 20 ms, because more and
 * short-lived ones may follow. These scans take at most 0.3 of the CPU time of finder_limit.
 *
 * Births. The kernel reports the children of taken processes through finder_births_fd. The finder
 * looks at a child some milliseconds later, after most children have execed.
 *
 * Rules. They are not cheap, so they are tried when a process is new or has execed. If none matches
 * they are tried again with backoff, from 1 s to 10 min, because its user or cgroup may change.
 *
 * Execs. The kernel reports them (execs.h). If it does not, each scan reads the CPU time of every
 * unwanted process, one short system call. It compares the executable of those that ran for long
 * enough to have execed. A reused pid is recognised by the inode of /proc/PID.
 *
 * The finder samples nothing: the receiver of `take` opens and samples the process, here or in
 * another process, and reports the result.
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
    /* The rules: decides whether a process is sampled, and sets *out. Not called for this process,
     * kernel threads or zombies. False with out->unknown: asked again within ten seconds. */
    bool (*choose)(void *choose_ctx, pid_t pid, const struct proc_stat *stat,
                   struct target_profile *out);
    void *choose_ctx;
    /* Hands over a process to sample. May call finder_put_off at once. */
    void (*take)(void *ctx, struct proc_id id, const struct target_profile *profile);
    /* A taken process has ended, has execed, or does not match changed rules. It is not taken any
     * more; the receiver stops sampling it. */
    void (*lost)(void *ctx, struct proc_id id);
    void *ctx;        /* of take and lost */
    uint64_t scan_ns; /* time between two scans */
    pid_t only;       /* consider this process only; 0: all of /proc */
    bool eager;       /* scan every 20 ms until a process is taken, then every 200 ms */
    bool polls;       /* find execs and births by scans only, not by the kernel's reports */
};

/* Why a process that matches is not sampled: the values of enum cpy_rc, and two more. */
#define FINDER_ONE(name, label, text) +1
enum {
    FINDER_BUDGET = 0 CPY_OUTCOMES(FINDER_ONE), /* finder_refuse: pystrobe's budget is used up */
    FINDER_OWNER,                               /* finder_refuse_owner: its owner blocks readers */
    FINDER_REASONS
};
#undef FINDER_ONE

struct finder_stats {
    size_t known, foreign, waiting, taken; /* processes now; the last three: enum candidate_state */
    size_t left_out[FINDER_REASONS]; /* processes now that wait or are tried again, by reason */
    bool notices;                    /* the kernel reports execs */
    uint64_t whole;                  /* number of scans that read all of /proc */
    uint64_t looks;                  /* number of times that the rules were tried */
    uint64_t checks;                 /* number of marks read, to find execs (candidates.h) */
};

/* Most processes that are tracked; further ones are ignored. */
enum { FINDER_MAX = 65536 };

struct finder;

/* Gives: the finder, ended with finder_free; NULL: out of memory. */
MUST_CHECK struct finder *finder_new(const struct finder_settings *settings);

/*
 * Applies changed rules, and sets settings.scan_ns to `scan_ns`. Scans begin at once. A taken
 * process stays taken if it still matches and `holds` (with the ctx of `take`) returns true: it is
 * already sampled with this target profile. Otherwise `lost` is called.
 */
void finder_reconsider(struct finder *finder, uint64_t scan_ns,
                       bool (*holds)(void *ctx, struct proc_id id,
                                     const struct target_profile *profile));

/* Limits scans to the CPU time of `share` of a core (0.01: 1 %) by longer pauses, of at most five
 * seconds or scan_ns, whichever is longer. 0: no limit. */
void finder_limit(struct finder *finder, double share);

/* Scans now. */
void finder_scan(struct finder *finder, uint64_t now_ns);

/* Does the work that is due: looks at births, and scans. True: it has scanned. */
bool finder_run(struct finder *finder, uint64_t now_ns);

/*
 * Lends a descriptor that is readable when a taken process has started another. -1: only scans find
 * them now, because the kernel reports none or the CPU time of finder_limit is used up.
 */
int finder_births_fd(const struct finder *finder, uint64_t now_ns);

/* Reads the births, once finder_births_fd is readable. */
void finder_hear_births(struct finder *finder, uint64_t now_ns);

/* When finder_run is due (monotonic); 0: at once. */
uint64_t finder_next_ns(const struct finder *finder);

/* Reports that a taken process cannot be sampled now. `take` is called again later, with backoff.
 * After CPY_NOMEM also once another process has ended, because its descriptors are free then. */
void finder_put_off(struct finder *finder, struct proc_id id, enum cpy_rc rc, const struct err *err,
                    uint64_t now_ns);

/* The same because pystrobe's budget is used up; `err` says of what. `take` is called again after
 * 1 min, then 2 min, and so on up to 64 min. */
void finder_refuse(struct finder *finder, struct proc_id id, const struct err *err,
                   uint64_t now_ns);

/* The same because processes of its owner (owner.h) block their readers. Not logged. */
void finder_refuse_owner(struct finder *finder, struct proc_id id, uint64_t now_ns);

/* The metric label of a reason (index into left_out), e.g. "nomem", "budget". Never NULL. */
const char *finder_reason_label(size_t reason);

/*
 * Reports that a taken process is sampled now, and resets its backoff. True: this is the first time
 * for the process, whatever programs it has run before.
 */
bool finder_began(struct finder *finder, struct proc_id id);

/* Reports that a taken process has ended. */
void finder_ended(struct finder *finder, struct proc_id id);

void finder_stats(const struct finder *finder, struct finder_stats *out);

/* Frees the finder, without calling `lost`. NULL is fine. */
void finder_free(struct finder *finder);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidates.h - every process of the host that was seen, and how we stand with it.
 */
#ifndef AGENT_DISCOVER_CANDIDATES_H
#define AGENT_DISCOVER_CANDIDATES_H

#include "agent/proc/proc.h"

enum candidate_state {
    CANDIDATE_NEW,      /* to be looked at */
    CANDIDATE_UNWANTED, /* no rule names it; looked at again when it execs */
    CANDIDATE_FOREIGN,  /* wanted, but it runs no Python; taken again when it execs */
    CANDIDATE_WAITING,  /* wanted; taken again at next_try_ns */
    CANDIDATE_TAKEN,    /* wanted, and being sampled */
    CANDIDATE_STATES
};

struct candidate {
    struct proc_id id;
    enum candidate_state state;
    bool fixed;      /* it never execs: a thread of the kernel */
    bool runs_deep;  /* `mark` is proc_exec_mark, not proc_exe_mark */
    bool execed;     /* the kernel said so */
    bool logged;     /* the log has why it cannot be sampled */
    uint64_t inode;  /* of /proc/PID: another one if another process has the pid */
    uint64_t mark;   /* of the program that it runs */
    uint64_t cpu_ns; /* that it had used when the mark was read */
    clockid_t clock; /* of that */
    uint64_t scan;   /* the scan in which it was last there */
    uint64_t run_ns; /* when it was first seen with this program */
    uint64_t old_ns; /* its age when it was first seen; 0: it runs another program since */
    uint64_t next_try_ns, wait_ns;
    struct candidate *next; /* in its bucket */
};

enum { CANDIDATE_BUCKETS = 4096 };

struct candidates {
    struct candidate *buckets[CANDIDATE_BUCKETS]; /* owned lists, by pid */
    size_t count;
};

/* The candidate with this pid; NULL: there is none. */
struct candidate *candidates_find(const struct candidates *candidates, pid_t pid);

/* Adds a process; NULL: out of memory. */
MUST_CHECK struct candidate *candidates_add(struct candidates *candidates, struct proc_id id);

/* Calls `each` for all; it may neither add nor remove any. */
void candidates_each(struct candidates *candidates,
                     void (*each)(void *ctx, struct candidate *candidate), void *ctx);

/* Removes those that `is_gone` says; `end` is called for each before it is freed. */
void candidates_sweep(struct candidates *candidates,
                      bool (*is_gone)(void *ctx, const struct candidate *candidate),
                      void (*end)(void *ctx, struct candidate *candidate), void *ctx);

#endif

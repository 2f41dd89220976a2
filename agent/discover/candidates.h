/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidates.h - table of all processes of the host that the finder has seen, and the state of
 * each.
 */
#ifndef AGENT_DISCOVER_CANDIDATES_H
#define AGENT_DISCOVER_CANDIDATES_H

#include "agent/proc/proc.h"

enum candidate_state {
    CANDIDATE_NEW,      /* rules not tried yet */
    CANDIDATE_UNWANTED, /* no rule matches; tried again when it execs */
    CANDIDATE_FOREIGN,  /* matches, but runs no Python; taken again when it execs */
    CANDIDATE_WAITING,  /* matches; taken again at next_try_ns */
    CANDIDATE_TAKEN,    /* matches, and is sampled */
    CANDIDATE_STATES
};

/*
 * Cache: what is known of processes
 * Key:   pid
 * Ends:  when the inode of /proc/PID, the start time or the mark of the program is another, the
 *        kernel reports an exec, or it is not in /proc any more
 * Test:  tests/unit/discover/test_finder.c: lets_go_of_a_taken_process_that_execs
 *        tests/unit/discover/test_finder.c:
 *          lets_go_of_what_execs_the_same_program_at_the_same_addresses
 *        tests/unit/discover/test_finder.c: tells_that_a_taken_process_is_gone
 *        tests/integration/test_finding.py: test_a_reused_pid_never_mixes_two_processes
 */
struct candidate {
    struct proc_id id;
    enum candidate_state state;
    bool fixed;         /* never execs: a kernel thread */
    bool runs_deep;     /* `mark` is proc_exec_mark, not proc_exe_mark */
    uint8_t left_out;   /* why it cannot be sampled: see finder_stats; 0: it can, or is unwanted */
    uint8_t refusals;   /* times that the budget had no room for it */
    bool sampled;       /* it was counted as a process that is sampled */
    bool logged;        /* the log says why it cannot be sampled */
    uint64_t inode;     /* of /proc/PID; differs if the pid was reused */
    uint64_t mark;      /* tells the program that it runs from others, unless the kernel has loaded
                           both at the same addresses (ADDR_NO_RANDOMIZE) */
    uint64_t marked_ns; /* monotonic: just before `mark` was read */
    uint64_t execed_ns; /* monotonic: the last exec that the kernel has reported; 0: none */
    uint64_t cpu_ns;    /* CPU time when `mark` was read */
    clockid_t clock;    /* its CPU clock */
    uint64_t scan;      /* number of the last scan that saw it */
    uint64_t run_ns;    /* first seen with this program */
    uint64_t old_ns;    /* age when it was first seen; 0: it has run another program since */
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

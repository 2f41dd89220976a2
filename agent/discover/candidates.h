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
    CANDIDATE_UNWANTED, /* no rule matches; tried again at next_try_ns and when it execs */
    CANDIDATE_FOREIGN,  /* matches, but runs no Python; tried again likewise */
    CANDIDATE_WAITING,  /* matches, but cannot be sampled now; tried again likewise */
    CANDIDATE_TAKEN,    /* matches, and is sampled */
    CANDIDATE_STATES
};

/*
 * Cache: what is known of processes
 * Key:   pid
 * Ends:  when the inode of /proc/PID, the start time or `mark` changes, the kernel reports an exec,
 *        or the process is not in /proc any more
 * Test:  tests/unit/discover/test_finder.c: lets_go_of_a_taken_process_that_execs
 *        tests/unit/discover/test_finder.c:
 *          lets_go_of_what_execs_the_same_program_at_the_same_addresses
 *        tests/unit/discover/test_finder.c: tells_that_a_taken_process_is_gone
 *        tests/integration/test_finding.py: test_a_reused_pid_never_mixes_two_processes
 */
struct candidate {
    struct proc_id id;
    enum candidate_state state;
    bool fixed;         /* never execs: a kernel thread or a zombie */
    bool runs_deep;     /* `mark` is proc_exec_mark, not proc_exe_mark */
    uint8_t left_out;   /* index into finder_stats.left_out: why it is not sampled; 0: no reason */
    uint8_t refusals;   /* calls of finder_refuse, up to the one with the longest wait */
    bool sampled;       /* finder_began was called for this process */
    bool logged;        /* the log says why it cannot be sampled */
    uint64_t inode;     /* of /proc/PID; differs if the pid was reused; 0: not known */
    uint64_t mark;      /* identifies the program that it runs; the same for another program only if
                           the kernel loads both at the same addresses (ADDR_NO_RANDOMIZE) */
    uint64_t marked_ns; /* monotonic: just before `mark` was read */
    uint64_t execed_ns; /* monotonic: the last exec that the kernel has reported; 0: none */
    uint64_t cpu_ns;    /* CPU time when `mark` was read */
    clockid_t clock;    /* its CPU clock */
    uint64_t scan;      /* number of the last scan that saw it */
    uint64_t run_ns;    /* monotonic: first seen with this program */
    uint64_t old_ns;    /* age when it was first seen; 0: it has run another program since */
    uint64_t next_try_ns, wait_ns; /* monotonic: next try, or check of a taken one; backoff pause */
    struct candidate *next;        /* in its bucket */
};

enum { CANDIDATE_BUCKETS = 4096 };

struct candidates {
    struct candidate *buckets[CANDIDATE_BUCKETS]; /* owned lists, by pid */
    size_t count;
};

/* The candidate with this pid; NULL: there is none. */
struct candidate *candidates_find(const struct candidates *candidates, pid_t pid);

/* Adds a process that is not in the table. Lends the candidate until a sweep removes it. NULL: out
 * of memory. */
MUST_CHECK struct candidate *candidates_add(struct candidates *candidates, struct proc_id id);

/* Calls `each` for all candidates. `each` may neither add nor remove any. */
void candidates_each(struct candidates *candidates,
                     void (*each)(void *ctx, struct candidate *candidate), void *ctx);

/* Removes the candidates for which `is_gone` returns true; calls `end` before it frees each. */
void candidates_sweep(struct candidates *candidates,
                      bool (*is_gone)(void *ctx, const struct candidate *candidate),
                      void (*end)(void *ctx, struct candidate *candidate), void *ctx);

#endif

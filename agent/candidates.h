/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidates.h - every process of the host that was seen, and how we stand with it.
 */
#ifndef AGENT_CANDIDATES_H
#define AGENT_CANDIDATES_H

#include "agent/engine.h"
#include "agent/ticks.h"

enum candidate_state {
    CANDIDATE_UNWANTED, /* no rule names it; asked again at each scan, it may exec */
    CANDIDATE_WAITING,  /* wanted; opened again at next_try_ns */
    CANDIDATE_SAMPLING
};

struct candidate {
    struct proc_id id;
    enum candidate_state state;
    struct engine_choice choice; /* of a wanted one */
    uint64_t scan;               /* the scan in which it was last there */
    uint64_t next_try_ns, wait_ns;
    struct tick tick;       /* of a sampled one */
    int pidfd;              /* of a sampled one: tells its end */
    unsigned raced;         /* samples in a row that failed */
    bool told;              /* the log has why it cannot be sampled */
    struct process process; /* of a sampled one */
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

/* Removes those that `is_gone` says; `end` is called for each before it is freed. */
void candidates_sweep(struct candidates *candidates,
                      bool (*is_gone)(void *ctx, const struct candidate *candidate),
                      void (*end)(void *ctx, struct candidate *candidate), void *ctx);

/* Calls `each` for all of them. */
void candidates_each(struct candidates *candidates,
                     void (*each)(void *ctx, struct candidate *candidate), void *ctx);

#endif

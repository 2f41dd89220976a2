/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidates.h - every process of the host that was seen, and how we stand with it.
 */
#ifndef AGENT_CANDIDATES_H
#define AGENT_CANDIDATES_H

#include "agent/proc.h"

enum candidate_state {
    CANDIDATE_UNWANTED, /* no rule names it; asked again at each scan, it may exec */
    CANDIDATE_WAITING,  /* wanted; taken again at next_try_ns */
    CANDIDATE_TAKEN     /* wanted, and being sampled */
};

struct candidate {
    struct proc_id id;
    enum candidate_state state;
    uint64_t scan; /* the scan in which it was last there */
    uint64_t next_try_ns, wait_ns;
    bool told;              /* the log has why it cannot be sampled */
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

#endif

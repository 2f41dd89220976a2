/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assignments.h - which process is sampled by which sampler, and which of them apart, as a sampler
 * was lost in it.
 *
 * Threads: one.
 */
#ifndef AGENT_SUPERVISOR_ASSIGNMENTS_H
#define AGENT_SUPERVISOR_ASSIGNMENTS_H

#include "agent/supervisor/hang_log.h"
#include "agent/supervisor/quarantine.h"
#include "agent/supervisor/sampler_process.h"

/* What is looked at all the time comes first: the choice has kilobytes. */
struct charge {
    struct proc_id id;
    struct slot *slot; /* borrowed: whose it is */
    bool sent;         /* the sampler that runs there has got it, */
    bool sampling;     /* and samples it */
    bool known;        /* it was sampled before, by any */
    uint64_t began_ns; /* since when it is sampled */
    struct choice choice;
    char python[32];             /* its version; "" as long as it is not known */
    struct engine_counts counts; /* of all samplers so far, */
    struct engine_counts before; /* and of those that have ended */
    struct hang_told hang;
};

struct charges {
    struct charge *items; /* owned */
    size_t count, capacity;
    size_t next; /* the one that is likely counted next */
    struct suspects suspects;
};

/* Adds a process for `slot`, or for `apart` if it is a suspect. Lends it until the next add or
 * remove; NULL: out of memory. */
MUST_CHECK struct charge *charges_add(struct charges *charges, struct proc_id id,
                                      const struct choice *choice, struct slot *slot,
                                      struct slot *apart);

/* Lends likewise; NULL: there is none. The second: the one that `slot` was reading. */
struct charge *charges_find(const struct charges *charges, struct proc_id id);
struct charge *charges_reading(const struct charges *charges, const struct slot *slot, pid_t pid);

/* Notes what the sampler that has a process counted of it so far; nothing if there is no such. */
void charges_count(struct charges *charges, const struct slot *slot, struct proc_id id,
                   const struct engine_counts *counts);

/* Removes one; NULL is fine. */
void charges_remove(struct charges *charges, struct charge *charge);

/* From now on another sampler is to have it. */
void charges_move(struct charge *charge, struct slot *slot);

/* The sampler of a slot is lost: nothing of what was sent to it holds. */
void charges_unsend(struct charges *charges, const struct slot *slot);

/* A sampler was lost in it: from now on it is `apart`. Lends what is known of it until the next
 * call; NULL: out of memory. */
const struct suspect *charges_suspect(struct charges *charges, struct charge *charge,
                                      struct slot *apart, uint64_t now_ns);

/* When a suspect may be tried; 0: it is none. */
uint64_t charges_try_ns(const struct charges *charges, const struct charge *charge);

/* Forgets suspects that have ended. */
void charges_sweep(struct charges *charges);

/* How many are sampled now. */
size_t charges_sampling(const struct charges *charges);

void charges_finish(struct charges *charges);

#endif

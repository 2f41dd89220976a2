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
struct assignment {
    struct proc_id id;
    struct sampler_process *sampler; /* borrowed: whose it is */
    bool sent;                       /* the sampler that runs there has got it, */
    bool sampling;                   /* and samples it */
    bool known;                      /* it was sampled before, by any */
    uint64_t began_ns;               /* since when it is sampled */
    struct target_profile profile;
    char python[32];             /* its version; "" as long as it is not known */
    struct engine_counts counts; /* of all samplers so far, */
    struct engine_counts before; /* and of those that have ended */
    struct hang_reported hang;
};

struct assignments {
    struct assignment *items; /* owned */
    size_t count, capacity;
    size_t next; /* the one that is likely counted next */
    struct quarantine quarantine;
};

/* Adds a process for `slot`, or for `apart` if it is a suspect. Lends it until the next add or
 * remove; NULL: out of memory. */
MUST_CHECK struct assignment *assignments_add(struct assignments *assignments, struct proc_id id,
                                              const struct target_profile *profile,
                                              struct sampler_process *sampler,
                                              struct sampler_process *quarantine_sampler);

/* Lends likewise; NULL: there is none. The second: the one that `slot` was reading. */
struct assignment *assignments_find(const struct assignments *assignments, struct proc_id id);
struct assignment *assignments_reading(const struct assignments *assignments,
                                       const struct sampler_process *sampler, pid_t pid);

/* Notes what the sampler that has a process counted of it so far; nothing if there is no such. */
void assignments_count(struct assignments *assignments, const struct sampler_process *sampler,
                       struct proc_id id, const struct engine_counts *counts);

/* Removes one; NULL is fine. */
void assignments_remove(struct assignments *assignments, struct assignment *assignment);

/* From now on another sampler is to have it. */
void assignments_move(struct assignment *assignment, struct sampler_process *sampler);

/* The sampler of a slot is lost: nothing of what was sent to it holds. */
void assignments_unsend(struct assignments *assignments, const struct sampler_process *sampler);

/* A sampler was lost in it: from now on it is `apart`. Lends what is known of it until the next
 * call; NULL: out of memory. */
const struct quarantine_entry *assignments_quarantine(struct assignments *assignments,
                                                      struct assignment *assignment,
                                                      struct sampler_process *quarantine_sampler,
                                                      uint64_t now_ns);

/* When a suspect may be tried; 0: it is none. */
uint64_t assignments_retry_ns(const struct assignments *assignments,
                              const struct assignment *assignment);

/* Forgets suspects that have ended. */
void assignments_sweep(struct assignments *assignments);

/* How many are sampled now. */
size_t assignments_sampling(const struct assignments *assignments);

void assignments_finish(struct assignments *assignments);

#endif

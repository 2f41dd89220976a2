/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quarantine.h - processes that a sampler was lost in: each is sampled apart from the others, and
 * tried again ever more rarely.
 *
 * Shape:   quarantine_add when a sampler was lost; quarantine_find before a process is sampled;
 *          quarantine_sweep now and then.
 * Units:   all instants are those of one clock that never goes back, which the caller reads.
 */
#ifndef AGENT_SUPERVISOR_QUARANTINE_H
#define AGENT_SUPERVISOR_QUARANTINE_H

#include "agent/proc/proc.h"

enum { QUARANTINE_MAX = 1024 }; /* over it the one that was blamed longest ago is forgotten */

struct quarantine_entry {
    struct proc_id id;
    uint64_t blamed_ns; /* when a sampler was lost in it last */
    uint64_t wait_ns;   /* how long it was then to be left alone */
    uint64_t count;     /* how many samplers were lost in it */
};

struct quarantine {
    struct quarantine_entry *items; /* owned */
    size_t count, capacity;
};

/* A sampler was lost while it read this process. Lends the suspect until the next call; NULL:
 * out of memory. */
const struct quarantine_entry *quarantine_add(struct quarantine *quarantine, struct proc_id id,
                                              uint64_t now_ns);

/* Lends it until the next call; NULL: there is nothing against this process. */
const struct quarantine_entry *quarantine_find(const struct quarantine *quarantine,
                                               struct proc_id id);

/* When it may be tried again. */
uint64_t quarantine_next_ns(const struct quarantine_entry *entry);

/* Forgets those that `is_gone` says. */
void quarantine_sweep(struct quarantine *quarantine, bool (*is_gone)(void *ctx, struct proc_id id),
                      void *ctx);

void quarantine_finish(struct quarantine *quarantine);

#endif

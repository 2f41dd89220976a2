/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quarantine.h - processes that a sampler was lost in: each is sampled apart from the others, and
 * tried again ever more rarely.
 *
 * Shape:   suspects_blame when a sampler was lost; suspects_find before a process is sampled;
 *          suspects_sweep now and then.
 * Units:   all instants are those of one clock that never goes back, which the caller reads.
 */
#ifndef AGENT_SUPERVISOR_QUARANTINE_H
#define AGENT_SUPERVISOR_QUARANTINE_H

#include "agent/proc/proc.h"

enum { SUSPECTS_MAX = 1024 }; /* over it the one that was blamed longest ago is forgotten */

struct suspect {
    struct proc_id id;
    uint64_t blamed_ns; /* when a sampler was lost in it last */
    uint64_t wait_ns;   /* how long it was then to be left alone */
    uint64_t count;     /* how many samplers were lost in it */
};

struct suspects {
    struct suspect *items; /* owned */
    size_t count, capacity;
};

/* A sampler was lost while it read this process. Lends the suspect until the next call; NULL:
 * out of memory. */
const struct suspect *suspects_blame(struct suspects *suspects, struct proc_id id, uint64_t now_ns);

/* Lends it until the next call; NULL: there is nothing against this process. */
const struct suspect *suspects_find(const struct suspects *suspects, struct proc_id id);

/* When it may be tried again. */
uint64_t suspect_next_ns(const struct suspect *suspect);

/* Forgets those that `is_gone` says. */
void suspects_sweep(struct suspects *suspects, bool (*is_gone)(void *ctx, struct proc_id id),
                    void *ctx);

void suspects_finish(struct suspects *suspects);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quarantine.h - list of processes that have blocked or crashed a sampler. They share one sampler,
 * apart from all other processes, and are retried with a backoff of 2 s that grows to an hour.
 *
 * Shape:   a zeroed struct; quarantine_add when a sampler was lost; quarantine_find before a
 *          process is sampled; quarantine_sweep now and then; quarantine_finish.
 * Units:   all instants are of one monotonic clock, which the caller reads.
 */
#ifndef AGENT_SUPERVISOR_QUARANTINE_H
#define AGENT_SUPERVISOR_QUARANTINE_H

#include "agent/proc/proc.h"

enum { QUARANTINE_MAX = 1024 }; /* beyond it the entry with the oldest failure is dropped */

/*
 * Cache: processes that have blocked or crashed a sampler
 * Key:   pid and start time
 * Ends:  when no process has both; an exec in the process does not end it
 * Test:  tests/unit/supervisor/test_quarantine.c: another_process_with_the_pid_is_no_suspect
 */
struct quarantine_entry {
    struct proc_id id;
    uint64_t blamed_ns; /* last quarantine_add */
    uint64_t wait_ns;   /* backoff: how long it is not retried after blamed_ns */
    uint64_t count;     /* samplers that it has blocked or crashed */
};

struct quarantine {
    struct quarantine_entry *items; /* owned */
    size_t count, capacity;
};

/* Adds a process, or extends its backoff. Lends the entry until the next call; NULL: no memory. */
const struct quarantine_entry *quarantine_add(struct quarantine *quarantine, struct proc_id id,
                                              uint64_t now_ns);

/* Lends the entry until the next call; NULL: the process is not in quarantine. */
const struct quarantine_entry *quarantine_find(const struct quarantine *quarantine,
                                               struct proc_id id);

/* When the process may be retried. */
uint64_t quarantine_next_ns(const struct quarantine_entry *entry);

/* Removes the entries for which `is_gone` gives true. */
void quarantine_sweep(struct quarantine *quarantine, bool (*is_gone)(void *ctx, struct proc_id id),
                      void *ctx);

/* Frees and empties it. */
void quarantine_finish(struct quarantine *quarantine);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assignments.h - table of the processes that samplers sample: each with its sampler; and the
 * processes in quarantine.
 *
 * Threads: one.
 */
#ifndef AGENT_SUPERVISOR_ASSIGNMENTS_H
#define AGENT_SUPERVISOR_ASSIGNMENTS_H

#include "agent/supervisor/hang_log.h"
#include "agent/supervisor/quarantine.h"
#include "agent/supervisor/sampler_process.h"

/*
 * Hot members come first, because `profile` takes kilobytes.
 *
 * Cache: which sampler has a process, and its counts and hang
 * Key:   pid and start time
 * Ends:  when the finder lets it go, or its sampler reports its end
 * Test:  tests/unit/supervisor/test_assignments.c:
 *          leaves_a_process_in_quarantine_until_it_has_ended
 */
struct assignment {
    struct proc_id id;
    uint64_t mark;                   /* proc_exec_mark when it was found; 0: could not be read */
    struct sampler_process *sampler; /* borrowed: the one that it is assigned to */
    bool sent;                       /* IPC_TAKE was sent to `sampler` */
    bool sampling;                   /* `sampler` samples it */
    bool known;                      /* a sampler, this or an earlier one, has sampled it */
    bool settled;                    /* `service` is final */
    uint64_t began_ns;               /* monotonic: start of sampling */
    struct target_profile profile;   /* as the finder gave it */
    double share_ns;                 /* cost that it may have, ns a second; INFINITY: no limit */
    char service[sizeof(((struct target_profile *)NULL)->service)]; /* as its sampler reports it: a
                                                                     * name of an SDK, say */
    char named_by[sizeof(((struct target_profile *)NULL)->named_by)]; /* likewise */
    char python[32];             /* version; "": not known yet */
    struct engine_counts counts; /* of all its samplers so far */
    struct engine_counts before; /* of earlier samplers: `counts` when the last one was lost */
    struct hang_reported hang;
};

struct assignments {
    struct assignment *items; /* owned */
    size_t count, capacity;
    size_t next; /* index where assignments_count begins its search */
    struct quarantine quarantine;
};

/* Adds a process for `sampler`, or for `quarantine_sampler` if it is in quarantine. Lends the item
 * until the next add or remove; NULL: out of memory. */
MUST_CHECK struct assignment *assignments_add(struct assignments *assignments, struct proc_id id,
                                              const struct target_profile *profile,
                                              struct sampler_process *sampler,
                                              struct sampler_process *quarantine_sampler);

/* Finds a process: by its id; by its pid, if it is assigned to `sampler`. Lends likewise; NULL:
 * none. */
struct assignment *assignments_find(const struct assignments *assignments, struct proc_id id);
struct assignment *assignments_reading(const struct assignments *assignments,
                                       const struct sampler_process *sampler, pid_t pid);

/* Stores the counts of a process, if it is assigned to `sampler`. */
void assignments_count(struct assignments *assignments, const struct sampler_process *sampler,
                       struct proc_id id, const struct engine_counts *counts);

/* Removes a process; NULL is fine. */
void assignments_remove(struct assignments *assignments, struct assignment *assignment);

/* Assigns a process to another sampler, to which it must be sent. */
void assignments_move(struct assignment *assignment, struct sampler_process *sampler);

/* The sampler was lost: marks all its processes as not sent. */
void assignments_unsend(struct assignments *assignments, const struct sampler_process *sampler);

/* A sampler was lost while it read this process: assigns the process to `quarantine_sampler` and
 * adds it to the quarantine. Lends its entry until the next call; NULL: out of memory. */
const struct quarantine_entry *assignments_quarantine(struct assignments *assignments,
                                                      struct assignment *assignment,
                                                      struct sampler_process *quarantine_sampler,
                                                      uint64_t now_ns);

/* When a process in quarantine may be retried (monotonic); 0: it is not in quarantine. */
uint64_t assignments_retry_ns(const struct assignments *assignments,
                              const struct assignment *assignment);

/* Removes processes from the quarantine that have ended. */
void assignments_sweep(struct assignments *assignments);

/* Number of processes that samplers are opening now. */
size_t assignments_opening(const struct assignments *assignments);

/* Number of processes that are sampled now. */
size_t assignments_sampling(const struct assignments *assignments);

void assignments_finish(struct assignments *assignments);

#endif

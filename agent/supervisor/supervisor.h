/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/supervisor: knows the sampler processes: which samples what, what all may use, who
 * blocked one. Does not know how a sample is taken, and where profiles go.
 *
 * supervisor.h - what engine.h does, with the samples taken in processes of their own (samplers):
 * none of the targets can hold up another, the delivery, or the end of it all.
 *
 * Here processes are found, and profiles kept and delivered; no memory of a target is read. A
 * sampler that a target blocks is killed; the target is sampled apart from then on, and ever
 * more rarely (quarantine.h). A sampler that crashes is started again. What is lost with one is
 * what it had not yet handed over, a fraction of a second, and the CPU time of the running
 * interval that was not yet given to stacks.
 *
 * Shape, threads: as engine.h; samplers are started while other threads may run.
 */
#ifndef AGENT_SUPERVISOR_SUPERVISOR_H
#define AGENT_SUPERVISOR_SUPERVISOR_H

#include "agent/sampling/engine.h"
#include "agent/supervisor/budget.h"
#include "agent/supervisor/hang_log.h"

/* How many samplers there may be, beside the one for suspects. */
enum { SUPERVISOR_SAMPLERS_MAX = 4 };

/* What samplers went through. */
struct supervisor_stats {
    uint64_t started;           /* samplers so far */
    uint64_t blocked;           /* of them, killed because a process blocked them */
    uint64_t crashed;           /* ended by themselves */
    uint64_t silent;            /* killed because they did nothing */
    uint64_t late;              /* times one had not ended an interval in time */
    size_t quarantine;          /* processes that are sampled apart, or not for now */
    size_t samplers;            /* now */
    uint64_t hangs[HANG_KINDS]; /* processes that hung, by how; [HANG_NONE]: that went on since */
};

struct supervisor;

/*
 * Takes the settings of an engine, without news, messages_fd and beat. `budget` limits the
 * supervisor and all samplers together; all 0: no limit.
 *
 * Gives: the fleet, ended with supervisor_free; NULL: out of memory or descriptors.
 */
MUST_CHECK struct supervisor *supervisor_new(const struct engine_settings *settings,
                                             const struct budget_limits *budget);

/* As engine_run. */
MUST_CHECK enum engine_event supervisor_run(struct supervisor *supervisor, uint64_t deadline_ns,
                                            struct signalfd_siginfo *out_signal);

/* As engine_burst. */
size_t supervisor_burst(struct supervisor *supervisor, const struct burst *burst,
                        uint64_t duration_ns);

/* The burst of just these processes that runs; NULL: none does. Lends until the next call. */
const struct burst *supervisor_burst_of(const struct supervisor *supervisor,
                                        const struct burst *whom);

/*
 * Has all samplers hand over what they have counted up to now, and tell the processes of `apart`
 * apart from now on, and no others but those that are always.
 *
 * Gives: a number for supervisor_committed.
 */
uint64_t supervisor_commit(struct supervisor *supervisor, const struct split_pids *split_pids);

/* True once they have, but for samplers that hang or are lost. */
MUST_CHECK bool supervisor_committed(const struct supervisor *supervisor, uint64_t number);

/* The services as they are in the running interval. Lends the list until the fleet runs on. */
const struct service *supervisor_services(const struct supervisor *supervisor);

/*
 * The settings have changed: tries `choose` on all processes anew. Those that are chosen as they
 * were are sampled on; `interval_ns` counts from the next interval. Of `settings` only what is
 * named here counts: interval_ns, scan_ns and max_services.
 */
void supervisor_change(struct supervisor *supervisor, const struct engine_settings *settings,
                       const struct budget_limits *budget);

/* As engine_flush; takes a second at most, whatever the targets do. */
void supervisor_flush(struct supervisor *supervisor);

/* As engine_stats and engine_unwinder: what the samplers have reported so far. */
const struct engine_stats *supervisor_engine_stats(struct supervisor *supervisor);
void supervisor_unwinder(const struct supervisor *supervisor, struct cpy_stats *out);

/* Lends until the next call. */
const struct supervisor_stats *supervisor_stats(struct supervisor *supervisor);

/* A process that the fleet is to sample. All borrowed. */
struct supervisor_process {
    pid_t pid;
    const char *service;
    const char *python; /* "": not known yet */
    double rate_hz;     /* that of its burst, if it has one */
    bool burst;
    bool sampling;    /* false: it is being opened, or was lost with its sampler */
    bool quarantined; /* it has blocked a sampler */
    const struct engine_counts *counts; /* some seconds old */
    const struct hang_reported *hang;
};

/* Calls `each` for all of them, in no order. */
void supervisor_each(struct supervisor *supervisor,
                     void (*each)(void *ctx, const struct supervisor_process *), void *ctx);

/* What was promised and what is used. Lends until supervisor_free. */
const struct budget_state *supervisor_budget(const struct supervisor *supervisor);

/* The CPU time of all samplers that run now and of those that have ended, as far as known. */
uint64_t supervisor_cpu_ns(const struct supervisor *supervisor);

/* Ends it and all samplers; delivers nothing. NULL is fine. */
void supervisor_free(struct supervisor *supervisor);

#endif

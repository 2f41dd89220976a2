/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/supervisor: knows the sampler processes: which samples what, what all may use, who
 * blocked one. Does not know how a sample is taken, and where profiles go.
 *
 * supervisor.h - does what engine.h does, with the samples taken in child processes (samplers), so
 * that no target can block the others, the delivery or the end of the agent.
 *
 * The supervisor finds processes, and collects and delivers profiles; it reads no target's memory.
 * A sampler that a target blocks is killed; from then on the target is in quarantine
 * (quarantine.h): it is sampled by another sampler than the rest, and retried with backoff. A
 * sampler that crashes is restarted. With a sampler, the time is lost that it had not handed over
 * yet (a fraction of a second), and the CPU time of the running interval that was not yet
 * attributed to stacks.
 *
 * Shape, threads: as engine.h; samplers are started while other threads may run.
 */
#ifndef AGENT_SUPERVISOR_SUPERVISOR_H
#define AGENT_SUPERVISOR_SUPERVISOR_H

#include "agent/discover/finder.h"
#include "agent/proc/program.h"
#include "agent/sampling/engine.h"
#include "agent/supervisor/budget.h"
#include "agent/supervisor/hang_log.h"

/* Samplers, beside the one for processes in quarantine. */
enum { SUPERVISOR_SAMPLERS_MAX = 4 };

/* Counters of samplers. */
struct supervisor_stats {
    uint64_t started;                /* samplers so far */
    uint64_t blocked;                /* of them, killed because a process blocked them */
    uint64_t crashed;                /* ended by themselves */
    uint64_t silent;                 /* killed because their heartbeat stopped */
    size_t quarantine;               /* processes in quarantine now */
    size_t samplers;                 /* now */
    size_t left_out[FINDER_REASONS]; /* processes that match and are not sampled now, by reason */
    uint64_t
        hangs[HANG_KINDS]; /* processes that hung, by kind; [HANG_NONE]: hangs that have ended */
};

struct supervisor;

/*
 * Takes the settings of an engine, without callbacks, messages_fd and heartbeat. `budget` limits
 * the supervisor and all samplers together; all 0: no limit. What settings.parent has waited for,
 * and no sampler has counted, is in the last profile of the service that came first; less, where
 * processes run on that it has not waited for.
 *
 * Gives: the supervisor, ended with supervisor_free; NULL: out of memory or descriptors.
 */
MUST_CHECK struct supervisor *supervisor_new(const struct engine_settings *settings,
                                             const struct budget_limits *budget);

/* As engine_run. */
MUST_CHECK enum engine_event supervisor_run(struct supervisor *supervisor, uint64_t deadline_ns,
                                            struct signalfd_siginfo *out_signal);

/* As engine_burst. */
size_t supervisor_burst(struct supervisor *supervisor, const struct burst *burst,
                        uint64_t duration_ns);

/* The running burst of just these processes; NULL: none. Lends until the next call. */
const struct burst *supervisor_burst_of(const struct supervisor *supervisor,
                                        const struct burst *whom);

/*
 * Tells all samplers to commit and hand over what they have counted up to now, and to split the
 * processes of `split_pids` from now on (and no others but those whose profile asks for it).
 *
 * Gives: a number for supervisor_committed.
 */
uint64_t supervisor_commit(struct supervisor *supervisor, const struct split_pids *split_pids);

/* True once all samplers have done so that neither hang nor were lost. */
MUST_CHECK bool supervisor_committed(const struct supervisor *supervisor, uint64_t number);

/* The services of the running interval. Lends the list until the next supervisor_run. */
const struct service *supervisor_services(const struct supervisor *supervisor);

/*
 * Applies changed settings: calls `choose` for all processes again. Those with the same result are
 * sampled on; `interval_ns` counts from the next interval. Of `settings` only interval_ns, scan_ns
 * and max_services are used.
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

/* A process that is assigned to a sampler. All borrowed. */
struct supervisor_process {
    struct program program; /* that was found to be a target */
    const char *service, *named_by;
    const char *python; /* version; "": not known yet */
    double wanted_hz;   /* as asked for, or that of its burst */
    double rate_hz;     /* now: that, or less for max_cpu */
    bool burst;
    bool sampling;                      /* false: it is being opened, or its sampler was lost */
    bool quarantined;                   /* it has blocked or crashed a sampler */
    const struct engine_counts *counts; /* some seconds old */
    const struct hang_reported *hang;
};

/* Calls `each` for all processes, in no defined order. */
void supervisor_each(struct supervisor *supervisor,
                     void (*each)(void *ctx, const struct supervisor_process *), void *ctx);

/* State of the budget. Lends until supervisor_free. */
const struct budget_state *supervisor_budget(const struct supervisor *supervisor);

/* Ends it and all samplers; delivers nothing. NULL is fine. */
void supervisor_free(struct supervisor *supervisor);

#endif

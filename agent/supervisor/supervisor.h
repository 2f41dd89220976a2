/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/supervisor: knows the sampler processes: which one samples what, the budget of
 * all, and the quarantine. Knows neither how a sample is taken nor where profiles go.
 *
 * supervisor.h - does what engine.h does, with the samples taken in child processes (samplers), so
 * that no target can block the others, the delivery or the end of the agent.
 *
 * The supervisor finds processes, and collects and delivers profiles; it reads no target's memory.
 * It kills a sampler that a target blocks, and restarts one that has crashed. The target is from
 * then on in quarantine (quarantine.h): another sampler than that of the rest samples it, with
 * backoff. A lost sampler loses the time that it had not handed over (a fraction of a second), and
 * the CPU time of the running interval that was not yet attributed to stacks.
 *
 * Shape:   as engine.h.
 * Threads: as engine.h; it may start samplers while other threads run.
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
    uint64_t started;                /* samplers started so far */
    uint64_t blocked;                /* of them, killed because a process blocked them */
    uint64_t crashed;                /* of them, ended by themselves or sent broken reports */
    uint64_t silent;                 /* of them, killed because their heartbeat stopped */
    size_t quarantine;               /* entries of the quarantine now */
    size_t samplers;                 /* samplers that run now */
    size_t left_out[FINDER_REASONS]; /* processes that match and are not sampled now, by reason */
    uint64_t
        hangs[HANG_KINDS]; /* hangs that have begun, by kind; [HANG_NONE]: hangs that have ended */
};

struct supervisor;

/*
 * Of `settings` it uses choose, deliver, interval_ended, ctx, interval_ns, scan_ns, only, parent,
 * max_services, eager and signals. `budget` limits the supervisor and all samplers together; all 0:
 * no limit. CPU time of children of settings.parent that no sampler has counted goes to the oldest
 * service in supervisor_flush; too little, if sampled processes run that it has not waited for.
 *
 * Gives: the supervisor, ended with supervisor_free; NULL: out of memory or descriptors.
 */
MUST_CHECK struct supervisor *supervisor_new(const struct engine_settings *settings,
                                             const struct budget_limits *budget);

/* As engine_run; gives ENGINE_DEADLINE, ENGINE_SIGNAL or ENGINE_FAILED. */
MUST_CHECK enum engine_event supervisor_run(struct supervisor *supervisor, uint64_t deadline_ns,
                                            struct signalfd_siginfo *out_signal);

/* As engine_burst. */
size_t supervisor_burst(struct supervisor *supervisor, const struct burst *burst,
                        uint64_t duration_ns);

/* The running burst with `id` and `service` of `whom`; NULL: none. Lends until the next call. */
const struct burst *supervisor_burst_of(const struct supervisor *supervisor,
                                        const struct burst *whom);

/*
 * Tells all samplers to commit and hand over what they have counted up to now, and to split the
 * processes of `split_pids` from now on (and no others but those whose profile asks for it).
 *
 * Gives: a number for supervisor_committed.
 */
uint64_t supervisor_commit(struct supervisor *supervisor, const struct split_pids *split_pids);

/* True once all samplers that run have answered that call of supervisor_commit. */
MUST_CHECK bool supervisor_committed(const struct supervisor *supervisor, uint64_t number);

/* The services of the running interval. Lends the list until the next supervisor_run. */
const struct service *supervisor_services(const struct supervisor *supervisor);

/*
 * Applies changed settings: calls `choose` again; processes with the same service, labels, rate,
 * split and sample_options stay as they are. A shorter interval_ns shortens the running interval,
 * too. Of `settings` only interval_ns, scan_ns and max_services are used.
 */
void supervisor_change(struct supervisor *supervisor, const struct engine_settings *settings,
                       const struct budget_limits *budget);

/* As engine_flush; waits for samplers a second at most. */
void supervisor_flush(struct supervisor *supervisor);

/* As engine_stats (without costs) and engine_unwinder: what samplers have reported so far. */
const struct engine_stats *supervisor_engine_stats(struct supervisor *supervisor);
void supervisor_unwinder(const struct supervisor *supervisor, struct cpy_stats *out);

/* Lends until the next call. */
const struct supervisor_stats *supervisor_stats(struct supervisor *supervisor);

/* A process that is assigned to a sampler. All borrowed. */
struct supervisor_process {
    struct program program;         /* that was found to be a target */
    const char *service, *named_by; /* named_by: source of the name, for people */
    const char *python;             /* version; "": not known yet */
    double wanted_hz;               /* rate of the settings, or of its burst */
    double rate_hz;                 /* current rate: wanted_hz, or less if max_cpu has slowed it */
    bool burst;                     /* a burst covers it */
    bool sampling;                  /* false: it waits, or is being opened */
    bool quarantined;               /* assigned to the sampler for quarantine: it, or another
                                       process of its owner, has blocked or crashed a sampler */
    const struct engine_counts *counts; /* some seconds old */
    const struct hang_reported *hang;
};

/* Calls `each` for all processes, in no defined order. */
void supervisor_each(struct supervisor *supervisor,
                     void (*each)(void *ctx, const struct supervisor_process *), void *ctx);

/* State of the budget. Lends until supervisor_free. */
const struct budget_state *supervisor_budget(const struct supervisor *supervisor);

/* Kills all samplers and frees the supervisor; delivers nothing. NULL is fine. */
void supervisor_free(struct supervisor *supervisor);

#endif

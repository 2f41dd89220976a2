/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_internal.h - what the files of the supervisor share; no other file includes it.
 *
 * supervisor.c has the loop, the intervals and the reports of samplers; samplers.c starts, checks,
 * instructs and kills samplers; supervisor_budget.c keeps to the budget.
 */
#ifndef AGENT_SUPERVISOR_SUPERVISOR_INTERNAL_H
#define AGENT_SUPERVISOR_SUPERVISOR_INTERNAL_H

#include "agent/child/blamed_owners.h"
#include "agent/discover/finder.h"
#include "agent/host/trim.h"
#include "agent/host/utc.h"
#include "agent/supervisor/assignments.h"
#include "agent/supervisor/hang_log.h"
#include "agent/supervisor/supervisor.h"

enum { QUARANTINE_SAMPLER = SUPERVISOR_SAMPLERS_MAX, SAMPLERS };

struct supervisor {
    struct engine_settings settings;
    struct engine_stats stats;
    struct supervisor_stats counts;
    struct report_counts ended; /* of samplers that have ended */
    struct finder *finder;      /* owned */
    struct services services;
    struct assignments assignments;
    unsigned logged; /* processes whose service was logged, whatever the limits of the log */
    struct blamed_owners blamed; /* owners of those that blocked or crashed a sampler */
    struct bursts bursts;
    struct hang_log hangs;
    struct budget budget;
    uint64_t budget_ns;   /* monotonic: next budget step */
    size_t opening_count; /* processes that samplers open, at the last look, and sent since */
    struct utc utc;       /* last check for a step of the wall clock */
    struct sampler_process samplers[SAMPLERS]; /* the last one: quarantine */
    size_t sampler_count;                      /* in use, without that one */
    struct sampler_process *reporting_sampler; /* borrowed: whose report is handled */
    bool other_build;                          /* a sampler was: it has been logged */
    uint64_t waited_ns; /* CPU time of children that settings.parent had waited for at first */
    int signal_fd;
    struct split_pids split_pids;
    uint64_t commit_number;   /* number of the last IPC_COMMIT */
    uint64_t interval;        /* number of the running one, from 1 */
    uint64_t interval_end_ns; /* when it is to end */
    uint64_t late_ns; /* the interval ends: deadline of the samplers; 0: it does not end yet */
    uint64_t look_ns; /* monotonic: next check of the samplers */
    struct trim trim;
};

/* samplers.c, which does not use the other two */

/* Tells the sampler of a process's parent what was counted of the process, if another one
 * reported it. */
void supervisor_tell_parent(struct supervisor *supervisor, const struct process_end *child);

/* Stops sampling a process. */
void supervisor_drop(struct supervisor *supervisor, struct proc_id id);

/* Puts a process off for a reason of our own: the budget, or memory. */
void supervisor_refuse(struct supervisor *supervisor, struct proc_id id, const char *why,
                       uint64_t now_ns);

/* True if no process of this owner is sampled that is not already: because several have blocked a
 * sampler just now, or because samplers do not end that they block. */
bool supervisor_refuses_owner(struct supervisor *supervisor, uint64_t owner, uint64_t now_ns);

/* Handles a sampler that has ended by itself, or with whom there is no talking: it is killed, and
 * this is called again once it has ended. It will be restarted. */
void supervisor_replace_ended(struct supervisor *supervisor, struct sampler_process *sampler);

void supervisor_send_end(struct supervisor *supervisor, struct sampler_process *sampler, bool last);

/* CPU time that each target of an owner may use, ns a second; INFINITY: as asked for. */
double supervisor_share_of(const struct supervisor *supervisor, uint64_t owner);
void supervisor_set_share(struct supervisor *supervisor, uint64_t owner, double share_ns);

/* What opening and samples have cost so far: adds it to `use`. */
void supervisor_add_costs(const struct supervisor *supervisor, struct budget_use *use);

/* The highest rate (Hz) that any process is to be sampled at now. */
double supervisor_fastest_hz(const struct supervisor *supervisor, uint64_t now_ns);

/* The sampler with the fewest processes; starting a further one costs as much as 64 processes. */
struct sampler_process *supervisor_least_busy(struct supervisor *supervisor);

/* Sends a process to its sampler, which is started first if it does not run and may. */
void supervisor_assign(struct supervisor *supervisor, struct assignment *assignment,
                       uint64_t now_ns);

/* Checks all samplers, and all processes that wait for theirs. */
void supervisor_look(struct supervisor *supervisor, uint64_t now_ns);

/* supervisor_budget.c, which uses samplers.c */

/* One step of the budget: measures, and slows processes or leaves them out. */
void supervisor_step_budget(struct supervisor *supervisor, uint64_t now_ns);

static inline bool sampler_process_runs(const struct sampler_process *sampler)
{
    return sampler->child.pid != 0;
}

#endif

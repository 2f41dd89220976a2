/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_internal.h - shared by the supervisor's files; no other file includes it.
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
    struct report_counts ended; /* sum of the counters of samplers that have ended */
    struct finder *finder;      /* owned */
    struct services services;
    struct assignments assignments;
    unsigned logged; /* log lines "sampling ... as service ..." written past the log's limits */
    struct blamed_owners blamed; /* owners of processes that blocked or crashed a sampler */
    struct bursts bursts;
    struct hang_log hangs;
    struct budget budget;
    uint64_t budget_ns;   /* monotonic: next budget step */
    size_t opening_count; /* processes being opened at the last look, and those sent since */
    struct utc utc;       /* clocks at the last check for a step of the wall clock */
    struct sampler_process samplers[SAMPLERS]; /* the last one: quarantine */
    size_t sampler_count;                      /* how many get processes, without that one */
    struct sampler_process *reporting_sampler; /* borrowed: its reports are handled now */
    bool other_build;                          /* a sampler of another build was logged */
    uint64_t waited_ns; /* CPU time of children that settings.parent had waited for at first */
    int signal_fd;      /* owned */
    struct split_pids split_pids;
    uint64_t commit_number;   /* number of the last IPC_COMMIT */
    uint64_t interval;        /* number of the running interval, from 1 */
    uint64_t interval_end_ns; /* monotonic: when samplers are told to end it */
    uint64_t late_ns; /* monotonic: deadline for samplers that end the interval; 0: it runs */
    uint64_t look_ns; /* monotonic: next check of the samplers */
    struct trim trim;
};

/* samplers.c, which does not use the other two */

/* Passes a REPORT_CHILD on to the sampler of the parent, if another sampler sent it. */
void supervisor_tell_parent(struct supervisor *supervisor, const struct process_end *child);

/* Stops sampling a process; nothing if it is not assigned. */
void supervisor_drop(struct supervisor *supervisor, struct proc_id id);

/* Makes the finder put a process off for a reason of our own, `why`: the budget, or memory. */
void supervisor_refuse(struct supervisor *supervisor, struct proc_id id, const char *why,
                       uint64_t now_ns);

/* True if new processes of this owner are refused: several of its processes have blocked samplers
 * just now, or samplers that they blocked were killed and have not ended. */
bool supervisor_refuses_owner(struct supervisor *supervisor, uint64_t owner, uint64_t now_ns);

/* Handles a sampler that has ended, or whose channel or reports are broken. If it still runs, this
 * kills it and must be called again after its end. Else its processes are sent again later. */
void supervisor_replace_ended(struct supervisor *supervisor, struct sampler_process *sampler);

/* Sends IPC_END for the running interval. */
void supervisor_send_end(struct supervisor *supervisor, struct sampler_process *sampler, bool last);

/* Cost that each target of an owner may have, ns a second; INFINITY: no limit. */
double supervisor_share_of(const struct supervisor *supervisor, uint64_t owner);
void supervisor_set_share(struct supervisor *supervisor, uint64_t owner, double share_ns);

/* Adds the cost of opening and of samples so far to opening_ns and sampling_ns of `use`. */
void supervisor_add_costs(const struct supervisor *supervisor, struct budget_use *use);

/* The highest rate (Hz) of all processes and running bursts; at least 1. */
double supervisor_fastest_hz(const struct supervisor *supervisor, uint64_t now_ns);

/* The sampler with the fewest processes; one without any, except the first, counts as having 64. */
struct sampler_process *supervisor_least_busy(struct supervisor *supervisor);

/* Starts the sampler of a process if needed; sends the process if budget and quarantine allow. */
void supervisor_assign(struct supervisor *supervisor, struct assignment *assignment,
                       uint64_t now_ns);

/* Checks all samplers, and sends processes that wait for theirs. */
void supervisor_look(struct supervisor *supervisor, uint64_t now_ns);

/* supervisor_budget.c, which uses samplers.c */

/* One step of the budget: measures usage, and slows processes or leaves them out. */
void supervisor_step_budget(struct supervisor *supervisor, uint64_t now_ns);

static inline bool sampler_process_runs(const struct sampler_process *sampler)
{
    return sampler->child.pid != 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_internal.h - what the files of a fleet share; nobody else includes it.
 *
 * supervisor.c has its loop, its intervals and what it hears; samplers.c when samplers are
 * started, watched, told what to do and given up; supervisor_budget.c what all of it may use.
 */
#ifndef AGENT_SUPERVISOR_SUPERVISOR_INTERNAL_H
#define AGENT_SUPERVISOR_SUPERVISOR_INTERNAL_H

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
    struct bursts bursts;
    struct hang_log hangs;
    struct budget budget;
    uint64_t budget_ns; /* when it is looked at next */
    struct utc utc;     /* when it was last looked whether the clock was set */
    struct sampler_process samplers[SAMPLERS]; /* the last one for suspects */
    size_t sampler_count;                      /* of those for the others, in use */
    struct sampler_process *reporting_sampler; /* borrowed: who reports now */
    int signal_fd;
    struct split_pids split_pids;
    uint64_t commit_number;   /* the number of the last order to settle */
    uint64_t interval;        /* its number, from 1 */
    uint64_t interval_end_ns; /* when it is to end */
    uint64_t late_ns;         /* it is ending: samplers are waited for until then; 0: it is not */
    uint64_t look_ns;
    struct trim trim;
};

/* samplers.c, which knows nothing of the other two */

/* Samples a process no more. */
void supervisor_drop(struct supervisor *supervisor, struct proc_id id);

/* A process cannot be sampled now, because of us. */
void supervisor_refuse(struct supervisor *supervisor, struct proc_id id, const char *why,
                       uint64_t now_ns);

/* A sampler has ended by itself: it is to be started again. */
void supervisor_replace_ended(struct supervisor *supervisor, struct sampler_process *sampler);

/* Sends an order to a sampler that runs; it is lost if that fails. */
void supervisor_send(struct supervisor *supervisor, struct sampler_process *sampler,
                     enum ipc_message kind, const void *message, size_t size);
void supervisor_send_end(struct supervisor *supervisor, struct sampler_process *sampler, bool last);
void supervisor_send_stretch(struct supervisor *supervisor, struct sampler_process *sampler);

/* The highest rate (Hz) that any process is to be sampled at now. */
double supervisor_fastest_hz(const struct supervisor *supervisor, uint64_t now_ns);

/* The sampler that has the least to do; one that does not run counts as half busy. */
struct sampler_process *supervisor_least_busy(struct supervisor *supervisor);

/* Gives a process to its sampler, which is started if it may be. */
void supervisor_assign(struct supervisor *supervisor, struct assignment *assignment,
                       uint64_t now_ns);

/* Looks at all samplers and at what they are to sample. */
void supervisor_look(struct supervisor *supervisor, uint64_t now_ns);

/* supervisor_budget.c, which uses samplers.c */

/* Keeps to what may be used. */
void supervisor_step_budget(struct supervisor *supervisor, uint64_t now_ns);

static inline bool sampler_process_runs(const struct sampler_process *sampler)
{
    return sampler->child.pid != 0;
}

#endif

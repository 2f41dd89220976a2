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

enum { APART = FLEET_SAMPLERS_MAX, SLOTS };

struct fleet {
    struct engine_settings settings;
    struct engine_stats stats;
    struct fleet_stats counts;
    struct report_counts ended; /* of samplers that have ended */
    struct finder *finder;      /* owned */
    struct services services;
    struct charges charges;
    struct bursts bursts;
    struct hang_talk hangs;
    struct budget budget;
    uint64_t budget_ns;       /* when it is looked at next */
    struct utc utc;           /* when it was last looked whether the clock was set */
    struct slot slots[SLOTS]; /* the last one for suspects */
    size_t slot_count;        /* of those for the others, in use */
    struct slot *heard;       /* borrowed: who reports now */
    int signal_fd;
    struct engine_apart apart;
    uint64_t settling;        /* the number of the last order to settle */
    uint64_t interval;        /* its number, from 1 */
    uint64_t interval_end_ns; /* when it is to end */
    uint64_t late_ns;         /* it is ending: samplers are waited for until then; 0: it is not */
    uint64_t look_ns;
    struct trim trim;
};

/* supervisor.c */

/* Samples a process no more. */
void fleet_drop(struct fleet *fleet, struct proc_id id);

/* A process cannot be sampled now, because of us. */
void fleet_refuse(struct fleet *fleet, struct proc_id id, const char *why, uint64_t now_ns);

/* samplers.c */

/* A sampler has ended by itself: it is to be started again. */
void fleet_lose_ended(struct fleet *fleet, struct slot *slot);

/* Sends an order to a sampler that runs; it is lost if that fails. */
void fleet_order(struct fleet *fleet, struct slot *slot, enum order kind, const void *message,
                 size_t size);
void fleet_order_end(struct fleet *fleet, struct slot *slot, bool last);
void fleet_order_stretch(struct fleet *fleet, struct slot *slot);

/* The highest rate (Hz) that any process is to be sampled at now. */
double fleet_fastest_hz(const struct fleet *fleet, uint64_t now_ns);

/* The sampler that has the least to do; one that does not run counts as half busy. */
struct slot *fleet_least_busy(struct fleet *fleet);

/* Gives a process to its sampler, which is started if it may be. */
void fleet_give(struct fleet *fleet, struct charge *charge, uint64_t now_ns);

/* Looks at all samplers and at what they are to sample. */
void fleet_look(struct fleet *fleet, uint64_t now_ns);

/* supervisor_budget.c */

/* Keeps to what may be used. */
void fleet_keep_budget(struct fleet *fleet, uint64_t now_ns);

static inline bool slot_runs(const struct slot *slot)
{
    return slot->helper.pid != 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fair_share.h - max-min fair division of CPU time between owners of targets, and between the
 * targets of each owner.
 *
 * Every owner (agent/proc/owner.h) may use the same CPU time a second: nobody gets more by having
 * more processes. Time that an owner does not need goes to the others. The targets of an owner
 * divide its time in the same way, so its most expensive targets are slowed down first. No target
 * is slowed to less than one sample a second, its floor, unless it wants less. If the floors cost
 * too much, the most expensive targets of the owner that uses most are left out.
 *
 * Threads: any. Pure functions.
 * Units:   CPU time in ns a second. A share is INFINITY if nothing must be slowed down.
 */
#ifndef AGENT_SAMPLING_FAIR_SHARE_H
#define AGENT_SAMPLING_FAIR_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/proc/proc.h"

struct fair_share_target {
    struct proc_id id; /* not used here: lets the caller find the target after sorting */
    uint64_t owner;    /* as proc_owner gives it */
    double tick_ns;    /* mean cost of one sample, ns; 0: not known, costs nothing */
    double wanted_hz;  /* rate of the settings or of a burst */
    double share_ns;   /* result of fair_share_divide: CPU time that it may use a second */
    bool left_out;     /* is not sampled and costs nothing; set by fair_share_leave_out */
};

/* The rate of a target under a share, Hz: at least its floor, at most `wanted_hz`. */
double fair_share_hz(double share_ns, double tick_ns, double wanted_hz);

/* Sorts targets by owner, as the functions below need them. */
void fair_share_sort(struct fair_share_target *targets, size_t count);

/* Sets the share of each target. Gives the largest share of each owner that keeps all targets
 * within `budget_ns`; 0: the floors alone exceed it. Cost: about 200 passes over the targets. */
double fair_share_divide(struct fair_share_target *targets, size_t count, double budget_ns);

/* Cost of all targets at their floor, of the owner for which it is highest. */
double fair_share_most_at_floor(const struct fair_share_target *targets, size_t count);

/* Marks targets as left out, the most expensive of the owner that costs most first, until at the
 * floor no owner costs more than `owner_ns`, and all together cost no more than `budget_ns`.
 * Gives how many it marked. */
size_t fair_share_leave_out(struct fair_share_target *targets, size_t count, double owner_ns,
                            double budget_ns);

#endif

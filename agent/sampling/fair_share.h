/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fair_share.h - max-min fair division of CPU time between owners of targets, and between the
 * targets of each owner.
 *
 * Every owner (agent/proc/owner.h) may use the same CPU time a second: nobody gets more by having
 * more processes. What an owner does not need is left to the others. The targets of an owner divide
 * what it may use in the same way, so its most expensive targets are slowed down first. No target
 * is slowed to less than one sample a second; if that is still too much, the most expensive targets
 * of the owner that uses most are left out.
 *
 * Threads: any. Pure functions.
 * Units:   CPU time in ns a second; a share is INFINITY if nothing has to be slowed.
 */
#ifndef AGENT_SAMPLING_FAIR_SHARE_H
#define AGENT_SAMPLING_FAIR_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/proc/proc.h"

struct fair_share_target {
    struct proc_id id; /* for the caller: targets are sorted */
    uint64_t owner;
    double tick_ns;   /* mean cost of one sample */
    double wanted_hz; /* rate of the settings or of a burst */
    double share_ns;  /* result: CPU time that it may use */
    bool left_out;    /* is not sampled; set by fair_share_leave_out */
};

/* The rate of a target under a share. */
double fair_share_hz(double share_ns, double tick_ns, double wanted_hz);

/* Sorts targets by owner, as the functions below need them. */
void fair_share_sort(struct fair_share_target *targets, size_t count);

/* Sets the share of each target. Gives the largest share of each owner that keeps all targets
 * within `budget_ns`; 0: not even one sample a second does. Cost: up to 200 passes over the
 * targets. */
double fair_share_divide(struct fair_share_target *targets, size_t count, double budget_ns);

/* CPU time of one sample a second of all targets of one owner: of the one that takes most. */
double fair_share_most_at_floor(const struct fair_share_target *targets, size_t count);

/* Marks targets as left out, the most expensive of the owner that takes most first, until at one
 * sample a second no owner takes more than `owner_ns`, and all together no more than `budget_ns`.
 * Gives how many. */
size_t fair_share_leave_out(struct fair_share_target *targets, size_t count, double owner_ns,
                            double budget_ns);

#endif

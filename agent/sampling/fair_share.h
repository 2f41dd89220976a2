/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fair_share.h - max-min fair division of CPU time between targets.
 *
 * Every target may use the same CPU time a second (the share). A target that needs less leaves the
 * rest to the others, so the most expensive targets are slowed down first. No target is slowed to
 * less than one sample a second; if that is still too much, the most expensive ones are left out.
 *
 * Threads: any. Pure functions.
 * Units:   CPU time in ns a second; the share is INFINITY if nothing has to be slowed.
 */
#ifndef AGENT_SAMPLING_FAIR_SHARE_H
#define AGENT_SAMPLING_FAIR_SHARE_H

#include <stdbool.h>
#include <stddef.h>

struct fair_share_target {
    double tick_ns;   /* mean cost of one sample */
    double wanted_hz; /* rate of the settings or of a burst */
    bool left_out;    /* is not sampled; set by fair_share_leave_out */
};

/* The rate of a target under a share. */
double fair_share_hz(double share_ns, double tick_ns, double wanted_hz);

/* The largest share that keeps all targets within `budget_ns`; 0: not even one sample a second
 * does. Cost: up to 50 passes over the targets. */
double fair_share_divide(const struct fair_share_target *targets, size_t count, double budget_ns);

/* Marks the most expensive targets as left out until the others fit at one sample a second. Gives
 * how many. */
size_t fair_share_leave_out(struct fair_share_target *targets, size_t count, double budget_ns);

#endif

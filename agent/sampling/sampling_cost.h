/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling_cost.h - mean cost of one sample of one target, over about the last minute.
 *
 * The cost is the time that a sample takes, because all other targets wait for it, plus
 * SAMPLING_COST_BYTE_NS for each byte that it adds to the profile, because that byte is later sent,
 * decoded, encoded and compressed. So a target that makes up new names pays for them itself.
 *
 * All names are new at first, so the first samples are expensive. To smooth that, the mean is taken
 * over at least as many ticks as SAMPLING_COST_LEARN_NS has: a new target is slowed down only once
 * it has used up its share of that time.
 *
 * Shape: all zeros at first; sampling_cost_add after each sample.
 */
#ifndef AGENT_SAMPLING_SAMPLING_COST_H
#define AGENT_SAMPLING_SAMPLING_COST_H

#include <stdint.h>

#include "base/time_units.h"

/* CPU time in ns of all that happens to a byte after the sample; gzip takes most of it. */
enum { SAMPLING_COST_BYTE_NS = 50 };

#define SAMPLING_COST_LEARN_NS (10.0 * NS_PER_S)

struct sampling_cost {
    double ns, bytes;   /* sums over the last 30 to 60 seconds of ticks; ns: without the bytes */
    double ticks;       /* in that time */
    double least_ticks; /* ticks in SAMPLING_COST_LEARN_NS */
};

/* Adds a sample that took `took_ns` and stands for `ticks` ticks, each `period_ns` long. */
void sampling_cost_add(struct sampling_cost *cost, uint64_t took_ns, uint64_t bytes, uint64_t ticks,
                       uint64_t period_ns);

/* Mean cost of a tick, ns, with that of its bytes; 0: not known yet. */
double sampling_cost_tick_ns(const struct sampling_cost *cost);

#endif

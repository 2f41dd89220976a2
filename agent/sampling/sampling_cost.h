/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling_cost.h - mean cost of one sample of one target, over about the last minute.
 *
 * The cost is the time that a sample takes the sampler, which all its other targets wait for, plus
 * SAMPLING_COST_BYTE_NS for each byte that it adds to the profile: that byte is later handed over,
 * decoded, encoded and compressed. So a target that makes up new names pays for them itself.
 *
 * All names are new at first. So the first samples count as if SAMPLING_COST_LEARN_NS of ticks had
 * passed: a target that goes on as it began costs what it does after that time, and is slowed down
 * once it has used the limit of that time.
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
    double ns, bytes; /* of the last 30 to 60 seconds of ticks */
    double ticks;
    double least_ticks; /* as many as there are in SAMPLING_COST_LEARN_NS */
};

/* One sample that stands for `ticks` ticks, each `period_ns` long. */
void sampling_cost_add(struct sampling_cost *cost, uint64_t took_ns, uint64_t bytes, uint64_t ticks,
                       uint64_t period_ns);

/* Mean cost of a tick in ns, as of a target that is not new; 0: not known yet. */
double sampling_cost_tick_ns(const struct sampling_cost *cost);

#endif

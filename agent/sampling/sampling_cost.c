/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_cost.c - see sampling_cost.h. */
#include "agent/sampling/sampling_cost.h"

#define MINUTE_NS (60.0 * NS_PER_S)

void sampling_cost_add(struct sampling_cost *cost, uint64_t took_ns, uint64_t bytes, uint64_t ticks,
                       uint64_t period_ns)
{
    cost->ns += (double)took_ns;
    cost->bytes += (double)bytes;
    cost->ticks += (double)ticks;
    cost->least_ticks = SAMPLING_COST_LEARN_NS / (double)period_ns;
    if (cost->ticks * (double)period_ns < MINUTE_NS)
        return;
    cost->ns /= 2;
    cost->bytes /= 2;
    cost->ticks /= 2;
}

double sampling_cost_tick_ns(const struct sampling_cost *cost)
{
    const double ticks = cost->ticks > cost->least_ticks ? cost->ticks : cost->least_ticks;

    return ticks > 0 ? (cost->ns + cost->bytes * SAMPLING_COST_BYTE_NS) / ticks : 0;
}

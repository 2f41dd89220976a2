/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_attribution.h - divides the CPU time of a thread over the stacks that it was seen running
 * with, and the time that it waited for a CPU over the stacks that it was seen waiting with.
 *
 * The kernel tells both times, samples tell the stacks. At the end of an interval each time is
 * divided in proportion to the weights of the stacks, so the sum is always the kernel's number,
 * whatever the sample rate.
 *
 * The weight of a stack is the wall time that its samples stand for. If other programs compete for
 * the CPU, a second of one function may have less CPU time than a second of another. So the
 * interval is cut into parts, and at the end of a part its weights are scaled to the CPU time of
 * the part.
 *
 * Shape:   cpu_attribution_init; for each sample cpu_attribution_add, and now and then
 *          cpu_attribution_end_part; at the end of the interval cpu_attribution_end_part,
 *          cpu_attribution_divide, cpu_attribution_clear; cpu_attribution_finish.
 */
#ifndef AGENT_SAMPLING_CPU_ATTRIBUTION_H
#define AGENT_SAMPLING_CPU_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { CPU_ATTRIBUTION_MAX = 1024 }; /* different rows between two calls of _clear */

/* What a thread was doing in a sample. */
enum cpu_attribution_kind {
    CPU_ATTRIBUTION_RAN,    /* it had a CPU, or may have had one: weighs for CPU time */
    CPU_ATTRIBUTION_WAITED, /* it waited for a CPU: weighs for waiting time */
    CPU_ATTRIBUTION_KINDS
};

struct cpu_attribution_item {
    uint32_t row;    /* of the service's profile: stands for a stack */
    uint64_t now;    /* wall time seen running with this stack in the current part, ns */
    uint64_t ended;  /* CPU time of this stack in the parts that have ended, ns */
    uint64_t waited; /* wall time seen waiting for a CPU with this stack, ns */
};

struct cpu_attribution {
    struct cpu_attribution_item *items; /* owned */
    size_t count, capacity;
    uint64_t now, ended, waited; /* sums over the items */
    uint64_t samples;            /* of kind CPU_ATTRIBUTION_RAN in the current part */
};

void cpu_attribution_init(struct cpu_attribution *cpu_attribution);
void cpu_attribution_finish(struct cpu_attribution *cpu_attribution);

/*
 * Notes that the thread was seen with stack `row`, which stands for `weight` ns.
 * False: it is full, or out of memory; divide, clear and add again.
 */
MUST_CHECK bool cpu_attribution_add(struct cpu_attribution *cpu_attribution, uint32_t row,
                                    uint64_t weight, enum cpu_attribution_kind kind);

/* Ends a part, in which the thread used `cpu_ns` of CPU time. False: it was not seen running in the
 * part, which goes on. */
bool cpu_attribution_end_part(struct cpu_attribution *cpu_attribution, uint64_t cpu_ns);

/*
 * Divides `amount` ns over the rows by the weights of a kind, one call of `give` a row. Without
 * samples of that kind it uses the other kind: a thread that wakes up for some microseconds at a
 * time is hardly ever seen running, only waiting for a CPU.
 *
 * Gives: the sum of the shares: exactly `amount`, or 0 if there is no row.
 */
uint64_t cpu_attribution_divide(const struct cpu_attribution *cpu_attribution,
                                enum cpu_attribution_kind kind, uint64_t amount,
                                void (*give)(void *ctx, uint32_t row, uint64_t share), void *ctx);

/* Removes all rows and their weights. */
void cpu_attribution_clear(struct cpu_attribution *cpu_attribution);

#endif

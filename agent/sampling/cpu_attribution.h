/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_attribution.h - divides the CPU time of a thread over the stacks that it was seen running
 * with, and the time that it waited for a CPU over those that it was seen waiting with.
 *
 * The kernel knows how much of both a thread had; samples know the stacks. Over an interval each is
 * divided in proportion to the weights of the stacks, so the sum is always the kernel's number,
 * whatever the sample rate.
 *
 * The weight of a stack is the time for which it was seen. But where other programs want the CPU,
 * too, a second of one function may have less CPU time than a second of another. So the interval is
 * cut into parts, and when a part ends, its weights are scaled to the CPU time of the part.
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

enum { CPU_ATTRIBUTION_MAX = 1024 }; /* different stacks until a divide is due */

/* What a thread was doing in a sample, and the time that is divided by such samples. */
enum cpu_attribution_kind {
    CPU_ATTRIBUTION_RAN,    /* it had a CPU, or may have had; CPU time */
    CPU_ATTRIBUTION_WAITED, /* it waited for a CPU; time that it waited */
    CPU_ATTRIBUTION_KINDS
};

struct cpu_attribution_item {
    uint32_t row;    /* of the profile of the service */
    uint64_t now;    /* ns for which it ran with this stack, in the part that goes on, */
    uint64_t ended;  /* and before, where it is CPU time */
    uint64_t waited; /* ns for which it waited with this stack */
};

struct cpu_attribution {
    struct cpu_attribution_item *items; /* owned */
    size_t count, capacity;
    uint64_t now, ended, waited; /* the sums of the items */
    uint64_t samples;            /* in the part that goes on, of those with CPU_ATTRIBUTION_RAN */
};

void cpu_attribution_init(struct cpu_attribution *cpu_attribution);
void cpu_attribution_finish(struct cpu_attribution *cpu_attribution);

/*
 * Notes that the thread was seen with stack `row`, which stands for `weight` ns.
 * False: it is full, or out of memory; divide, clear and add again.
 */
MUST_CHECK bool cpu_attribution_add(struct cpu_attribution *cpu_attribution, uint32_t row,
                                    uint64_t weight, enum cpu_attribution_kind kind);

/* Ends a part, in which the thread used `cpu_ns`. False: it was not seen running, and the part goes
 * on. */
bool cpu_attribution_end_part(struct cpu_attribution *cpu_attribution, uint64_t cpu_ns);

/*
 * Divides `amount` over the rows by the samples of a kind, one call of `give` each. If it has no
 * such samples, by the others: a thread that wakes up for some microseconds at a time is hardly
 * ever seen but while it waits for a CPU.
 *
 * Gives: what was divided: all of `amount`, exactly, or 0 if no row was seen.
 */
uint64_t cpu_attribution_divide(const struct cpu_attribution *cpu_attribution,
                                enum cpu_attribution_kind kind, uint64_t amount,
                                void (*give)(void *ctx, uint32_t row, uint64_t share), void *ctx);

/* Forgets the rows. */
void cpu_attribution_clear(struct cpu_attribution *cpu_attribution);

#endif

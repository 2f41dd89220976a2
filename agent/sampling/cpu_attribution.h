/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_attribution.h - divides the CPU time of a thread over the stacks that it was seen running
 * with.
 *
 * The kernel knows how much CPU time a thread used; samples know the stacks. Over an interval the
 * CPU time is divided in proportion to the weights of the stacks, so the sum is always the kernel's
 * number, whatever the sample rate.
 *
 * The weight of a stack is the time for which it was seen. But where other programs want the CPU,
 * too, a second of one function may have less CPU time than a second of another. So the interval is
 * cut into parts, and when a part ends, its weights are scaled to the CPU time of the part.
 *
 * Shape:   cpu_attribution_init; for each sample cpu_attribution_add, and now and then
 *          cpu_attribution_end_part; at the end of the interval cpu_attribution_end_part,
 *          cpu_attribution_leave_waits, cpu_attribution_divide, cpu_attribution_clear;
 *          cpu_attribution_finish.
 */
#ifndef AGENT_SAMPLING_CPU_ATTRIBUTION_H
#define AGENT_SAMPLING_CPU_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { CPU_ATTRIBUTION_MAX = 1024 }; /* different stacks until a divide is due */

/* Weights: ns of CPU time in parts that have ended, of samples in the part that runs. */
struct cpu_weight {
    uint64_t seen;  /* the thread was ready to run */
    uint64_t woken; /* of that, it may only have waited for a CPU, as it slept before */
};

struct cpu_attribution_item {
    uint32_t row; /* of the profile of the service */
    struct cpu_weight ended, now;
};

struct cpu_attribution {
    struct cpu_attribution_item *items; /* owned */
    size_t count, capacity;
    uint64_t total;     /* of `seen` of all items, in the parts that have ended */
    uint64_t now_total; /* in the part that runs */
    uint64_t samples;   /* cpu_attribution_add calls in the part that runs */
    uint64_t waits;     /* of `total`, what only waited for a CPU, by the kernel's numbers */
};

void cpu_attribution_init(struct cpu_attribution *cpu_attribution);
void cpu_attribution_finish(struct cpu_attribution *cpu_attribution);

/*
 * Notes that the thread was seen ready to run with stack `row` for `weight` ns. `woken`: it slept
 * in the sample before, and `row` is a stack with which it sleeps.
 * False: it is full, or out of memory; divide, clear and add again.
 */
MUST_CHECK bool cpu_attribution_add(struct cpu_attribution *cpu_attribution, uint32_t row,
                                    uint64_t weight, bool woken);

/*
 * Ends a part, in which the thread used `cpu_ns` and waited for a CPU for `wait_ns` in which a
 * sample may have seen it.
 */
void cpu_attribution_end_part(struct cpu_attribution *cpu_attribution, uint64_t cpu_ns,
                              uint64_t wait_ns);

/*
 * Leaves out what it waited for a CPU. The kernel does not tell a thread that runs from one that
 * waits, but it counts both times. A thread that is woken up waits, as long as an idle CPU takes to
 * come back, with the stack with which it slept; if it works for less than that, more of its time
 * would go there than it has used there.
 */
void cpu_attribution_leave_waits(struct cpu_attribution *cpu_attribution);

/*
 * Divides `amount` over the rows, one call of `give` each.
 *
 * Gives: what was divided: all of `amount`, exactly, or 0 if no row was seen.
 */
uint64_t cpu_attribution_divide(const struct cpu_attribution *cpu_attribution, uint64_t amount,
                                void (*give)(void *ctx, uint32_t row, uint64_t share), void *ctx);

/* Forgets the rows. */
void cpu_attribution_clear(struct cpu_attribution *cpu_attribution);

#endif

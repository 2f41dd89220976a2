/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_attribution.h - divides the CPU time of a thread over the stacks that it was seen running
 * with.
 *
 * The kernel knows how much CPU time a thread used; samples know the stacks. Over an interval the
 * CPU time is divided in proportion to the sampled time of each stack, so the sum is always the
 * kernel's number, whatever the sample rate.
 */
#ifndef AGENT_SAMPLING_CPU_ATTRIBUTION_H
#define AGENT_SAMPLING_CPU_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { CPU_ATTRIBUTION_MAX = 1024 }; /* different stacks until a divide is due */

struct cpu_attribution_item {
    uint32_t row;    /* of the profile of the service */
    uint64_t weight; /* ns in which the thread was seen ready to run with it */
    uint64_t woken;  /* the part of it that was CPU_WOKEN */
};

/* How sure it is that a thread was on a CPU when it was seen ready to run. */
enum cpu_seen {
    CPU_RUNS,  /* it was */
    CPU_READY, /* it may have waited for one; the stack is what it works with */
    CPU_WOKEN  /* it may have waited for one since it was woken up: it has slept with this stack */
};

struct cpu_attribution {
    struct cpu_attribution_item *items; /* owned */
    size_t count, capacity;
    uint64_t total;   /* of all weights */
    uint64_t unknown; /* the part of it that was not CPU_RUNS */
};

void cpu_attribution_init(struct cpu_attribution *cpu_attribution);
void cpu_attribution_finish(struct cpu_attribution *cpu_attribution);

/*
 * Notes that the thread was seen ready to run with stack `row` for `weight` ns.
 * False: it is full, or out of memory; divide, clear and add again.
 */
MUST_CHECK bool cpu_attribution_add(struct cpu_attribution *cpu_attribution, uint32_t row,
                                    uint64_t weight, enum cpu_seen seen);

/*
 * Leaves out what it waited for a CPU. Mostly the kernel does not tell a thread that runs from one
 * that waits, but it counts both times: while it used `cpu_ns` it waited for `wait_ns`, and of the
 * times when it was seen and neither was known, such a part will have been waits. A thread that is
 * woken up waits, as long as an idle CPU takes to come back, with the stack with which it slept;
 * if it works for less than that, more of its time would go there than it has used there.
 */
void cpu_attribution_leave_waits(struct cpu_attribution *cpu_attribution, uint64_t cpu_ns,
                                 uint64_t wait_ns);

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

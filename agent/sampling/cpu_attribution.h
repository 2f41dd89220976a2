/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_attribution.h - divides the CPU time of a thread over the stacks that it was seen running
 * with.
 *
 * The kernel knows how much CPU time a thread used; samples know the stacks. What it used during
 * some samples is divided in proportion to the sampled time of each stack, so the sum is always the
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
    uint64_t woken;  /* the part of it in which the thread may only have waited, after a sleep */
};

struct cpu_attribution {
    struct cpu_attribution_item *items; /* owned */
    size_t count, capacity;
    uint64_t total;   /* of all weights */
    uint64_t samples; /* cpu_attribution_add calls since it was empty */
};

void cpu_attribution_init(struct cpu_attribution *cpu_attribution);
void cpu_attribution_finish(struct cpu_attribution *cpu_attribution);

/*
 * Notes that the thread was seen ready to run with stack `row` for `weight` ns. `woken`: it slept
 * with that stack lately.
 * False: it is full, or out of memory; divide, clear and add again.
 */
MUST_CHECK bool cpu_attribution_add(struct cpu_attribution *cpu_attribution, uint32_t row,
                                    uint64_t weight, bool woken);

/*
 * Leaves out what it waited for a CPU. The kernel does not tell a thread that runs from one that
 * waits, but it counts both times: it used `cpu_ns`, and waited for `wait_ns` in which a sample may
 * have seen it. A thread that is woken up waits, as long as an idle CPU takes to come back, with
 * the stack with which it slept; if it works for less than that, more of its time would go there
 * than it has used there.
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_attribution.h - divides the CPU time of a thread over the stacks that it was seen running
 * with, and remembers those with which it sleeps.
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
    uint64_t woken; /* of that, it may only have waited for a CPU after it was woken up */
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
 * Notes that the thread was seen ready to run with stack `row` for `weight` ns. `woken`: `row` is a
 * stack with which it sleeps, so it may have been woken up and wait for a CPU.
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

enum { REST_STACKS_MAX = 4 };

/* A row of the profile, and in how many samples the thread was seen with it. */
struct rest_stack {
    uint32_t row;
    uint32_t asleep, ready; /* asleep; ready to run, since it was first seen asleep with it */
};

/*
 * The stacks with which a thread was seen asleep in an interval; all zero: none.
 *
 * A thread that is woken up waits until a CPU is free, and all the while it has the stack with
 * which it slept. Samples see it ready to run there, though it uses no CPU time. On a busy host
 * that is often: a server's threads would seem to work where they wait for requests.
 */
struct rest_stacks {
    struct rest_stack items[REST_STACKS_MAX]; /* the last ones that are different */
    unsigned count;                           /* that were ever put into `items` */
};

/* Notes that the thread was seen asleep with the stack of that row. */
void rest_stacks_note_asleep(struct rest_stacks *stacks, uint32_t row);

/* Notes that it was seen ready to run with that stack. NULL: it was not seen asleep with it; else
 * the stack, which the next note may replace. */
const struct rest_stack *rest_stacks_note_ready(struct rest_stacks *stacks, uint32_t row);

/*
 * True if a thread that was seen ready to run with `stack` (NULL: no rest stack) may have been
 * woken up there and wait for a CPU. Two things tell that it works: it has the GIL, and so runs
 * Python code; or it was seen ready with this stack more often than asleep.
 */
bool rest_stack_may_wait(const struct rest_stack *stack, bool has_gil);

#endif

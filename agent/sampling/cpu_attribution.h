/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_attribution.h - spreads the CPU time of a thread over the stacks it was seen running with.
 *
 * The kernel knows how much CPU a thread took, samples know where it was running.
 * Over an interval the one is divided in proportion to the other, so that the sum is
 * the kernel's own number whatever the rate.
 */
#ifndef AGENT_SAMPLING_CPU_ATTRIBUTION_H
#define AGENT_SAMPLING_CPU_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { SPREAD_MAX = 1024 }; /* different stacks; then it is time to settle */

struct spread_item {
    uint32_t row;
    uint64_t weight;
};

struct spread {
    struct spread_item *items; /* owned */
    size_t count, capacity;
    uint64_t total;
};

void spread_init(struct spread *spread);
void spread_finish(struct spread *spread);

/*
 * Notes that the thread was seen running with stack `row` for `weight` ns.
 * False: it is full, or out of memory; settle and add again.
 */
MUST_CHECK bool spread_add(struct spread *spread, uint32_t row, uint64_t weight);

/*
 * Divides `amount` over the rows, one call of `give` each.
 *
 * Gives: what was divided: all of `amount`, exactly, or 0 if no row was seen.
 */
uint64_t spread_divide(const struct spread *spread, uint64_t amount,
                       void (*give)(void *ctx, uint32_t row, uint64_t share), void *ctx);

/* Forgets the rows. */
void spread_clear(struct spread *spread);

#endif

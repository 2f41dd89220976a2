/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_attribution.c - see cpu_attribution.h. */
#include "agent/sampling/cpu_attribution.h"

#include <stdlib.h>

#include "base/array.h"

void cpu_attribution_init(struct cpu_attribution *cpu_attribution)
{
    *cpu_attribution = (struct cpu_attribution){0};
}

void cpu_attribution_finish(struct cpu_attribution *cpu_attribution)
{
    free(cpu_attribution->items);
    cpu_attribution_init(cpu_attribution);
}

/* Gives the item of a row, made if there is none; NULL: it is full, or out of memory. */
static struct cpu_attribution_item *item_of(struct cpu_attribution *cpu_attribution, uint32_t row)
{
    for (size_t i = cpu_attribution->count; i > 0; i--) /* newest first: stacks come in runs */
        if (cpu_attribution->items[i - 1].row == row)
            return &cpu_attribution->items[i - 1];
    if (cpu_attribution->count == CPU_ATTRIBUTION_MAX ||
        !ARRAY_RESERVE(cpu_attribution->items, cpu_attribution->capacity,
                       cpu_attribution->count + 1))
        return NULL;
    cpu_attribution->items[cpu_attribution->count] = (struct cpu_attribution_item){.row = row};
    return &cpu_attribution->items[cpu_attribution->count++];
}

bool cpu_attribution_add(struct cpu_attribution *cpu_attribution, uint32_t row, uint64_t weight,
                         enum cpu_attribution_kind kind)
{
    struct cpu_attribution_item *item = item_of(cpu_attribution, row);

    if (!item)
        return false;
    if (kind == CPU_ATTRIBUTION_WAITED) {
        item->waited += weight;
        cpu_attribution->waited += weight;
        return true;
    }
    item->now += weight;
    cpu_attribution->now += weight;
    cpu_attribution->samples++;
    return true;
}

bool cpu_attribution_end_part(struct cpu_attribution *cpu_attribution, uint64_t cpu_ns)
{
    struct cpu_attribution_item *item, *end = cpu_attribution->items + cpu_attribution->count;
    const double scale = (double)cpu_ns / (double)cpu_attribution->now;
    uint64_t used;

    if (cpu_attribution->now == 0)
        return false;
    for (item = cpu_attribution->items; item < end; item++) {
        used = (uint64_t)((double)item->now * scale);
        item->ended += used;
        cpu_attribution->ended += used;
        item->now = 0;
    }
    cpu_attribution->now = cpu_attribution->samples = 0;
    return true;
}

/* What an item weighs in a kind of samples. */
static uint64_t seen_as(const struct cpu_attribution_item *item, enum cpu_attribution_kind kind)
{
    return kind == CPU_ATTRIBUTION_WAITED ? item->waited : item->ended + item->now;
}

uint64_t cpu_attribution_divide(const struct cpu_attribution *cpu_attribution,
                                enum cpu_attribution_kind kind, uint64_t amount,
                                void (*give)(void *ctx, uint32_t row, uint64_t share), void *ctx)
{
    const uint64_t totals[CPU_ATTRIBUTION_KINDS] = {
        [CPU_ATTRIBUTION_RAN] = cpu_attribution->ended + cpu_attribution->now,
        [CPU_ATTRIBUTION_WAITED] = cpu_attribution->waited,
    };
    uint64_t given = 0, due, weight = 0, total;
    size_t i, count = cpu_attribution->count;
    double share;

    if (totals[kind] == 0)
        kind = kind == CPU_ATTRIBUTION_RAN ? CPU_ATTRIBUTION_WAITED : CPU_ATTRIBUTION_RAN;
    total = totals[kind];
    for (i = 0; i < count; i++) {
        weight += seen_as(&cpu_attribution->items[i], kind);
        share = total ? (double)weight / (double)total : (double)(i + 1) / (double)count;
        /* Shares are cut from a running sum, so that rounding never adds up. */
        due = i + 1 == count ? amount : (uint64_t)((double)amount * share);
        due = due < given ? given : due > amount ? amount : due;
        give(ctx, cpu_attribution->items[i].row, due - given);
        given = due;
    }
    return given;
}

void cpu_attribution_clear(struct cpu_attribution *cpu_attribution)
{
    cpu_attribution->count = 0;
    cpu_attribution->now = cpu_attribution->ended = cpu_attribution->waited = 0;
    cpu_attribution->samples = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_attribution.c - see cpu_attribution.h. */
#include "agent/sampling/cpu_attribution.h"

#include <stdlib.h>

void spread_init(struct spread *spread)
{
    *spread = (struct spread){0};
}

void spread_finish(struct spread *spread)
{
    free(spread->items);
    spread_init(spread);
}

static bool make_room(struct spread *spread)
{
    size_t capacity = spread->capacity ? spread->capacity * 2 : 8;
    struct spread_item *wider;

    if (spread->count < spread->capacity)
        return true;
    if (spread->count == SPREAD_MAX)
        return false;
    wider = realloc(spread->items, capacity * sizeof(*wider));
    if (!wider)
        return false;
    spread->items = wider;
    spread->capacity = capacity;
    return true;
}

bool spread_add(struct spread *spread, uint32_t row, uint64_t weight)
{
    size_t i;

    for (i = spread->count; i > 0; i--) /* newest first: stacks come in runs */
        if (spread->items[i - 1].row == row) {
            spread->items[i - 1].weight += weight;
            spread->total += weight;
            return true;
        }
    if (!make_room(spread))
        return false;
    spread->items[spread->count++] = (struct spread_item){row, weight};
    spread->total += weight;
    return true;
}

uint64_t spread_divide(const struct spread *spread, uint64_t amount,
                       void (*give)(void *ctx, uint32_t row, uint64_t share), void *ctx)
{
    uint64_t given = 0, due, weight = 0;
    size_t i, count = spread->count;
    double share;

    for (i = 0; i < count; i++) {
        weight += spread->items[i].weight;
        share = spread->total ? (double)weight / (double)spread->total
                              : (double)(i + 1) / (double)count;
        /* Shares are cut from a running sum, so that rounding never adds up. */
        due = i + 1 == count ? amount : (uint64_t)((double)amount * share);
        due = due < given ? given : due > amount ? amount : due;
        give(ctx, spread->items[i].row, due - given);
        given = due;
    }
    return given;
}

void spread_clear(struct spread *spread)
{
    spread->count = 0;
    spread->total = 0;
}

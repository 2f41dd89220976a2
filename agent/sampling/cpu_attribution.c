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

bool cpu_attribution_add(struct cpu_attribution *cpu_attribution, uint32_t row, uint64_t weight,
                         bool woken)
{
    const struct cpu_weight now = {weight, woken ? weight : 0};

    cpu_attribution->samples++;
    for (size_t i = cpu_attribution->count; i > 0; i--) /* newest first: stacks come in runs */
        if (cpu_attribution->items[i - 1].row == row) {
            cpu_attribution->items[i - 1].now.seen += now.seen;
            cpu_attribution->items[i - 1].now.woken += now.woken;
            cpu_attribution->now_total += weight;
            return true;
        }
    if (cpu_attribution->count == CPU_ATTRIBUTION_MAX ||
        !ARRAY_RESERVE(cpu_attribution->items, cpu_attribution->capacity,
                       cpu_attribution->count + 1))
        return false;
    cpu_attribution->items[cpu_attribution->count++] =
        (struct cpu_attribution_item){.row = row, .now = now};
    cpu_attribution->now_total += weight;
    return true;
}

void cpu_attribution_end_part(struct cpu_attribution *cpu_attribution, uint64_t cpu_ns,
                              uint64_t wait_ns)
{
    struct cpu_attribution_item *item, *end = cpu_attribution->items + cpu_attribution->count;
    const double cpu = (double)cpu_ns, wait = (double)wait_ns;
    double scale;
    uint64_t seen;

    cpu_attribution->samples = 0;
    if (cpu_attribution->now_total == 0)
        return;
    scale = cpu / (double)cpu_attribution->now_total;
    for (item = cpu_attribution->items; item < end; item++) {
        seen = (uint64_t)((double)item->now.seen * scale);
        item->ended.seen += seen;
        item->ended.woken += (uint64_t)((double)item->now.woken * scale);
        cpu_attribution->total += seen;
        item->now = (struct cpu_weight){0, 0};
    }
    cpu_attribution->now_total = 0;
    if (wait_ns > 0)
        cpu_attribution->waits += (uint64_t)(cpu * wait / (cpu + wait));
}

void cpu_attribution_leave_waits(struct cpu_attribution *cpu_attribution)
{
    struct cpu_attribution_item *item, *end = cpu_attribution->items + cpu_attribution->count;
    const double waits = (double)cpu_attribution->waits;
    uint64_t woken = 0, left_out;
    double part;

    for (item = cpu_attribution->items; item < end; item++)
        woken += item->ended.woken;
    if (woken == 0 || woken == cpu_attribution->total)
        return;
    part = waits < (double)woken ? waits / (double)woken : 1;
    for (item = cpu_attribution->items; item < end; item++) {
        left_out = (uint64_t)((double)item->ended.woken * part);
        item->ended.seen -= left_out;
        cpu_attribution->total -= left_out;
    }
}

uint64_t cpu_attribution_divide(const struct cpu_attribution *cpu_attribution, uint64_t amount,
                                void (*give)(void *ctx, uint32_t row, uint64_t share), void *ctx)
{
    const uint64_t total = cpu_attribution->total + cpu_attribution->now_total;
    uint64_t given = 0, due, weight = 0;
    size_t i, count = cpu_attribution->count;
    double share;

    for (i = 0; i < count; i++) {
        weight += cpu_attribution->items[i].ended.seen + cpu_attribution->items[i].now.seen;
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
    cpu_attribution->total = cpu_attribution->now_total = 0;
    cpu_attribution->samples = cpu_attribution->waits = 0;
}

static struct rest_stack *find_row(struct rest_stacks *stacks, uint32_t row)
{
    for (unsigned i = 0; i < stacks->count && i < REST_STACKS_MAX; i++)
        if (stacks->items[i].row == row)
            return &stacks->items[i];
    return NULL;
}

void rest_stacks_note_asleep(struct rest_stacks *stacks, uint32_t row)
{
    struct rest_stack *stack = find_row(stacks, row);

    if (!stack) {
        stack = &stacks->items[stacks->count++ % REST_STACKS_MAX];
        *stack = (struct rest_stack){.row = row};
    }
    stack->asleep++;
}

const struct rest_stack *rest_stacks_note_ready(struct rest_stacks *stacks, uint32_t row)
{
    struct rest_stack *stack = find_row(stacks, row);

    if (stack)
        stack->ready++;
    return stack;
}

bool rest_stack_may_wait(const struct rest_stack *stack, bool has_gil)
{
    return stack && !has_gil && stack->asleep >= stack->ready;
}

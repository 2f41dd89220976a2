/* SPDX-License-Identifier: Apache-2.0 */
/* assignments.c - see assignments.h. */
#include "agent/supervisor/assignments.h"

#include <stdlib.h>

struct charge *charges_add(struct charges *charges, struct proc_id id, const struct choice *choice,
                           struct slot *slot, struct slot *apart)
{
    size_t capacity = charges->capacity ? charges->capacity * 2 : 16;
    struct charge *wider, *charge;

    if (charges->count == charges->capacity) {
        wider = realloc(charges->items, capacity * sizeof(*wider));
        if (!wider)
            return NULL;
        charges->items = wider;
        charges->capacity = capacity;
    }
    charge = &charges->items[charges->count++];
    *charge = (struct charge){.id = id, .choice = *choice};
    charge->slot = suspects_find(&charges->suspects, id) ? apart : slot;
    charge->slot->processes++;
    return charge;
}

struct charge *charges_find(const struct charges *charges, struct proc_id id)
{
    size_t i;

    for (i = 0; i < charges->count; i++)
        if (charges->items[i].id.pid == id.pid && charges->items[i].id.start == id.start)
            return &charges->items[i];
    return NULL;
}

struct charge *charges_reading(const struct charges *charges, const struct slot *slot, pid_t pid)
{
    size_t i;

    for (i = 0; i < charges->count; i++)
        if (charges->items[i].id.pid == pid && charges->items[i].slot == slot)
            return &charges->items[i];
    return NULL;
}

/* Adds one process's counts of two samplers: all of them are such numbers. */
static struct engine_counts sum(const struct engine_counts *a, const struct engine_counts *b)
{
    struct engine_counts out = {.samples = a->samples + b->samples,
                                .missed = a->missed + b->missed,
                                .torn = a->torn + b->torn,
                                .torn_moved = a->torn_moved + b->torn_moved,
                                .torn_chain = a->torn_chain + b->torn_chain,
                                .torn_code = a->torn_code + b->torn_code,
                                .torn_unmapped = a->torn_unmapped + b->torn_unmapped};
    size_t i;

    for (i = 0; i < ENGINE_OUTCOMES; i++)
        out.failed[i] = a->failed[i] + b->failed[i];
    return out;
}

void charges_count(struct charges *charges, const struct slot *slot, struct proc_id id,
                   const struct engine_counts *counts)
{
    struct charge *charge;
    size_t i;

    for (i = 0; i < charges->count; i++, charges->next++) { /* they come in much the same order */
        charge = &charges->items[charges->next % charges->count];
        if (charge->id.pid != id.pid || charge->id.start != id.start)
            continue;
        if (charge->slot == slot && charge->sent)
            charge->counts = sum(&charge->before, counts);
        charges->next = (charges->next + 1) % charges->count;
        return;
    }
}

void charges_remove(struct charges *charges, struct charge *charge)
{
    if (!charge)
        return;
    charge->slot->processes--;
    *charge = charges->items[--charges->count];
}

static void unsend(struct charge *charge)
{
    charge->sent = false;
    charge->sampling = false;
    charge->before = charge->counts;
    hang_forget(&charge->hang);
}

void charges_move(struct charge *charge, struct slot *slot)
{
    charge->slot->processes--;
    charge->slot = slot;
    charge->slot->processes++;
    unsend(charge);
}

void charges_unsend(struct charges *charges, const struct slot *slot)
{
    size_t i;

    for (i = 0; i < charges->count; i++)
        if (charges->items[i].slot == slot)
            unsend(&charges->items[i]);
}

const struct suspect *charges_suspect(struct charges *charges, struct charge *charge,
                                      struct slot *apart, uint64_t now_ns)
{
    charges_move(charge, apart);
    return suspects_blame(&charges->suspects, charge->id, now_ns);
}

uint64_t charges_try_ns(const struct charges *charges, const struct charge *charge)
{
    const struct suspect *suspect = suspects_find(&charges->suspects, charge->id);

    return suspect ? suspect_next_ns(suspect) : 0;
}

static bool is_gone(void *ctx, struct proc_id id)
{
    struct proc_stat stat;

    (void)ctx;
    return !proc_read_stat(id.pid, &stat) || stat.start != id.start;
}

void charges_sweep(struct charges *charges)
{
    suspects_sweep(&charges->suspects, is_gone, NULL);
}

size_t charges_sampling(const struct charges *charges)
{
    size_t i, count = 0;

    for (i = 0; i < charges->count; i++)
        count += charges->items[i].sampling;
    return count;
}

void charges_finish(struct charges *charges)
{
    free(charges->items);
    suspects_finish(&charges->suspects);
    *charges = (struct charges){0};
}

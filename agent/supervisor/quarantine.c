/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine.c - see quarantine.h. */
#include "agent/supervisor/quarantine.h"

#include <stdlib.h>

#include "agent/host/clock.h"
#include "base/array.h"
#include "base/time_units.h"

/* A host that was out of memory for a moment blocks reads, too: the first wait is short. */
#define WAIT_FIRST_NS (2 * NS_PER_S)
#define WAIT_MAX_NS   (3600 * NS_PER_S)

enum { WAIT_GROWS = 4 };

static struct quarantine_entry *find_quarantine_entry(const struct quarantine *quarantine,
                                                      struct proc_id id)
{
    for (size_t i = 0; i < quarantine->count; i++)
        if (proc_id_equal(quarantine->items[i].id, id))
            return &quarantine->items[i];
    return NULL;
}

const struct quarantine_entry *quarantine_find(const struct quarantine *quarantine,
                                               struct proc_id id)
{
    return find_quarantine_entry(quarantine, id);
}

uint64_t quarantine_next_ns(const struct quarantine_entry *entry)
{
    return entry->blamed_ns + entry->wait_ns;
}

/* Room for one more; where there may be no more, that of the oldest. */
static struct quarantine_entry *get_free_quarantine_entry(struct quarantine *quarantine)
{
    size_t i, oldest = 0;

    if (quarantine->count == QUARANTINE_MAX) {
        for (i = 1; i < quarantine->count; i++)
            if (quarantine->items[i].blamed_ns < quarantine->items[oldest].blamed_ns)
                oldest = i;
        return &quarantine->items[oldest];
    }
    if (!ARRAY_RESERVE(quarantine->items, quarantine->capacity, quarantine->count + 1))
        return NULL;
    return &quarantine->items[quarantine->count++];
}

const struct quarantine_entry *quarantine_add(struct quarantine *quarantine, struct proc_id id,
                                              uint64_t now_ns)
{
    struct quarantine_entry *entry = find_quarantine_entry(quarantine, id);

    if (!entry) {
        entry = get_free_quarantine_entry(quarantine);
        if (!entry)
            return NULL;
        *entry = (struct quarantine_entry){.id = id};
    }
    entry->count++;
    entry->blamed_ns = now_ns;
    entry->wait_ns = entry->wait_ns ? entry->wait_ns * WAIT_GROWS : WAIT_FIRST_NS;
    if (entry->wait_ns > WAIT_MAX_NS)
        entry->wait_ns = WAIT_MAX_NS;
    return entry;
}

void quarantine_sweep(struct quarantine *quarantine, bool (*is_gone)(void *ctx, struct proc_id id),
                      void *ctx)
{
    size_t i, kept = 0;

    for (i = 0; i < quarantine->count; i++)
        if (!is_gone(ctx, quarantine->items[i].id))
            quarantine->items[kept++] = quarantine->items[i];
    quarantine->count = kept;
}

void quarantine_finish(struct quarantine *quarantine)
{
    free(quarantine->items);
    *quarantine = (struct quarantine){0};
}

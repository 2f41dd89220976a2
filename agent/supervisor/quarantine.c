/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine.c - see quarantine.h. */
#include "agent/supervisor/quarantine.h"

#include <stdlib.h>

#include "agent/host/clock.h"

/* A host that was out of memory for a moment blocks reads, too: the first wait is short. */
#define WAIT_FIRST_NS (2 * NS_PER_S)
#define WAIT_MAX_NS   (3600 * NS_PER_S)

enum { WAIT_GROWS = 4 };

static struct suspect *find(const struct suspects *suspects, struct proc_id id)
{
    size_t i;

    for (i = 0; i < suspects->count; i++)
        if (suspects->items[i].id.pid == id.pid && suspects->items[i].id.start == id.start)
            return &suspects->items[i];
    return NULL;
}

const struct suspect *suspects_find(const struct suspects *suspects, struct proc_id id)
{
    return find(suspects, id);
}

uint64_t suspect_next_ns(const struct suspect *suspect)
{
    return suspect->blamed_ns + suspect->wait_ns;
}

/* Room for one more; where there may be no more, that of the oldest. */
static struct suspect *make_room(struct suspects *suspects)
{
    size_t i, oldest = 0, capacity = suspects->capacity ? suspects->capacity * 2 : 8;
    struct suspect *wider;

    if (suspects->count == SUSPECTS_MAX) {
        for (i = 1; i < suspects->count; i++)
            if (suspects->items[i].blamed_ns < suspects->items[oldest].blamed_ns)
                oldest = i;
        return &suspects->items[oldest];
    }
    if (suspects->count == suspects->capacity) {
        wider = realloc(suspects->items, capacity * sizeof(*wider));
        if (!wider)
            return NULL;
        suspects->items = wider;
        suspects->capacity = capacity;
    }
    return &suspects->items[suspects->count++];
}

const struct suspect *suspects_blame(struct suspects *suspects, struct proc_id id, uint64_t now_ns)
{
    struct suspect *suspect = find(suspects, id);

    if (!suspect) {
        suspect = make_room(suspects);
        if (!suspect)
            return NULL;
        *suspect = (struct suspect){.id = id};
    }
    suspect->count++;
    suspect->blamed_ns = now_ns;
    suspect->wait_ns = suspect->wait_ns ? suspect->wait_ns * WAIT_GROWS : WAIT_FIRST_NS;
    if (suspect->wait_ns > WAIT_MAX_NS)
        suspect->wait_ns = WAIT_MAX_NS;
    return suspect;
}

void suspects_sweep(struct suspects *suspects, bool (*is_gone)(void *ctx, struct proc_id id),
                    void *ctx)
{
    size_t i, kept = 0;

    for (i = 0; i < suspects->count; i++)
        if (!is_gone(ctx, suspects->items[i].id))
            suspects->items[kept++] = suspects->items[i];
    suspects->count = kept;
}

void suspects_finish(struct suspects *suspects)
{
    free(suspects->items);
    *suspects = (struct suspects){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* bursts.c - see bursts.h. */
#include "agent/sampling/bursts.h"

#include <string.h>

static void drop_ended_bursts(struct bursts *bursts, uint64_t now_ns)
{
    size_t i, kept = 0;

    for (i = 0; i < bursts->count; i++)
        if (bursts->all[i].until_ns > now_ns)
            bursts->all[kept++] = bursts->all[i];
    bursts->count = kept;
}

/* True if both are of the same processes. */
static bool is_like(const struct burst *a, const struct burst *b)
{
    return proc_id_equal(a->id, b->id) && strcmp(a->service, b->service) == 0;
}

bool bursts_add(struct bursts *bursts, const struct burst *burst, uint64_t now_ns)
{
    size_t i;

    drop_ended_bursts(bursts, now_ns);
    for (i = 0; i < bursts->count; i++)
        if (is_like(&bursts->all[i], burst))
            break;
    if (i == BURSTS_MAX)
        return false;
    bursts->all[i] = *burst;
    bursts->count += i == bursts->count;
    return true;
}

bool burst_fits(const struct burst *burst, struct proc_id id, const char *service)
{
    return (burst->id.pid == 0 || burst->id.pid == id.pid) &&
           (burst->id.start == 0 || burst->id.start == id.start) &&
           (burst->service[0] == '\0' || strcmp(burst->service, service) == 0);
}

bool bursts_any(const struct bursts *bursts, uint64_t now_ns)
{
    for (size_t i = 0; i < bursts->count; i++)
        if (bursts->all[i].until_ns > now_ns)
            return true;
    return false;
}

const struct burst *bursts_like(const struct bursts *bursts, const struct burst *burst,
                                uint64_t now_ns)
{
    for (size_t i = 0; i < bursts->count; i++)
        if (bursts->all[i].until_ns > now_ns && is_like(&bursts->all[i], burst))
            return &bursts->all[i];
    return NULL;
}

const struct burst *bursts_of(const struct bursts *bursts, struct proc_id id, const char *service,
                              uint64_t now_ns)
{
    const struct burst *best = NULL;

    for (size_t i = 0; i < bursts->count; i++)
        if (bursts->all[i].until_ns > now_ns && burst_fits(&bursts->all[i], id, service) &&
            (!best || bursts->all[i].rate_hz > best->rate_hz))
            best = &bursts->all[i];
    return best;
}

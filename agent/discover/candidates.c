/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.c - see candidates.h. */
#include "agent/discover/candidates.h"

#include <stdlib.h>

static size_t bucket_of(pid_t pid)
{
    return (size_t)pid % CANDIDATE_BUCKETS;
}

struct candidate *candidates_find(const struct candidates *candidates, pid_t pid)
{
    struct candidate *candidate = candidates->buckets[bucket_of(pid)];

    while (candidate && candidate->id.pid != pid)
        candidate = candidate->next;
    return candidate;
}

struct candidate *candidates_add(struct candidates *candidates, struct proc_id id)
{
    struct candidate *candidate = calloc(1, sizeof(*candidate));

    if (!candidate)
        return NULL;
    candidate->id = id;
    candidate->next = candidates->buckets[bucket_of(id.pid)];
    candidates->buckets[bucket_of(id.pid)] = candidate;
    candidates->count++;
    return candidate;
}

void candidates_sweep(struct candidates *candidates,
                      bool (*is_gone)(void *ctx, const struct candidate *candidate),
                      void (*end)(void *ctx, struct candidate *candidate), void *ctx)
{
    struct candidate **link, *candidate;

    for (size_t i = 0; i < CANDIDATE_BUCKETS; i++)
        for (link = &candidates->buckets[i]; (candidate = *link);) {
            if (!is_gone(ctx, candidate)) {
                link = &candidate->next;
                continue;
            }
            *link = candidate->next;
            end(ctx, candidate);
            free(candidate);
            candidates->count--;
        }
}

void candidates_each(struct candidates *candidates,
                     void (*each)(void *ctx, struct candidate *candidate), void *ctx)
{
    struct candidate *c;

    for (size_t i = 0; i < CANDIDATE_BUCKETS; i++)
        for (c = candidates->buckets[i]; c; c = c->next)
            each(ctx, c);
}

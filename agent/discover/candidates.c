/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.c - see candidates.h. */
#include "agent/discover/candidates.h"

#include <stdlib.h>

struct candidate *candidates_find(const struct candidates *candidates, pid_t pid)
{
    return pointer_table_find(&candidates->by_pid, (uint64_t)pid);
}

struct candidate *candidates_add(struct candidates *candidates, struct proc_id id)
{
    struct candidate *candidate = calloc(1, sizeof(*candidate));

    if (candidate && pointer_table_put(&candidates->by_pid, (uint64_t)id.pid, candidate)) {
        candidate->id = id;
        return candidate;
    }
    free(candidate);
    return NULL;
}

void candidates_sweep(struct candidates *candidates,
                      bool (*is_gone)(void *ctx, const struct candidate *candidate),
                      void (*end)(void *ctx, struct candidate *candidate), void *ctx)
{
    struct pointer_table *table = &candidates->by_pid;

    for (size_t i = 0; i < table->slot_count;) {
        struct candidate *candidate = table->slots[i].value;

        if (!candidate || !is_gone(ctx, candidate)) {
            i++;
            continue;
        }
        pointer_table_remove(table, (uint64_t)candidate->id.pid); /* another may move to slot i */
        end(ctx, candidate);
        free(candidate);
    }
    if (table->count == 0)
        pointer_table_finish(table);
}

void candidates_each(struct candidates *candidates,
                     void (*each)(void *ctx, struct candidate *candidate), void *ctx)
{
    const struct pointer_table *table = &candidates->by_pid;

    for (size_t i = 0; i < table->slot_count; i++)
        if (table->slots[i].value)
            each(ctx, table->slots[i].value);
}

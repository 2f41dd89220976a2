/* SPDX-License-Identifier: Apache-2.0 */
/* top.c - adds up a profile by function. */
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"

/* Adds one row's value to its leaf and, once each, to all functions on its stack. */
static void add_row_to_tops(const struct pprof *profile, uint32_t row, size_t type,
                            struct pprof_top *tops, uint32_t *seen)
{
    int64_t value = values_at(profile, row)[type];
    size_t i, depth, label_count;
    const struct row_key *key = row_at(profile, row, &label_count);
    const uint32_t *stack = stack_at(profile, key->stack, &depth);
    uint32_t function;

    for (i = 0; i < depth; i++) {
        function = location_at(profile, stack[i])->function;
        if (i == 0)
            tops[function].flat = add_saturated(tops[function].flat, value);
        if (seen[function] == row + 1)
            continue;
        seen[function] = row + 1;
        tops[function].cum = add_saturated(tops[function].cum, value);
    }
}

static int compare_tops(const void *a, const void *b)
{
    const struct pprof_top *x = a, *y = b;
    int order;

    if (x->flat != y->flat)
        return x->flat > y->flat ? -1 : 1;
    if (x->cum != y->cum)
        return x->cum > y->cum ? -1 : 1;
    order = strcmp(x->name, y->name);
    if (order == 0)
        order = strcmp(x->file, y->file);
    return order ? order : (x->start_line > y->start_line) - (x->start_line < y->start_line);
}

static void name_tops(const struct pprof *profile, struct pprof_top *tops)
{
    const struct function_key *key;

    for (uint32_t i = 0; i < profile->functions.count; i++) {
        key = function_at(profile, i);
        tops[i].name = text_at(profile, key->name);
        tops[i].file = text_at(profile, key->file);
        tops[i].start_line = key->start_line;
    }
}

/* Drops functions that have nothing of this value. */
static size_t drop_empty(struct pprof_top *tops, size_t count)
{
    size_t i, kept = 0;

    for (i = 0; i < count; i++) {
        if (tops[i].flat || tops[i].cum)
            tops[kept++] = tops[i];
    }
    return kept;
}

enum pprof_rc pprof_top(const struct pprof *profile, size_t type, struct pprof_top **out,
                        size_t *count)
{
    size_t functions = profile->functions.count;
    struct pprof_top *tops;
    uint32_t *seen, row;

    if (type >= profile->type_count)
        return PPROF_BAD;
    tops = calloc(functions + 1, sizeof(*tops));
    seen = calloc(functions + 1, sizeof(*seen));
    if (!tops || !seen) {
        free(tops);
        free(seen);
        return PPROF_NOMEM;
    }
    for (row = 0; row < profile->rows.count; row++)
        add_row_to_tops(profile, row, type, tops, seen);
    free(seen);
    name_tops(profile, tops);
    *count = drop_empty(tops, functions);
    qsort(tops, *count, sizeof(*tops), compare_tops);
    *out = tops;
    return PPROF_OK;
}

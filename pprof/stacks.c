/* SPDX-License-Identifier: Apache-2.0 */
/* stacks.c - see stacks.h. */
#include "pprof/stacks.h"

#include <stdlib.h>

#include "pprof/order.h"

/* What is given out stands first, so that the one can be had from the other. */
struct layout {
    struct pprof_stacks stacks;
    struct order order; /* owned: its arena holds all arrays */
};

static bool lay_functions(struct layout *l)
{
    size_t i, count = l->order.function_count;
    struct pprof_stacks_function *functions =
        arena_alloc(&l->order.arena, (count + 1) * sizeof(*functions));
    const struct function_key *key;

    if (!functions)
        return false;
    functions[0] = (struct pprof_stacks_function){"", "", 0};
    for (i = 0; i < count; i++) {
        key = &l->order.functions[i].as.function;
        functions[i + 1] = (struct pprof_stacks_function){
            l->order.strings[key->name], l->order.strings[key->file], key->start_line};
    }
    l->stacks.functions = functions;
    l->stacks.function_count = count + 1;
    return true;
}

static bool lay_lines(struct layout *l)
{
    size_t i, count = l->order.location_count;
    struct pprof_stacks_line *lines = arena_alloc(&l->order.arena, (count + 1) * sizeof(*lines));
    const struct location_key *key;

    if (!lines)
        return false;
    lines[0] = (struct pprof_stacks_line){0};
    for (i = 0; i < count; i++) {
        key = &l->order.locations[i].as.location;
        lines[i + 1] = (struct pprof_stacks_line){key->function, key->line, key->column};
    }
    l->stacks.lines = lines;
    l->stacks.line_count = count + 1;
    return true;
}

static const struct pprof_label *lay_labels(struct layout *l, const struct order_row *from)
{
    struct pprof_label *labels =
        arena_alloc(&l->order.arena, from->label_count * sizeof(*labels) + 1);
    const struct label_key *key;

    for (size_t i = 0; labels && i < from->label_count; i++) {
        key = &from->labels[i];
        labels[i] = (struct pprof_label){
            .key = l->order.strings[key->key],
            .str = key->str == NO_TEXT ? NULL : l->order.strings[key->str],
            .num = key->str == NO_TEXT ? label_number(key) : 0,
            .num_unit = key->unit == NO_TEXT ? NULL : l->order.strings[key->unit]};
    }
    return labels;
}

static bool lay_rows(struct layout *l)
{
    struct pprof_stacks_row *rows =
        arena_alloc(&l->order.arena, (l->order.row_count + 1) * sizeof(*rows));
    const struct order_row *from;

    if (!rows)
        return false;
    for (size_t i = 0; i < l->order.row_count; i++) {
        from = &l->order.rows[i];
        rows[i] = (struct pprof_stacks_row){.lines = from->frames,
                                            .depth = from->depth,
                                            .values = from->values,
                                            .labels = lay_labels(l, from),
                                            .label_count = from->label_count,
                                            .number = from->number};
        if (!rows[i].labels)
            return false;
    }
    l->stacks.rows = rows;
    l->stacks.row_count = l->order.row_count;
    return true;
}

enum pprof_rc pprof_stacks_new(const struct pprof *profile, struct pprof_stacks **out)
{
    struct layout *l = calloc(1, sizeof(*l));

    if (!l)
        return PPROF_NOMEM;
    l->stacks.types = profile->types;
    l->stacks.type_count = profile->type_count;
    if (order_make(profile, UINT32_MAX, NULL, 0, &l->order) != PPROF_OK || !lay_functions(l) ||
        !lay_lines(l) || !lay_rows(l)) {
        pprof_stacks_free(&l->stacks);
        return PPROF_NOMEM;
    }
    *out = &l->stacks;
    return PPROF_OK;
}

void pprof_stacks_free(struct pprof_stacks *stacks)
{
    struct layout *l = (struct layout *)stacks;

    if (!l)
        return;
    order_finish(&l->order);
    free(l);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - see list.h. */
#include "agent/top/list.h"

#include <stdlib.h>
#include <string.h>

const struct top_sum *top_sum_of(const struct top_state *state, const struct top_item *item)
{
    return state->whole ? &item->whole : &item->recent;
}

const struct top_key *top_names_of(const struct top_model *model, enum top_kind kind,
                                   const struct top_item *item)
{
    return kind == TOP_LINES ? &model->tables[TOP_FUNCTIONS].items[item->key.function].key
                             : &item->key;
}

static bool matches_filter(const struct top_model *model, const struct top_state *state,
                           const struct top_item *item)
{
    const struct top_key *names = top_names_of(model, state->kind, item);

    return !state->filter[0] || strcasestr(names->name, state->filter) ||
           strcasestr(names->file, state->filter);
}

/* Functions and lines that have none of the value are left out; so are threads that ended. */
static bool is_shown(const struct top_model *model, const struct top_state *state,
                     const struct top_item *item)
{
    const struct top_sum *sum = top_sum_of(state, item);

    if (state->kind == TOP_LINES && state->function && item->key.function != state->function)
        return false;
    if (state->kind == TOP_THREADS) {
        if (sum->total[VALUE_WALL] == 0 && sum->total[VALUE_CPU] == 0)
            return false;
    } else if (sum->total[state->value] == 0 && item->whole.total[state->value] == 0) {
        return false;
    }
    return matches_filter(model, state, item);
}

struct order {
    const struct top_model *model;
    const struct top_state *state;
};

static int compare_values(const int64_t *a, const int64_t *b)
{
    return (*a < *b) - (*a > *b); /* the larger first */
}

/* By name, file, line and number: so that equal values keep their places. */
static int compare_item_names(const struct top_model *model, enum top_kind kind,
                              const struct top_item *a, const struct top_item *b)
{
    const struct top_key *x = top_names_of(model, kind, a), *y = top_names_of(model, kind, b);
    int order = strcmp(x->name, y->name);

    if (order == 0)
        order = strcmp(x->file, y->file);
    if (order == 0)
        order = (a->key.line > b->key.line) - (a->key.line < b->key.line);
    return order ? order : (a->key.tid > b->key.tid) - (a->key.tid < b->key.tid);
}

static int compare_list_items(const void *left, const void *right, void *ctx)
{
    const struct order *order = ctx;
    const struct top_state *state = order->state;
    const struct top_item *items = order->model->tables[state->kind].items;
    const struct top_item *a = &items[*(const uint32_t *)left],
                          *b = &items[*(const uint32_t *)right];
    const struct top_sum *x = top_sum_of(state, a), *y = top_sum_of(state, b);
    size_t value = state->value;
    bool by_total = state->sort == TOP_SORT_TOTAL;
    int result = 0;

    if (state->sort != TOP_SORT_NAME)
        result = compare_values(by_total ? &x->total[value] : &x->own[value],
                                by_total ? &y->total[value] : &y->own[value]);
    if (result == 0 && state->sort != TOP_SORT_NAME)
        result = compare_values(by_total ? &x->own[value] : &x->total[value],
                                by_total ? &y->own[value] : &y->total[value]);
    if (result == 0 && state->sort != TOP_SORT_NAME)
        result = compare_values(&a->whole.own[value], &b->whole.own[value]);
    return result ? result : compare_item_names(order->model, state->kind, a, b);
}

bool top_list_make(const struct top_model *model, const struct top_state *state,
                   struct top_list *out)
{
    const struct top_items *table = &model->tables[state->kind];
    struct order order = {model, state};
    struct top_list list = {.items = calloc(table->count + 1, sizeof(*list.items))};

    if (!list.items)
        return false;
    for (uint32_t i = 0; i < table->count; i++)
        if (is_shown(model, state, &table->items[i]))
            list.items[list.count++] = i;
    qsort_r(list.items, list.count, sizeof(*list.items), compare_list_items, &order);
    top_list_finish(out);
    *out = list;
    return true;
}

void top_list_finish(struct top_list *list)
{
    free(list->items);
    *list = (struct top_list){0};
}

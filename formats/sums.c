/* SPDX-License-Identifier: Apache-2.0 */
/* sums.c - see sums.h. */
#include "formats/sums.h"

#include <stdlib.h>
#include <string.h>

void sums_add(int64_t *sum, int64_t value)
{
    if (value > 0 && *sum > INT64_MAX - value)
        *sum = INT64_MAX;
    else if (value < 0 && *sum < INT64_MIN - value)
        *sum = INT64_MIN;
    else
        *sum += value;
}

/* Which value counts samples: `samples`, or else the first one that is a count; the count of
 * types if none is. */
static size_t find_count_type(const struct pprof_stacks *stacks)
{
    for (size_t i = 0; i < stacks->type_count; i++)
        if (strcmp(stacks->types[i].type, "samples") == 0)
            return i;
    for (size_t i = 0; i < stacks->type_count; i++)
        if (strcmp(stacks->types[i].unit, "count") == 0)
            return i;
    return stacks->type_count;
}

/* One frame of one row that called another. */
struct call {
    uint32_t caller, callee;
    uint32_t row;
    bool leaf; /* the callee is where the stack ends */
};

struct adder {
    const struct pprof_stacks *stacks;
    struct sums *sums;
    size_t type, count_type;
    struct sums_places places;
    uint32_t *seen_function, *seen_place; /* owned: the last row it was seen in, from 1 */
    struct call *calls;                   /* owned */
    size_t call_count;
};

/* What a row adds to anything that is on its stack. */
static struct sum share(const struct adder *a, size_t row, bool leaf)
{
    const int64_t *values = a->stacks->rows[row].values;
    int64_t value = values[a->type];

    return (struct sum){leaf ? value : 0, value,
                        a->count_type < a->stacks->type_count ? values[a->count_type] : 1};
}

/* Adds to a function or place; its total once a row. */
static void add_share_once(struct sum *to, const struct sum *share, bool again)
{
    sums_add(&to->own, share->own);
    if (again)
        return;
    sums_add(&to->total, share->total);
    sums_add(&to->seen, share->seen);
}

static uint32_t place_of(const struct adder *a, uint32_t line)
{
    return a->places.of_line ? a->places.of_line[line] : a->stacks->lines[line].function;
}

static void add_row_sums(struct adder *a, size_t number)
{
    const struct pprof_stacks_row *row = &a->stacks->rows[number];
    uint32_t mark = (uint32_t)number + 1, place, function;
    struct sum part;

    for (size_t i = 0; i < row->depth; i++) {
        place = place_of(a, row->lines[i]);
        function = a->stacks->lines[row->lines[i]].function;
        part = share(a, number, i == 0);
        add_share_once(&a->sums->functions[function], &part, a->seen_function[function] == mark);
        add_share_once(&a->sums->places[place], &part, a->seen_place[place] == mark);
        a->seen_function[function] = a->seen_place[place] = mark;
        if (i + 1 < row->depth && !a->places.without_calls)
            a->calls[a->call_count++] =
                (struct call){place_of(a, row->lines[i + 1]), function, mark, i == 0};
    }
}

static int compare_calls(const void *x, const void *y)
{
    const struct call *a = x, *b = y;

    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->leaf < b->leaf) -
           (a->leaf > b->leaf); /* the leaf first: it is the one that counts */
}

/* Adds the calls up, each once a row. False: out of memory. */
static bool add_call_sums(struct adder *a)
{
    struct sums_call *out = calloc(a->call_count + 1, sizeof(*out));
    const struct call *call, *before = NULL;
    struct sum part;

    a->sums->calls = out;
    if (!out)
        return false;
    if (a->call_count)
        qsort(a->calls, a->call_count, sizeof(*a->calls), compare_calls);
    for (size_t i = 0; i < a->call_count; i++, before = call) {
        call = &a->calls[i];
        if (!before || before->callee != call->callee || before->caller != call->caller)
            out[a->sums->call_count++] = (struct sums_call){call->caller, call->callee, {0}};
        else if (before->row == call->row)
            continue;
        part = share(a, call->row - 1, call->leaf);
        add_share_once(&out[a->sums->call_count - 1].sum, &part, false);
    }
    return true;
}

static size_t count_calls(const struct adder *a)
{
    const struct pprof_stacks *stacks = a->stacks;
    size_t i, count = 0;

    for (i = 0; i < stacks->row_count && !a->places.without_calls; i++)
        count += stacks->rows[i].depth ? stacks->rows[i].depth - 1 : 0;
    return count;
}

/* Fills `a->sums`. False: out of memory. */
static bool add_all_row_sums(struct adder *a)
{
    a->sums->functions = calloc(a->stacks->function_count, sizeof(*a->sums->functions));
    a->sums->places = calloc(a->places.count + 1, sizeof(*a->sums->places));
    a->seen_function = calloc(a->stacks->function_count, sizeof(*a->seen_function));
    a->seen_place = calloc(a->places.count + 1, sizeof(*a->seen_place));
    a->calls = calloc(count_calls(a) + 1, sizeof(*a->calls));
    if (!a->sums->functions || !a->sums->places || !a->seen_function || !a->seen_place || !a->calls)
        return false;
    for (size_t i = 0; i < a->stacks->row_count; i++)
        if (a->stacks->rows[i].values[a->type] != 0)
            add_row_sums(a, i);
    return add_call_sums(a);
}

enum pprof_rc sums_new(const struct pprof_stacks *stacks, size_t type,
                       const struct sums_places *places, struct sums **out)
{
    struct adder a = {.stacks = stacks, .type = type, .count_type = find_count_type(stacks)};
    bool good;

    a.sums = calloc(1, sizeof(*a.sums));
    if (!a.sums)
        return PPROF_NOMEM;
    a.places = places ? *places : (struct sums_places){NULL, stacks->function_count, false};
    good = add_all_row_sums(&a);
    free(a.seen_function);
    free(a.seen_place);
    free(a.calls);
    if (good)
        *out = a.sums;
    else
        sums_free(a.sums);
    return good ? PPROF_OK : PPROF_NOMEM;
}

void sums_free(struct sums *sums)
{
    if (!sums)
        return;
    free(sums->functions);
    free(sums->places);
    free(sums->calls);
    free(sums);
}

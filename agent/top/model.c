/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - see model.h. */
#include "agent/top/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* What one thing has of a slice. */
struct part {
    enum top_kind kind;
    uint32_t item;
    struct top_sum sum;
};

struct top_slice {
    struct top_whole whole;
    struct part *parts; /* owned */
    size_t count, capacity;
};

static const char *const overflow_names[TOP_KINDS] = {
    [TOP_FUNCTIONS] = "<more functions than are kept>",
    [TOP_LINES] = "",
    [TOP_THREADS] = "<more threads than are kept>",
};

struct top_model *top_model_new(uint64_t window_ns)
{
    struct top_model *model = calloc(1, sizeof(*model));

    if (!model)
        return NULL;
    model->window_ns = window_ns;
    model->slices = calloc(TOP_SLICES_MAX, sizeof(*model->slices));
    for (size_t kind = 0; kind < TOP_KINDS; kind++)
        if (!model->slices || !top_items_init(&model->tables[kind], overflow_names[kind])) {
            top_model_free(model);
            return NULL;
        }
    return model;
}

void top_model_free(struct top_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < TOP_KINDS; i++)
        top_items_finish(&model->tables[i]);
    for (size_t i = 0; model->slices && i < TOP_SLICES_MAX; i++)
        free(model->slices[i].parts);
    free(model->slices);
    free(model);
}

static struct top_slice *slice_at(const struct top_model *model, size_t index)
{
    return &model->slices[(model->first + index) % TOP_SLICES_MAX];
}

static void add_top_sum(struct top_sum *to, const struct top_sum *more)
{
    for (size_t i = 0; i < TOP_VALUES; i++) {
        to->own[i] += more->own[i];
        to->total[i] += more->total[i];
    }
}

static void subtract_sum(struct top_sum *from, const struct top_sum *less)
{
    for (size_t i = 0; i < TOP_VALUES; i++) {
        from->own[i] -= less->own[i];
        from->total[i] -= less->total[i];
    }
}

static void add_counts(struct top_counts *to, const struct top_counts *more)
{
    to->duration_ns += more->duration_ns;
    to->samples += more->samples;
    to->missed += more->missed;
    to->stacks += more->stacks;
    to->torn += more->torn;
    to->own_cpu_ns += more->own_cpu_ns;
}

static void subtract_counts(struct top_counts *from, const struct top_counts *less)
{
    from->duration_ns -= less->duration_ns;
    from->samples -= less->samples;
    from->missed -= less->missed;
    from->stacks -= less->stacks;
    from->torn -= less->torn;
    from->own_cpu_ns -= less->own_cpu_ns;
}

/* Takes the oldest slice off the recent sums. */
static void drop_oldest(struct top_model *model)
{
    struct top_slice *slice = slice_at(model, 0);

    for (size_t i = 0; i < slice->count; i++)
        subtract_sum(&model->tables[slice->parts[i].kind].items[slice->parts[i].item].recent,
                     &slice->parts[i].sum);
    for (size_t i = 0; i < TOP_VALUES; i++)
        model->recent.values[i] -= slice->whole.values[i];
    subtract_counts(&model->recent.counts, &slice->whole.counts);
    slice->count = 0;
    model->first = (model->first + 1) % TOP_SLICES_MAX;
    model->slice_count--;
}

void top_model_begin(struct top_model *model, const struct top_counts *counts)
{
    /* What is left without the oldest must still fill the window, together with the new one. */
    while (model->slice_count > 0 && (model->slice_count == TOP_SLICES_MAX ||
                                      model->recent.counts.duration_ns + counts->duration_ns -
                                              slice_at(model, 0)->whole.counts.duration_ns >=
                                          model->window_ns))
        drop_oldest(model);
    model->slice_count++;
    model->number++;
    slice_at(model, model->slice_count - 1)->whole = (struct top_whole){.counts = *counts};
    add_counts(&model->recent.counts, counts);
    add_counts(&model->whole.counts, counts);
}

/* The share that an item has of the running slice; NULL: out of memory. */
static struct top_sum *share_of(struct top_model *model, enum top_kind kind, uint32_t index)
{
    struct top_slice *slice = slice_at(model, model->slice_count - 1);
    struct top_item *item = &model->tables[kind].items[index];

    if (item->slice == model->number)
        return &slice->parts[item->part].sum;
    if (!ARRAY_RESERVE(slice->parts, slice->capacity, slice->count + 1))
        return NULL;
    item->slice = model->number;
    item->part = (uint32_t)slice->count;
    item->doing_ns = -1;
    slice->parts[slice->count++] = (struct part){.kind = kind, .item = index};
    return &slice->parts[item->part].sum;
}

/* Adds a row to one thing on its stack: to its total once, however often it is there. */
static bool add_item_share(struct top_model *model, enum top_kind kind, uint32_t index,
                           const int64_t *values, bool own)
{
    struct top_item *item = &model->tables[kind].items[index];
    struct top_sum *share = share_of(model, kind, index), more = {0};

    if (!share)
        return false;
    if (own)
        memcpy(more.own, values, sizeof(more.own));
    if (item->row != model->row)
        memcpy(more.total, values, sizeof(more.total));
    item->row = model->row;
    add_top_sum(share, &more);
    add_top_sum(&item->recent, &more);
    add_top_sum(&item->whole, &more);
    return true;
}

/* What the numbers of a profile are here, as far as they have been met. */
struct known {
    uint32_t *functions, *lines; /* owned: item + 1; 0: not met */
};

/* The items of a profile's line and its function. */
static uint32_t line_item(struct top_model *model, const struct pprof_stacks *stacks,
                          struct known *known, uint32_t number, uint32_t *out_function)
{
    const struct pprof_stacks_line *line = &stacks->lines[number];
    const struct pprof_stacks_function *function = &stacks->functions[line->function];
    const struct top_key key = {
        .name = function->name, .file = function->file, .line = function->start_line};
    struct top_key at = {.name = "", .file = "", .line = line->line};

    if (!known->functions[line->function])
        known->functions[line->function] = top_items_get(&model->tables[TOP_FUNCTIONS], &key) + 1;
    *out_function = at.function = known->functions[line->function] - 1;
    if (!known->lines[number])
        known->lines[number] = top_items_get(&model->tables[TOP_LINES], &at) + 1;
    return known->lines[number] - 1;
}

/* The thread that a row's labels name. False: they name none. */
static bool read_thread(const struct pprof_stacks_row *row, struct top_key *out)
{
    const struct pprof_label *label;

    *out = (struct top_key){.name = "", .file = ""};
    for (size_t i = 0; i < row->label_count; i++) {
        label = &row->labels[i];
        if (label->str && strcmp(label->key, "thread name") == 0)
            out->name = label->str;
        else if (!label->str && strcmp(label->key, "thread id") == 0)
            out->tid = (pid_t)label->num;
        else if (!label->str && strcmp(label->key, "pid") == 0)
            out->pid = (pid_t)label->num;
    }
    return out->pid != 0;
}

/* Adds a row to its thread, and notes what that did. */
static bool add_thread_row(struct top_model *model, const struct pprof_stacks_row *row,
                           uint32_t innermost)
{
    struct top_key key;
    struct top_item *thread;
    uint32_t index;

    if (!read_thread(row, &key))
        return true;
    index = top_items_get(&model->tables[TOP_THREADS], &key);
    if (!add_item_share(model, TOP_THREADS, index, row->values, true))
        return false;
    thread = &model->tables[TOP_THREADS].items[index];
    if (row->values[VALUE_WALL] > thread->doing_ns) {
        thread->doing_ns = row->values[VALUE_WALL];
        thread->doing = innermost;
    }
    return true;
}

static bool add_model_row(struct top_model *model, const struct pprof_stacks *stacks,
                          struct known *known, const struct pprof_stacks_row *row)
{
    uint32_t line, function, innermost = 0;

    model->row++;
    for (size_t i = 0; i < row->depth; i++) {
        line = line_item(model, stacks, known, row->lines[i], &function);
        innermost = i == 0 ? function : innermost;
        if (!add_item_share(model, TOP_FUNCTIONS, function, row->values, i == 0) ||
            !add_item_share(model, TOP_LINES, line, row->values, i == 0))
            return false;
    }
    return add_thread_row(model, row, innermost);
}

static void add_whole(struct top_model *model, const struct pprof_stacks_row *row)
{
    struct top_slice *slice = slice_at(model, model->slice_count - 1);

    for (size_t i = 0; i < TOP_VALUES; i++) {
        slice->whole.values[i] += row->values[i];
        model->recent.values[i] += row->values[i];
        model->whole.values[i] += row->values[i];
    }
}

bool top_model_add(struct top_model *model, const struct pprof_stacks *stacks)
{
    struct known known = {calloc(stacks->function_count + 1, sizeof(uint32_t)),
                          calloc(stacks->line_count + 1, sizeof(uint32_t))};
    bool good = known.functions && known.lines;

    for (size_t i = 0; good && i < stacks->row_count; i++) {
        good = add_model_row(model, stacks, &known, &stacks->rows[i]);
        add_whole(model, &stacks->rows[i]);
    }
    free(known.functions);
    free(known.lines);
    return good;
}

bool top_model_is_live(const struct top_model *model, const struct top_item *thread)
{
    return thread->slice == model->number && thread->key.tid != 0;
}

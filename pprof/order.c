/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - see order.h. */
#include "pprof/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { UNUSED = 0 }; /* in the maps below; what is used has at least 1 */
enum { ROWS_AHEAD = 4, LINE_FRAMES = 16 };

struct text_ref {
    char *text;
    uint32_t *id;
};

/* From numbers in the profile to what is written. */
struct maps {
    const struct pprof *profile;
    struct order *order;
    uint32_t types;
    const uint32_t *wanted; /* rows; NULL: all */
    size_t wanted_count;
    uint32_t *texts;
    uint32_t *functions;
    uint32_t *locations;
    uint32_t **stacks; /* frames in new ids; NULL: not used */
    uint32_t *rows;    /* the numbers of the rows that are written */
    struct text_ref *refs;
    size_t ref_count;
};

/* An array out of the arena, all 0. NULL when out of memory. */
static void *zeroed(struct order *order, size_t count, size_t size)
{
    void *array = arena_alloc(&order->arena, count * size);

    if (array)
        memset(array, 0, count * size);
    return array;
}

static bool make_maps(struct maps *maps, size_t other_count)
{
    const struct pprof *p = maps->profile;
    struct order *order = maps->order;
    size_t texts = p->texts.count + other_count + 1;

    maps->texts = zeroed(order, p->texts.count, sizeof(uint32_t));
    maps->functions = zeroed(order, p->functions.count, sizeof(uint32_t));
    maps->locations = zeroed(order, p->locations.count, sizeof(uint32_t));
    maps->stacks = zeroed(order, p->stacks.count, sizeof(uint32_t *));
    maps->rows = zeroed(order, p->rows.count, sizeof(uint32_t));
    maps->refs = zeroed(order, texts, sizeof(*maps->refs));
    order->strings = zeroed(order, texts, sizeof(char *));
    return maps->texts && maps->functions && maps->locations && maps->stacks && maps->rows &&
           maps->refs && order->strings;
}

/* Marks a text as used. The table's keys are nobody's to change: the cast is protobuf-c's wish. */
static void use_text(struct maps *maps, uint32_t text)
{
    const struct table_entry *entry;

    if (text == NO_TEXT || maps->texts[text] != UNUSED)
        return;
    entry = &maps->profile->texts.entries[text];
    maps->texts[text] = 1;
    maps->refs[maps->ref_count++] =
        (struct text_ref){(char *)(uintptr_t)entry->key, &maps->texts[text]};
}

static void use_location(struct maps *maps, uint32_t location)
{
    const struct location_key *at = location_at(maps->profile, location);
    const struct function_key *function;

    if (maps->locations[location] != UNUSED)
        return;
    maps->locations[location] = 1;
    maps->order->location_count++;
    if (maps->functions[at->function] != UNUSED)
        return;
    maps->functions[at->function] = 1;
    maps->order->function_count++;
    function = function_at(maps->profile, at->function);
    use_text(maps, function->name);
    use_text(maps, function->file);
}

static bool use_stack(struct maps *maps, uint32_t stack)
{
    const uint32_t *locations;
    size_t i, depth;

    if (maps->stacks[stack])
        return true;
    locations = stack_at(maps->profile, stack, &depth);
    maps->stacks[stack] = arena_alloc(&maps->order->arena, depth * sizeof(uint32_t));
    if (!maps->stacks[stack])
        return false;
    for (i = 0; i < depth; i++)
        use_location(maps, locations[i]);
    if (depth > maps->order->depth_max)
        maps->order->depth_max = depth;
    return true;
}

static bool is_chosen(const struct maps *maps, uint32_t row)
{
    const int64_t *values = values_at(maps->profile, row);

    for (size_t i = 0; i < maps->profile->type_count; i++) {
        if (values[i] != 0 && maps->types >> i & 1)
            return true;
    }
    return false;
}

static bool use_rows(struct maps *maps)
{
    const struct row_key *key;
    size_t i, at, label_count;
    uint32_t row;

    for (at = 0; at < maps->wanted_count; at++) {
        row = maps->wanted ? maps->wanted[at] : (uint32_t)at;
        if (!is_chosen(maps, row))
            continue;
        key = row_at(maps->profile, row, &label_count);
        if (!use_stack(maps, key->stack))
            return false;
        for (i = 0; i < label_count; i++) {
            use_text(maps, key->labels[i].key);
            use_text(maps, key->labels[i].str);
            use_text(maps, key->labels[i].unit);
        }
        maps->rows[maps->order->row_count++] = row;
    }
    return true;
}

/* A text from outside, made valid; NULL when out of memory. */
static char *good_text(struct order *order, const char *text)
{
    size_t size = strlen(text);
    struct buf buf;
    char *copy;

    buf_init(&buf, 3 * size);
    utf8_repair(text, size, &buf);
    copy = buf_failed(&buf) ? NULL : arena_strndup(&order->arena, buf_text(&buf), buf.size);
    buf_finish(&buf);
    return copy;
}

static bool use_others(struct maps *maps, struct order_text *others, size_t count)
{
    char *text;

    for (size_t i = 0; i < count; i++) {
        others[i].id = 0;
        if (!others[i].text)
            continue;
        text = good_text(maps->order, others[i].text);
        if (!text)
            return false;
        maps->refs[maps->ref_count++] = (struct text_ref){text, &others[i].id};
    }
    return true;
}

static int compare_texts(const void *a, const void *b)
{
    const struct text_ref *x = a, *y = b;

    return strcmp(x->text, y->text);
}

/* Numbers the used texts; equal ones, which others may be, get one number. */
static bool number_texts(struct maps *maps)
{
    struct order *order = maps->order;

    qsort(maps->refs, maps->ref_count, sizeof(maps->refs[0]), compare_texts);
    order->strings[0] = arena_strndup(&order->arena, "", 0);
    if (!order->strings[0])
        return false;
    order->string_count = 1;
    for (size_t i = 0; i < maps->ref_count; i++) {
        if (strcmp(maps->refs[i].text, order->strings[order->string_count - 1]) != 0)
            order->strings[order->string_count++] = maps->refs[i].text;
        *maps->refs[i].id = (uint32_t)order->string_count - 1;
    }
    return true;
}

static int compare_items(const void *a, const void *b)
{
    const struct order_item *x = a, *y = b;
    size_t i;

    for (i = 0; i < 2 && x->as.parts[i] == y->as.parts[i]; i++)
        continue;
    return x->as.parts[i] < y->as.parts[i] ? -1 : x->as.parts[i] > y->as.parts[i];
}

/* Sorts items and notes their ids. */
static void number_items(struct order_item *items, size_t count, uint32_t *ids)
{
    if (count)
        qsort(items, count, sizeof(*items), compare_items);
    for (size_t i = 0; i < count; i++)
        ids[items[i].number] = (uint32_t)i + 1;
}

static bool order_functions(struct maps *maps)
{
    struct order *order = maps->order;
    struct order_item *item = zeroed(order, order->function_count, sizeof(*item));

    order->functions = item;
    if (!item)
        return false;
    for (uint32_t number = 0; number < maps->profile->functions.count; number++) {
        if (maps->functions[number] == UNUSED)
            continue;
        item->number = number;
        item->as.function = *function_at(maps->profile, number);
        item->as.function.name = maps->texts[item->as.function.name];
        item->as.function.file = maps->texts[item->as.function.file];
        item++;
    }
    number_items(order->functions, order->function_count, maps->functions);
    return true;
}

static bool order_locations(struct maps *maps)
{
    struct order *order = maps->order;
    struct order_item *item = zeroed(order, order->location_count, sizeof(*item));

    order->locations = item;
    if (!item)
        return false;
    for (uint32_t number = 0; number < maps->profile->locations.count; number++) {
        if (maps->locations[number] == UNUSED)
            continue;
        item->number = number;
        item->as.location = *location_at(maps->profile, number);
        item->as.location.function = maps->functions[item->as.location.function];
        item++;
    }
    number_items(order->locations, order->location_count, maps->locations);
    return true;
}

static void translate_stacks(struct maps *maps)
{
    const uint32_t *locations;
    size_t i, depth;

    for (uint32_t stack = 0; stack < maps->profile->stacks.count; stack++) {
        if (!maps->stacks[stack])
            continue;
        locations = stack_at(maps->profile, stack, &depth);
        for (i = 0; i < depth; i++)
            maps->stacks[stack][i] = maps->locations[locations[i]];
    }
}

static bool translate_labels(struct maps *maps, const struct row_key *key, struct order_row *row)
{
    struct label_key *labels = zeroed(maps->order, row->label_count, sizeof(*labels));

    if (!labels)
        return false;
    for (size_t i = 0; i < row->label_count; i++) {
        labels[i] = key->labels[i];
        labels[i].key = maps->texts[labels[i].key];
        if (labels[i].str != NO_TEXT)
            labels[i].str = maps->texts[labels[i].str];
        if (labels[i].unit != NO_TEXT)
            labels[i].unit = maps->texts[labels[i].unit];
    }
    sort_labels(labels, row->label_count);
    row->labels = labels;
    return true;
}

/* From the root on: neighbours then share their callers, which gzip makes an eighth smaller. */
static int compare_stacks(const struct order_row *x, const struct order_row *y)
{
    const uint32_t *a = x->frames + x->depth, *b = y->frames + y->depth;

    if (x->frames == y->frames && x->depth == y->depth) /* an empty stack may lie at another's */
        return 0;
    while (a - x->frames > 1 && b - y->frames > 1 && memcmp(a - 2, b - 2, 2 * sizeof(*a)) == 0) {
        a -= 2;
        b -= 2;
    }
    while (a > x->frames && b > y->frames) {
        a--;
        b--;
        if (*a != *b)
            return *a < *b ? -1 : 1;
    }
    return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static int compare_order_rows(const void *a, const void *b)
{
    const struct order_row *x = a, *y = b;
    int order = compare_stacks(x, y);

    for (size_t i = 0; order == 0 && i < x->label_count && i < y->label_count; i++)
        order = compare_labels(&x->labels[i], &y->labels[i]);
    if (order)
        return order;
    return x->label_count < y->label_count ? -1 : x->label_count > y->label_count;
}

static bool order_rows(struct maps *maps)
{
    struct order *order = maps->order;
    struct order_row *row = zeroed(order, order->row_count, sizeof(*row));
    const struct row_key *key;

    order->rows = row;
    if (!row)
        return false;
    for (size_t i = 0; i < order->row_count; i++, row++) {
        key = row_at(maps->profile, maps->rows[i], &row->label_count);
        (void)stack_at(maps->profile, key->stack, &row->depth);
        row->frames = maps->stacks[key->stack];
        row->values = values_at(maps->profile, maps->rows[i]);
        row->number = maps->rows[i];
        if (row->label_count && !translate_labels(maps, key, row))
            return false;
    }
    if (order->row_count)
        qsort(order->rows, order->row_count, sizeof(*order->rows), compare_order_rows);
    return true;
}

enum pprof_rc order_make(const struct pprof *profile, uint32_t types, struct order_text *others,
                         size_t other_count, struct order *out)
{
    return order_make_some(profile, types, NULL, profile->rows.count, others, other_count, out);
}

enum pprof_rc order_make_some(const struct pprof *profile, uint32_t types, const uint32_t *rows,
                              size_t count, struct order_text *others, size_t other_count,
                              struct order *out)
{
    struct maps maps = {
        .profile = profile, .order = out, .types = types, .wanted = rows, .wanted_count = count};

    *out = (struct order){0};
    arena_init(&out->arena, SIZE_MAX / 2); /* bounded by what the profile may hold */
    if (!make_maps(&maps, other_count) || !use_rows(&maps) ||
        !use_others(&maps, others, other_count))
        return PPROF_NOMEM;
    if (!number_texts(&maps) || !order_functions(&maps) || !order_locations(&maps))
        return PPROF_NOMEM;
    translate_stacks(&maps);
    return order_rows(&maps) ? PPROF_OK : PPROF_NOMEM;
}

void order_fetch(const struct order *order, size_t at)
{
    const struct order_row *row;

    if (order->row_count - at <= ROWS_AHEAD)
        return;
    row = &order->rows[at + ROWS_AHEAD];
    __builtin_prefetch(row->values);
    __builtin_prefetch(row->frames);
    __builtin_prefetch(row->frames + LINE_FRAMES);
}

void order_finish(struct order *order)
{
    arena_finish(&order->arena);
}

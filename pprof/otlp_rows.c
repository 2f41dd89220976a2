/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_rows.c - brings the rows of a pprof into an OTLP request.
 *
 * The rows are put in order once; a request that is full leaves the rest of them to
 * the next. Numbers in the order's tables become numbers in the request's dictionary,
 * each looked up once a request.
 */
#include <stdlib.h>
#include <string.h>

#include "pprof/order.h"
#include "pprof/otlp_request.h"

/* About what a thing adds to a pprof, beside its texts: what a server unpacks us to. */
enum { PPROF_TEXT_BYTES = 4, PPROF_PLACE_BYTES = 24, PPROF_ROW_BYTES = 24, PPROF_FRAME_BYTES = 3 };

struct otlp_rows {
    struct order order; /* owned */
    struct otlp_service service;
    size_t next;                        /* the first row that was not added */
    size_t type_used;                   /* types that have a value */
    int64_t left_over[PPROF_TYPES_MAX]; /* what the division by the scale left of the rows so far */
    uint32_t *texts, *functions, *locations; /* in the order's arena: numbers; 0: not there yet */
    uint64_t *frames;                        /* there too: of the row that is being added */
    uint32_t frame_type;                     /* the attribute's number; 0: not there yet */
    const struct otlp_attribute *name;       /* of the service, borrowed; NULL: it has none */
    uint32_t name_key, name_attribute;       /* their numbers; 0: not there yet */
};

/* How labels of ours are called there. Others keep their names. */
static const struct name {
    const char *label, *attribute;
} names[] = {
    {"pid", "process.pid"},
    {"thread id", "thread.id"},
    {"thread name", "thread.name"},
};

static enum pprof_rc take_maps(struct otlp_rows *rows)
{
    struct order *order = &rows->order;
    uint32_t **maps[] = {&rows->texts, &rows->functions, &rows->locations};
    size_t counts[] = {order->string_count, order->function_count, order->location_count};
    void *map = NULL;
    enum pprof_rc rc = table_alloc(&order->arena, order->depth_max * sizeof(*rows->frames), &map);

    rows->frames = map;
    for (size_t i = 0; i < 3 && rc == PPROF_OK; i++) {
        rc = table_alloc(&order->arena, counts[i] * sizeof(uint32_t), &map);
        *maps[i] = map;
    }
    return rc;
}

static const struct otlp_attribute *service_name(const struct otlp_service *service)
{
    for (size_t i = 0; i < service->attribute_count; i++) {
        if (strcmp(service->attributes[i].key, "service.name") == 0)
            return &service->attributes[i];
    }
    return NULL;
}

static enum pprof_rc order_otlp_rows(struct otlp_rows *rows)
{
    const struct otlp_service *service = &rows->service;
    uint32_t types = 0;
    enum pprof_rc rc;

    for (size_t i = 0; i < service->type_count; i++) {
        types |= 1U << service->types[i].value;
        rows->left_over[i] = service->types[i].scale / 2;
        rows->type_used += pprof_total(service->profile, service->types[i].value) > 0;
    }
    rc = order_make(service->profile, types, NULL, 0, &rows->order);
    return rc == PPROF_OK ? take_maps(rows) : rc;
}

enum pprof_rc otlp_rows_new(const struct otlp_service *service, struct otlp_rows **out)
{
    struct otlp_rows *rows = calloc(1, sizeof(*rows));
    enum pprof_rc rc;

    if (!rows)
        return PPROF_NOMEM;
    rows->service = *service;
    if (rows->service.type_count > PPROF_TYPES_MAX)
        rows->service.type_count = PPROF_TYPES_MAX;
    if (rows->service.attribute_count > OTLP_ATTRIBUTES_MAX)
        rows->service.attribute_count = OTLP_ATTRIBUTES_MAX;
    rows->name = service_name(&rows->service);
    rc = order_otlp_rows(rows);
    if (rc == PPROF_OK)
        *out = rows;
    else
        otlp_rows_free(rows);
    return rc;
}

size_t otlp_rows_left(const struct otlp_rows *rows)
{
    return rows->order.row_count - rows->next;
}

void otlp_rows_free(struct otlp_rows *rows)
{
    if (!rows)
        return;
    order_finish(&rows->order);
    free(rows);
}

/* A new request has a new dictionary. */
static void forget_numbers(struct otlp_rows *rows)
{
    memset(rows->texts, 0, rows->order.string_count * sizeof(uint32_t));
    memset(rows->functions, 0, rows->order.function_count * sizeof(uint32_t));
    memset(rows->locations, 0, rows->order.location_count * sizeof(uint32_t));
    rows->frame_type = rows->name_key = rows->name_attribute = 0;
}

static void count_bytes(struct otlp *o, const struct otlp_rows *rows, size_t bytes)
{
    o->pprof_bytes += bytes * rows->type_used;
}

static enum pprof_rc add_otlp_text(struct otlp *o, struct otlp_rows *rows, uint32_t text,
                                   uint32_t *out)
{
    const char *string = rows->order.strings[text];
    enum pprof_rc rc = PPROF_OK;

    if (!rows->texts[text] && string[0]) {
        rc = otlp_text(&o->dictionary, string, &rows->texts[text]);
        count_bytes(o, rows, strlen(string) + PPROF_TEXT_BYTES);
    }
    *out = rows->texts[text];
    return rc;
}

/* A function must have a name or a file. `id` counts from 1. */
static enum pprof_rc add_otlp_function(struct otlp *o, struct otlp_rows *rows, uint32_t id,
                                       uint32_t *out)
{
    const struct function_key *key = &rows->order.functions[id - 1].as.function;
    uint32_t *number = &rows->functions[id - 1], name = 0, file = 0;
    enum pprof_rc rc = PPROF_OK;

    if (!*number) {
        rc = add_otlp_text(o, rows, key->name, &name);
        if (rc == PPROF_OK)
            rc = add_otlp_text(o, rows, key->file, &file);
        if (rc == PPROF_OK && !name && !file)
            rc = otlp_text(&o->dictionary, "<no name>", &name);
        if (rc == PPROF_OK)
            rc = otlp_function(&o->dictionary, name, file, key->start_line, number);
        count_bytes(o, rows, PPROF_PLACE_BYTES);
    }
    *out = *number;
    return rc;
}

/* That a frame is one of Python. */
static enum pprof_rc add_frame_type(struct otlp *o, struct otlp_rows *rows)
{
    uint32_t key;
    enum pprof_rc rc = PPROF_OK;

    if (rows->frame_type)
        return rc;
    rc = otlp_text(&o->dictionary, "profile.frame.type", &key);
    if (rc == PPROF_OK)
        rc = otlp_attribute(&o->dictionary, key, "cpython", 0, 0, &rows->frame_type);
    return rc;
}

static enum pprof_rc add_otlp_location(struct otlp *o, struct otlp_rows *rows, uint32_t id,
                                       uint32_t *out)
{
    const struct location_key *key = &rows->order.locations[id - 1].as.location;
    uint32_t *number = &rows->locations[id - 1], function;
    enum pprof_rc rc = PPROF_OK;

    if (!*number) {
        rc = add_otlp_function(o, rows, key->function, &function);
        if (rc == PPROF_OK)
            rc = add_frame_type(o, rows);
        if (rc == PPROF_OK)
            rc = otlp_location(&o->dictionary, function, key->line, key->column, rows->frame_type,
                               number);
        count_bytes(o, rows, PPROF_PLACE_BYTES);
    }
    *out = *number;
    return rc;
}

static enum pprof_rc add_otlp_stack(struct otlp *o, struct otlp_rows *rows,
                                    const struct order_row *row, uint32_t *out)
{
    enum pprof_rc rc = PPROF_OK;
    uint32_t number = 0;

    for (size_t i = 0; i < row->depth && rc == PPROF_OK; i++) {
        rc = add_otlp_location(o, rows, row->frames[i], &number);
        rows->frames[i] = number;
    }
    count_bytes(o, rows, PPROF_ROW_BYTES + row->depth * PPROF_FRAME_BYTES);
    return rc == PPROF_OK ? otlp_stack(&o->dictionary, rows->frames, row->depth, out) : rc;
}

static const char *attribute_name(const char *label)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i].label, label) == 0)
            return names[i].attribute;
    }
    return label;
}

static bool is_among(const uint32_t *numbers, size_t count, uint32_t number)
{
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] == number)
            return true;
    }
    return false;
}

/*
 * Each sample has the service's name, as the resource has it: a Collector (0.148 and later) that
 * hands on over HTTP turns the attributes of resources into references, which a Pyroscope does not
 * look up, and leaves those of samples alone. A Pyroscope makes no label of it.
 */
static enum pprof_rc add_service_name(struct otlp *o, struct otlp_rows *rows)
{
    struct otlp_attribute name;
    enum pprof_rc rc;

    if (!rows->name || rows->name_attribute)
        return PPROF_OK;
    name = *rows->name;
    if (!otlp_repair(o, &name))
        return PPROF_NOMEM;
    rc = otlp_text(&o->dictionary, name.key, &rows->name_key);
    if (rc == PPROF_OK)
        rc = otlp_attribute(&o->dictionary, rows->name_key, name.str, name.num, 0,
                            &rows->name_attribute);
    return rc;
}

/* A label without a name would be none; of two with one name the first stays. */
static enum pprof_rc add_row_attributes(struct otlp *o, struct otlp_rows *rows,
                                        const struct order_row *row, struct otlp_row *out,
                                        size_t *count)
{
    char *const *strings = rows->order.strings;
    uint32_t keys[OTLP_SAMPLE_ATTRIBUTES_MAX], unit;
    const struct label_key *label = row->labels, *end = label + row->label_count;
    enum pprof_rc rc = add_service_name(o, rows);

    if (rows->name_attribute) {
        keys[0] = rows->name_key;
        out->attributes[(*count)++] = rows->name_attribute;
    }
    for (; label < end && rc == PPROF_OK; label++) {
        rc = otlp_text(&o->dictionary, attribute_name(strings[label->key]), &keys[*count]);
        if (rc != PPROF_OK || keys[*count] == 0 || is_among(keys, *count, keys[*count]))
            continue;
        unit = 0;
        if (label->unit != NO_TEXT)
            rc = add_otlp_text(o, rows, label->unit, &unit);
        if (rc != PPROF_OK)
            continue;
        rc = otlp_attribute(&o->dictionary, keys[*count],
                            label->str == NO_TEXT ? NULL : strings[label->str], label_number(label),
                            unit, &out->attributes[*count]);
        (*count)++;
        count_bytes(o, rows, PPROF_ROW_BYTES);
    }
    return rc;
}

/* The values of a row in the units of the profiles; false: all are 0. */
static bool scale_values(struct otlp_rows *rows, const struct order_row *row,
                         int64_t out[PPROF_TYPES_MAX])
{
    const struct otlp_service *service = &rows->service;
    bool any = false;
    int64_t value;

    for (size_t i = 0; i < service->type_count; i++) {
        value = row->values[service->types[i].value];
        value = value > 0 ? add_saturated(value, rows->left_over[i]) : 0;
        out[i] = value / service->types[i].scale;
        if (value > 0)
            rows->left_over[i] = value % service->types[i].scale;
        any = any || out[i] > 0;
    }
    return any;
}

static enum pprof_rc add_otlp_row(struct otlp *o, struct otlp_rows *rows,
                                  const struct order_row *row)
{
    struct otlp_row key = {0};
    int64_t values[PPROF_TYPES_MAX];
    size_t attribute_count = 0;
    enum pprof_rc rc;

    if (!scale_values(rows, row, values))
        return PPROF_OK;
    rc = add_otlp_stack(o, rows, row, &key.stack);
    if (rc == PPROF_OK)
        rc = add_row_attributes(o, rows, row, &key, &attribute_count);
    return rc == PPROF_OK ? otlp_sample(o, &key, attribute_count, values) : rc;
}

static bool reaches_limit(size_t size, size_t limit)
{
    return limit && size >= limit;
}

static bool is_full(const struct otlp *o, const struct otlp_rows *rows)
{
    size_t unwritten = o->rows.count * rows->type_used * PPROF_ROW_BYTES;

    if (o->rows.count == 0 && o->profile_count == 0)
        return false; /* or a row that is too large would never leave */
    return reaches_limit(o->rows.count, o->limits.samples) ||
           reaches_limit(otlp_size(o) + unwritten, o->limits.request_bytes) ||
           reaches_limit(o->pprof_bytes, o->limits.pprof_bytes);
}

static enum pprof_rc write_profiles(struct otlp *o, const struct otlp_rows *rows)
{
    const struct otlp_service *service = &rows->service;
    enum pprof_rc rc = PPROF_OK;

    for (size_t i = 0; i < service->type_count && rc == PPROF_OK; i++)
        rc = otlp_profile(o, i, &service->types[i], service->time_ns, service->duration_ns);
    if (rc == PPROF_OK)
        rc = otlp_resource(o, service->attributes, service->attribute_count);
    return rc;
}

enum pprof_rc otlp_add(struct otlp *o, struct otlp_rows *rows)
{
    enum pprof_rc rc = PPROF_OK, end;

    forget_numbers(rows);
    otlp_begin(o, rows->service.type_count);
    while (rc == PPROF_OK && otlp_rows_left(rows) > 0 && !is_full(o, rows)) {
        order_fetch(&rows->order, rows->next);
        rc = add_otlp_row(o, rows, &rows->order.rows[rows->next]);
        if (rc == PPROF_OK)
            rows->next++;
    }
    end = write_profiles(o, rows);
    return rc == PPROF_OK ? end : rc;
}

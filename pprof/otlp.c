/* SPDX-License-Identifier: Apache-2.0 */
/* otlp.c - see otlp.h and otlp_request.h. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/protobuf_wire.h"
#include "base/utf8.h"
#include "pprof/gzip.h"
#include "pprof/otlp.pb-c.h"
#include "pprof/otlp_request.h"
#include "pprof/profile.h"

/* The specification tells clients to refuse more than this. */
enum { MEMORY_MAX = 64 << 20 };

/* The fields that are written without protobuf-c, from pprof/otlp.proto. */
enum {
    REQUEST_RESOURCE_PROFILES = 1,
    REQUEST_DICTIONARY = 2,
    RESOURCE_PROFILES_RESOURCE = 1,
    RESOURCE_PROFILES_SCOPE_PROFILES = 2,
    SCOPE_PROFILES_PROFILES = 2,
    PROFILE_SAMPLES = 2,
    SAMPLE_STACK_INDEX = 1,
    SAMPLE_ATTRIBUTE_INDICES = 2,
    SAMPLE_VALUES = 4
};

enum pprof_rc otlp_new(const char *scope_name, const char *scope_version,
                       const struct otlp_limits *limits, struct otlp **out)
{
    static const unsigned char no_id[OTLP_ID_SIZE];
    struct otlp *o = calloc(1, sizeof(*o));

    if (!o)
        return PPROF_NOMEM;
    o->scope_name = scope_name;
    o->scope_version = scope_version;
    o->limits = *limits;
    otlp_dictionary_init(&o->dictionary, MEMORY_MAX);
    arena_init(&o->arena, MEMORY_MAX);
    table_init(&o->rows, &o->arena, (uint64_t)(uintptr_t)o);
    buf_init(&o->request, MEMORY_MAX);
    buf_init(&o->part, MEMORY_MAX);
    if (otlp_reset(o, no_id) != PPROF_OK) {
        otlp_free(o);
        return PPROF_NOMEM;
    }
    *out = o;
    return PPROF_OK;
}

void otlp_free(struct otlp *o)
{
    if (!o)
        return;
    otlp_dictionary_finish(&o->dictionary);
    table_finish(&o->rows);
    arena_finish(&o->arena);
    buf_finish(&o->request);
    buf_finish(&o->part);
    free(o->values);
    free(o);
}

enum pprof_rc otlp_reset(struct otlp *o, const unsigned char id[OTLP_ID_SIZE])
{
    memcpy(o->id, id, sizeof(o->id));
    buf_reset(&o->request);
    o->resource_start = 0;
    otlp_begin(o, 0);
    o->profile_count = 0;
    o->pprof_bytes = 0;
    return otlp_dictionary_reset(&o->dictionary);
}

void otlp_begin(struct otlp *o, size_t type_count)
{
    table_reset(&o->rows);
    arena_reset(&o->arena);
    o->request.size = o->resource_start; /* without what a failure left */
    o->type_count = type_count < PPROF_TYPES_MAX ? type_count : PPROF_TYPES_MAX;
}

size_t otlp_profile_count(const struct otlp *o)
{
    return o->profile_count;
}

size_t otlp_size(const struct otlp *o)
{
    return o->request.size + otlp_dictionary_size(&o->dictionary);
}

static void sort_numbers(uint32_t *numbers, size_t count)
{
    uint32_t number;
    size_t i, at;

    for (i = 1; i < count; i++) {
        number = numbers[i];
        for (at = i; at > 0 && numbers[at - 1] > number; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

enum pprof_rc otlp_sample(struct otlp *o, struct otlp_row *row, size_t attribute_count,
                          const int64_t *values)
{
    size_t size = offsetof(struct otlp_row, attributes) + attribute_count * sizeof(uint32_t);
    uint32_t number, before = o->rows.count;
    enum pprof_rc rc;
    int64_t *sums;

    sort_numbers(row->attributes, attribute_count);
    if (!ARRAY_RESERVE(o->values, o->values_capacity, (o->rows.count + (size_t)1) * o->type_count))
        return PPROF_NOMEM;
    rc = table_intern(&o->rows, row, size, &number);
    if (rc != PPROF_OK)
        return rc;
    sums = o->values + number * o->type_count;
    for (size_t i = 0; i < o->type_count; i++) {
        if (o->rows.count > before)
            sums[i] = 0;
        if (values[i] > 0)
            sums[i] = add_saturated(sums[i], values[i]);
    }
    return PPROF_OK;
}

static void write_sample(struct otlp *o, const struct table_entry *entry, int64_t value)
{
    const struct otlp_row *row = entry->key;
    size_t i, before = o->request.size,
              count = (entry->size - offsetof(struct otlp_row, attributes)) / sizeof(uint32_t);
    uint64_t numbers[OTLP_SAMPLE_ATTRIBUTES_MAX];

    for (i = 0; i < count; i++)
        numbers[i] = row->attributes[i];
    wire_put_number(&o->request, SAMPLE_STACK_INDEX, row->stack);
    wire_put_packed(&o->request, SAMPLE_ATTRIBUTE_INDICES, numbers, count);
    numbers[0] = (uint64_t)value;
    wire_put_packed(&o->request, SAMPLE_VALUES, numbers, 1);
    wire_wrap(&o->request, PROFILE_SAMPLES, before);
}

static void write_samples(struct otlp *o, size_t type)
{
    int64_t value;

    for (uint32_t i = 0; i < o->rows.count; i++) {
        value = o->values[i * o->type_count + type];
        if (value > 0)
            write_sample(o, &o->rows.entries[i], value);
    }
}

static enum pprof_rc fill_type(struct otlp *o, const struct pprof_type *type, Otlp__ValueType *out)
{
    uint32_t name, unit;
    enum pprof_rc rc = otlp_text(&o->dictionary, type->type, &name);

    if (rc == PPROF_OK)
        rc = otlp_text(&o->dictionary, type->unit, &unit);
    if (rc != PPROF_OK)
        return rc;
    out->type_strindex = (int32_t)name;
    out->unit_strindex = (int32_t)unit;
    return PPROF_OK;
}

static bool has_value(const struct otlp *o, size_t type)
{
    for (uint32_t i = 0; i < o->rows.count; i++) {
        if (o->values[i * o->type_count + type] > 0)
            return true;
    }
    return false;
}

/* Gives the next profile's id, or one of size 0 if they are not wanted. */
static ProtobufCBinaryData take_id(struct otlp *o, unsigned char id[OTLP_ID_SIZE])
{
    static const unsigned char no_id[OTLP_ID_SIZE];

    if (memcmp(o->id, no_id, sizeof(o->id)) == 0)
        return (ProtobufCBinaryData){0, NULL};
    memcpy(id, o->id, sizeof(o->id));
    for (size_t i = OTLP_ID_SIZE; i-- > 0 && ++o->id[i] == 0;)
        continue;
    return (ProtobufCBinaryData){OTLP_ID_SIZE, id};
}

/* Writes what stands before the samples of a profile. */
static enum pprof_rc write_profile_head(struct otlp *o, const struct otlp_type *kind)
{
    Otlp__Profile part = OTLP__PROFILE__INIT;
    Otlp__ValueType sample_type = OTLP__VALUE_TYPE__INIT;
    enum pprof_rc rc = fill_type(o, &kind->sample_type, &sample_type);

    part.sample_type = &sample_type;
    if (rc == PPROF_OK)
        wire_put_message(&o->request, &part.base);
    return rc;
}

/* Writes what stands behind them. */
static enum pprof_rc write_profile_tail(struct otlp *o, const struct otlp_type *kind,
                                        int64_t time_ns, int64_t duration_ns)
{
    Otlp__Profile part = OTLP__PROFILE__INIT;
    Otlp__ValueType period_type = OTLP__VALUE_TYPE__INIT;
    unsigned char id[OTLP_ID_SIZE];
    enum pprof_rc rc = fill_type(o, &kind->period_type, &period_type);

    if (rc != PPROF_OK)
        return rc;
    part.period_type = &period_type;
    part.period = kind->period;
    part.time_unix_nano = (uint64_t)time_ns;
    part.duration_nano = duration_ns > 0 ? (uint64_t)duration_ns : 0;
    part.profile_id = take_id(o, id);
    wire_put_message(&o->request, &part.base);
    return buf_failed(&o->request) ? PPROF_NOMEM : PPROF_OK;
}

enum pprof_rc otlp_profile(struct otlp *o, size_t type, const struct otlp_type *kind,
                           int64_t time_ns, int64_t duration_ns)
{
    size_t before = o->request.size;
    enum pprof_rc rc;

    if (!has_value(o, type))
        return PPROF_OK;
    rc = write_profile_head(o, kind);
    if (rc == PPROF_OK) {
        write_samples(o, type);
        rc = write_profile_tail(o, kind, time_ns, duration_ns);
    }
    if (rc != PPROF_OK)
        return rc;
    wire_wrap(&o->request, SCOPE_PROFILES_PROFILES, before);
    o->profile_count++;
    return buf_failed(&o->request) ? PPROF_NOMEM : PPROF_OK;
}

static bool is_first(const struct otlp_attribute *attributes, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (strcmp(attributes[i].key, attributes[at].key) == 0)
            return false;
    }
    return true;
}

/* Keys and values stand in the attribute itself: see the .proto about references. */
static void write_attribute(struct buf *out, const struct otlp_attribute *attribute)
{
    Otlp__Resource part = OTLP__RESOURCE__INIT;
    Otlp__KeyValue pair = OTLP__KEY_VALUE__INIT, *pairs = &pair;
    Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;

    pair.key = (char *)(uintptr_t)attribute->key; /* protobuf-c does not write there */
    pair.value = &value;
    if (attribute->str) {
        value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
        value.string_value = (char *)(uintptr_t)attribute->str;
    } else {
        value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
        value.int_value = attribute->num;
    }
    part.n_attributes = 1;
    part.attributes = &pairs;
    wire_put_message(out, &part.base);
}

bool otlp_repair(struct otlp *o, struct otlp_attribute *attribute)
{
    const char **texts[2] = {&attribute->key, &attribute->str};
    struct buf *text = &o->dictionary.key;

    for (size_t i = 0; i < 2; i++) {
        if (!*texts[i])
            continue;
        buf_reset(text);
        utf8_repair(*texts[i], strlen(*texts[i]), text);
        *texts[i] = buf_failed(text) ? NULL : arena_strndup(&o->arena, buf_text(text), text->size);
        if (!*texts[i])
            return false;
    }
    return true;
}

static enum pprof_rc write_resource(struct otlp *o, const struct otlp_attribute *attributes,
                                    size_t count)
{
    struct otlp_attribute good[OTLP_ATTRIBUTES_MAX];

    for (size_t i = 0; i < count && i < OTLP_ATTRIBUTES_MAX; i++) {
        good[i] = attributes[i];
        if (!otlp_repair(o, &good[i]))
            return PPROF_NOMEM;
        if (good[i].key[0] && is_first(good, i))
            write_attribute(&o->part, &good[i]);
    }
    wire_wrap(&o->part, RESOURCE_PROFILES_RESOURCE, 0);
    return buf_failed(&o->part) ? PPROF_NOMEM : PPROF_OK;
}

static enum pprof_rc write_scope(struct otlp *o)
{
    Otlp__ScopeProfiles part = OTLP__SCOPE_PROFILES__INIT;
    Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;

    scope.name = (char *)(uintptr_t)o->scope_name;
    scope.version = (char *)(uintptr_t)o->scope_version;
    part.scope = &scope;
    wire_put_message(&o->part, &part.base);
    return buf_failed(&o->part) ? PPROF_NOMEM : PPROF_OK;
}

/* Puts `part` before what the resource that is being added has, and makes them one field. */
static void put_before(struct otlp *o, uint32_t field)
{
    wire_insert(&o->request, o->resource_start, o->part.data, o->part.size);
    wire_wrap(&o->request, field, o->resource_start);
    buf_reset(&o->part);
}

enum pprof_rc otlp_resource(struct otlp *o, const struct otlp_attribute *attributes, size_t count)
{
    enum pprof_rc rc;

    if (o->request.size == o->resource_start)
        return PPROF_OK;
    buf_reset(&o->part);
    rc = write_scope(o);
    if (rc != PPROF_OK)
        return rc;
    put_before(o, RESOURCE_PROFILES_SCOPE_PROFILES);
    rc = write_resource(o, attributes, count);
    if (rc != PPROF_OK)
        return rc;
    put_before(o, REQUEST_RESOURCE_PROFILES);
    if (buf_failed(&o->request))
        return PPROF_NOMEM;
    o->resource_start = o->request.size;
    otlp_begin(o, 0);
    return PPROF_OK;
}

enum pprof_rc otlp_finish(struct otlp *o, struct buf *out)
{
    size_t packed = out->size, before = o->request.size = o->resource_start;
    enum pprof_rc rc;

    otlp_dictionary_write(&o->dictionary, &o->request);
    wire_wrap(&o->request, REQUEST_DICTIONARY, before);
    rc = buf_failed(&o->request) ? PPROF_NOMEM : gzip_pack(o->request.data, o->request.size, out);
    o->request.size = before;
    if (rc != PPROF_OK)
        out->size = packed;
    return rc;
}

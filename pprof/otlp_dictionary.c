/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_dictionary.c - see otlp_dictionary.h. */
#include "pprof/otlp_dictionary.h"

#include <string.h>

#include "base/protobuf_wire.h"
#include "pprof/line.h"
#include "pprof/otlp.pb-c.h"

/* The fields that are written without protobuf-c, from pprof/otlp.proto. */
enum {
    STACK_LOCATION_INDICES = 1,
    FUNCTION_NAME_STRINDEX = 1,
    FUNCTION_FILENAME_STRINDEX = 3,
    FUNCTION_START_LINE = 4,
    LOCATION_LINES = 3,
    LOCATION_ATTRIBUTE_INDICES = 4
};

/* In a ProfilesDictionary; in the order of the numbers, as protobuf's own writers have them. */
static const uint32_t fields[OTLP_TABLES] = {
    [OTLP_MAPPINGS] = 1, [OTLP_LOCATIONS] = 2,  [OTLP_FUNCTIONS] = 3, [OTLP_LINKS] = 4,
    [OTLP_TEXTS] = 5,    [OTLP_ATTRIBUTES] = 6, [OTLP_STACKS] = 7,
};

void otlp_dictionary_init(struct otlp_dictionary *d, size_t max_bytes)
{
    uint64_t seed = (uint64_t)(uintptr_t)d; /* what a target cannot know */

    *d = (struct otlp_dictionary){0};
    arena_init(&d->arena, max_bytes);
    buf_init(&d->key, max_bytes);
    for (size_t i = 0; i < OTLP_TABLES; i++)
        table_init(&d->tables[i], &d->arena, seed);
}

void otlp_dictionary_finish(struct otlp_dictionary *d)
{
    for (size_t i = 0; i < OTLP_TABLES; i++)
        table_finish(&d->tables[i]);
    buf_finish(&d->key);
    arena_finish(&d->arena);
}

static enum pprof_rc intern_bytes(struct otlp_dictionary *d, enum otlp_table which,
                                  const void *bytes, size_t size, uint32_t *out)
{
    struct table *table = &d->tables[which];
    uint32_t before = table->count;
    enum pprof_rc rc = table_intern(table, size ? bytes : "", size, out);

    if (rc == PPROF_OK && table->count > before)
        d->size += wire_nested_size(size);
    return rc;
}

static enum pprof_rc intern_key(struct otlp_dictionary *d, enum otlp_table which, uint32_t *out)
{
    return buf_failed(&d->key) ? PPROF_NOMEM
                               : intern_bytes(d, which, d->key.data, d->key.size, out);
}

static int32_t at_least_0(int32_t number)
{
    return number > 0 ? number : 0;
}

enum pprof_rc otlp_text(struct otlp_dictionary *d, const char *text, uint32_t *out)
{
    return intern_bytes(d, OTLP_TEXTS, text, strlen(text), out);
}

enum pprof_rc otlp_function(struct otlp_dictionary *d, uint32_t name, uint32_t file,
                            int32_t start_line, uint32_t *out)
{
    buf_reset(&d->key);
    wire_put_number(&d->key, FUNCTION_NAME_STRINDEX, name);
    wire_put_number(&d->key, FUNCTION_FILENAME_STRINDEX, file);
    wire_put_number(&d->key, FUNCTION_START_LINE, (uint64_t)at_least_0(start_line));
    return intern_key(d, OTLP_FUNCTIONS, out);
}

/* No mapping and no address: a frame of Python is in no mapped file. */
enum pprof_rc otlp_location(struct otlp_dictionary *d, uint32_t function, int32_t line,
                            int32_t column, uint32_t attribute, uint32_t *out)
{
    const uint64_t attributes = attribute;

    buf_reset(&d->key);
    line_put(&d->key, LOCATION_LINES, function, at_least_0(line), at_least_0(column));
    wire_put_packed(&d->key, LOCATION_ATTRIBUTE_INDICES, &attributes, attribute ? 1 : 0);
    return intern_key(d, OTLP_LOCATIONS, out);
}

enum pprof_rc otlp_stack(struct otlp_dictionary *d, const uint64_t *locations, size_t depth,
                         uint32_t *out)
{
    buf_reset(&d->key);
    wire_put_packed(&d->key, STACK_LOCATION_INDICES, locations, depth);
    return intern_key(d, OTLP_STACKS, out);
}

/* The value stands in the item itself: references to texts are not understood everywhere. */
enum pprof_rc otlp_attribute(struct otlp_dictionary *d, uint32_t key, const char *str, int64_t num,
                             uint32_t unit, uint32_t *out)
{
    Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT;
    Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;

    value.value_case = str ? OTLP__ANY_VALUE__VALUE_STRING_VALUE : OTLP__ANY_VALUE__VALUE_INT_VALUE;
    if (str)
        value.string_value = (char *)(uintptr_t)str; /* protobuf-c does not write there */
    else
        value.int_value = num;
    attribute.key_strindex = (int32_t)key;
    attribute.unit_strindex = (int32_t)unit;
    attribute.value = &value;
    buf_reset(&d->key);
    wire_put_message(&d->key, &attribute.base);
    return intern_key(d, OTLP_ATTRIBUTES, out);
}

enum pprof_rc otlp_dictionary_reset(struct otlp_dictionary *d)
{
    enum pprof_rc rc = PPROF_OK;
    uint32_t first; /* 0 */

    for (size_t i = 0; i < OTLP_TABLES; i++)
        table_reset(&d->tables[i]);
    arena_reset(&d->arena);
    d->size = 0;
    for (size_t i = 0; i < OTLP_TABLES && rc == PPROF_OK; i++)
        rc = intern_bytes(d, i, "", 0, &first);
    return rc;
}

size_t otlp_dictionary_size(const struct otlp_dictionary *d)
{
    return d->size;
}

void otlp_dictionary_write(const struct otlp_dictionary *d, struct buf *out)
{
    const struct table *table;

    for (size_t which = 0; which < OTLP_TABLES; which++) {
        table = &d->tables[which];
        for (uint32_t i = 0; i < table->count; i++)
            wire_put_bytes(out, fields[which], table->entries[i].key, table->entries[i].size);
    }
}

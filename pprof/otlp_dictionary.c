/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_dictionary.c - see otlp_dictionary.h. */
#include "pprof/otlp_dictionary.h"

#include <string.h>

#include "pprof/otlp.pb-c.h"

/* The keys are compared as bytes: 32-bit members only, so that there is no padding. */
struct function_item {
    uint32_t name, file;
    int32_t start_line;
};

struct location_item {
    uint32_t function;
    int32_t line, column;
    uint32_t attribute;
};

struct link_item {
    unsigned char trace[OTLP_TRACE_SIZE], span[OTLP_SPAN_SIZE];
};

/* The value follows: the text, or the number's bytes. */
struct attribute_head {
    uint32_t key, unit, is_text;
};

static void table_begin(struct otlp_table *table, struct arena *arena, uint64_t seed, size_t max)
{
    table_init(&table->index, arena, seed);
    buf_init(&table->bytes, max);
}

void otlp_dictionary_init(struct otlp_dictionary *d, size_t max_bytes)
{
    uint64_t seed = (uint64_t)(uintptr_t)d; /* what a target cannot know */

    *d = (struct otlp_dictionary){0};
    arena_init(&d->arena, max_bytes);
    buf_init(&d->key, max_bytes);
    table_begin(&d->locations, &d->arena, seed, max_bytes);
    table_begin(&d->functions, &d->arena, seed, max_bytes);
    table_begin(&d->links, &d->arena, seed, max_bytes);
    table_begin(&d->texts, &d->arena, seed, max_bytes);
    table_begin(&d->attributes, &d->arena, seed, max_bytes);
    table_begin(&d->stacks, &d->arena, seed, max_bytes);
}

static void table_end(struct otlp_table *table)
{
    table_finish(&table->index);
    buf_finish(&table->bytes);
}

void otlp_dictionary_finish(struct otlp_dictionary *d)
{
    table_end(&d->locations);
    table_end(&d->functions);
    table_end(&d->links);
    table_end(&d->texts);
    table_end(&d->attributes);
    table_end(&d->stacks);
    buf_finish(&d->key);
    arena_finish(&d->arena);
}

static void table_empty(struct otlp_table *table)
{
    table_reset(&table->index);
    buf_reset(&table->bytes);
}

void otlp_pack(struct buf *out, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    unsigned char *room = buf_extend(out, size);

    if (room)
        (void)protobuf_c_message_pack(message, room);
}

/* Gives the number of a key; one that is new is written down as `part` has it. */
static enum pprof_rc intern(struct otlp_table *table, const void *key, size_t size,
                            const Otlp__ProfilesDictionary *part, uint32_t *out)
{
    uint32_t before = table->index.count;
    enum pprof_rc rc = table_intern(&table->index, key, size, out);

    if (rc != PPROF_OK || table->index.count == before)
        return rc;
    otlp_pack(&table->bytes, &part->base);
    return buf_failed(&table->bytes) ? PPROF_NOMEM : PPROF_OK;
}

enum pprof_rc otlp_text(struct otlp_dictionary *d, const char *text, uint32_t *out)
{
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    char *item = (char *)(uintptr_t)text; /* protobuf-c does not write there */

    part.n_string_table = 1;
    part.string_table = &item;
    return intern(&d->texts, text, strlen(text), &part, out);
}

enum pprof_rc otlp_function(struct otlp_dictionary *d, uint32_t name, uint32_t file,
                            int32_t start_line, uint32_t *out)
{
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    Otlp__Function function = OTLP__FUNCTION__INIT, *item = &function;
    const struct function_item key = {name, file, start_line > 0 ? start_line : 0};

    function.name_strindex = (int32_t)key.name;
    function.filename_strindex = (int32_t)key.file;
    function.start_line = key.start_line;
    part.n_function_table = 1;
    part.function_table = &item;
    return intern(&d->functions, &key, sizeof(key), &part, out);
}

/* No mapping and no address: a frame of Python is in no mapped file. */
enum pprof_rc otlp_location(struct otlp_dictionary *d, uint32_t function, int32_t line,
                            int32_t column, uint32_t attribute, uint32_t *out)
{
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    Otlp__Location location = OTLP__LOCATION__INIT, *item = &location;
    Otlp__Line at = OTLP__LINE__INIT, *lines = &at;
    const struct location_item key = {function, line > 0 ? line : 0, column > 0 ? column : 0,
                                      attribute};
    int32_t attributes = (int32_t)attribute;

    at.function_index = (int32_t)key.function;
    at.line = key.line;
    at.column = key.column;
    location.n_lines = function ? 1 : 0;
    location.lines = &lines;
    location.n_attribute_indices = attribute ? 1 : 0;
    location.attribute_indices = &attributes;
    part.n_location_table = 1;
    part.location_table = &item;
    return intern(&d->locations, &key, sizeof(key), &part, out);
}

enum pprof_rc otlp_stack(struct otlp_dictionary *d, const uint32_t *locations, size_t depth,
                         uint32_t *out)
{
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    Otlp__Stack stack = OTLP__STACK__INIT, *item = &stack;

    stack.n_location_indices = depth;
    stack.location_indices = (int32_t *)(uintptr_t)locations; /* below 2^29: table.c */
    part.n_stack_table = 1;
    part.stack_table = &item;
    return intern(&d->stacks, depth ? (const void *)locations : "", depth * sizeof(*locations),
                  &part, out);
}

/* The value stands in the item itself: references to texts are not understood everywhere. */
enum pprof_rc otlp_attribute(struct otlp_dictionary *d, uint32_t key, const char *str, int64_t num,
                             uint32_t unit, uint32_t *out)
{
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT, *item = &attribute;
    Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
    const struct attribute_head head = {key, unit, str ? 1 : 0};

    value.value_case = str ? OTLP__ANY_VALUE__VALUE_STRING_VALUE : OTLP__ANY_VALUE__VALUE_INT_VALUE;
    if (str)
        value.string_value = (char *)(uintptr_t)str;
    else
        value.int_value = num;
    attribute.key_strindex = (int32_t)key;
    attribute.unit_strindex = (int32_t)unit;
    attribute.value = key ? &value : NULL;
    part.n_attribute_table = 1;
    part.attribute_table = &item;
    buf_reset(&d->key);
    buf_add(&d->key, &head, sizeof(head));
    buf_add(&d->key, str ? (const void *)str : &num, str ? strlen(str) : sizeof(num));
    if (buf_failed(&d->key))
        return PPROF_NOMEM;
    return intern(&d->attributes, d->key.data, d->key.size, &part, out);
}

enum pprof_rc otlp_link(struct otlp_dictionary *d, const unsigned char trace[OTLP_TRACE_SIZE],
                        const unsigned char span[OTLP_SPAN_SIZE], uint32_t *out)
{
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    Otlp__Link link = OTLP__LINK__INIT, *item = &link;
    struct link_item key;

    memcpy(key.trace, trace, sizeof(key.trace));
    memcpy(key.span, span, sizeof(key.span));
    link.trace_id = (ProtobufCBinaryData){sizeof(key.trace), key.trace};
    link.span_id = (ProtobufCBinaryData){sizeof(key.span), key.span};
    part.n_link_table = 1;
    part.link_table = &item;
    return intern(&d->links, &key, sizeof(key), &part, out);
}

enum pprof_rc otlp_dictionary_reset(struct otlp_dictionary *d)
{
    static const unsigned char zeros[OTLP_TRACE_SIZE + OTLP_SPAN_SIZE];
    enum pprof_rc rc;
    uint32_t first; /* 0, as each is the first of its table */

    table_empty(&d->locations);
    table_empty(&d->functions);
    table_empty(&d->links);
    table_empty(&d->texts);
    table_empty(&d->attributes);
    table_empty(&d->stacks);
    arena_reset(&d->arena);
    rc = otlp_text(d, "", &first);
    if (rc == PPROF_OK)
        rc = otlp_function(d, 0, 0, 0, &first);
    if (rc == PPROF_OK)
        rc = otlp_location(d, 0, 0, 0, 0, &first);
    if (rc == PPROF_OK)
        rc = otlp_stack(d, NULL, 0, &first);
    if (rc == PPROF_OK)
        rc = otlp_attribute(d, 0, NULL, 0, 0, &first);
    if (rc == PPROF_OK)
        rc = otlp_link(d, zeros, zeros + OTLP_TRACE_SIZE, &first);
    return rc;
}

/* In the order of the fields' numbers, as protobuf's own writers have them. */
static void list_tables(const struct otlp_dictionary *d, const struct otlp_table *out[6])
{
    out[0] = &d->locations;
    out[1] = &d->functions;
    out[2] = &d->links;
    out[3] = &d->texts;
    out[4] = &d->attributes;
    out[5] = &d->stacks;
}

static void pack_mapping(struct buf *out)
{
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    Otlp__Mapping mapping = OTLP__MAPPING__INIT, *item = &mapping;

    part.n_mapping_table = 1;
    part.mapping_table = &item;
    otlp_pack(out, &part.base);
}

size_t otlp_dictionary_size(const struct otlp_dictionary *d)
{
    const struct otlp_table *tables[6];
    size_t i, size = 2; /* the empty mapping */

    list_tables(d, tables);
    for (i = 0; i < 6; i++)
        size += tables[i]->bytes.size;
    return size;
}

enum pprof_rc otlp_dictionary_write(const struct otlp_dictionary *d, struct buf *out)
{
    const struct otlp_table *tables[6];
    size_t i;

    list_tables(d, tables);
    pack_mapping(out);
    for (i = 0; i < 6; i++) {
        if (buf_failed(&tables[i]->bytes))
            return PPROF_NOMEM;
        buf_add(out, tables[i]->bytes.data, tables[i]->bytes.size);
    }
    return buf_failed(out) ? PPROF_NOMEM : PPROF_OK;
}

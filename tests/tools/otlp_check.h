/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_check.h - holds an OTLP profiles request to what the specification asks of it.
 *
 * No receiver does: a Collector takes any index and any missing table with a 200. The rules
 * include all those of profcheck, the checker of OpenTelemetry's profiling group, with its options
 * -check-dupes and -check-orphans. Beside the specification's rules this holds three that real
 * servers have: no references in place of keys and values, a period that is not 0, and the
 * resource's service.name on each sample, because a Collector that hands on over HTTP turns that
 * of the resource into references, which a Pyroscope does not look up.
 *
 * Shape: otlp_check_bytes, or otlp_check with an unpacked request; `err` names the rule.
 */
#ifndef TESTS_TOOLS_OTLP_CHECK_H
#define TESTS_TOOLS_OTLP_CHECK_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pprof/otlp.pb-c.h>

#include "base/err.h"
#include "base/utf8.h"

typedef Otlp__ExportProfilesServiceRequest otlp_check_request;

enum otlp_check_table {
    CHECK_MAPPINGS,
    CHECK_LOCATIONS,
    CHECK_FUNCTIONS,
    CHECK_LINKS,
    CHECK_STRINGS,
    CHECK_ATTRIBUTES,
    CHECK_STACKS,
    CHECK_TABLES
};

struct otlp_check {
    const Otlp__ProfilesDictionary *dictionary;
    size_t counts[CHECK_TABLES];
    bool *used[CHECK_TABLES]; /* owned */
    struct err *err;
};

static inline bool check_fail(const struct otlp_check *c, const char *rule)
{
    err_set(c->err, "%s", rule);
    return false;
}

/* Marks an item as used. */
static inline bool check_index(struct otlp_check *c, enum otlp_check_table table, int64_t index,
                               const char *rule)
{
    if (index < 0 || (uint64_t)index >= c->counts[table])
        return check_fail(c, rule);
    c->used[table][index] = true;
    return true;
}

static inline bool check_utf8(struct otlp_check *c, const char *text)
{
    if (utf8_good(text, strlen(text)) != strlen(text))
        return check_fail(c, "a text is not UTF-8");
    return true;
}

/* An attribute list: indices in range, none of them 0, no key twice. */
static inline bool check_attributes(struct otlp_check *c, const int32_t *list, size_t count)
{
    Otlp__KeyValueAndUnit **table = c->dictionary->attribute_table;
    size_t i, j;

    for (i = 0; i < count; i++) {
        if (!check_index(c, CHECK_ATTRIBUTES, list[i], "an attribute index is out of range"))
            return false;
        if (list[i] == 0)
            return check_fail(c, "an attribute list has the empty attribute");
        for (j = 0; j < i; j++)
            if (table[list[i]]->key_strindex == table[list[j]]->key_strindex)
                return check_fail(c, "an attribute list has a key twice");
    }
    return true;
}

/* Two items of a table as bytes: those of equal content are equal. */
static inline bool check_same(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    size_t size = protobuf_c_message_get_packed_size(a);
    unsigned char *bytes;
    bool same;

    if (size != protobuf_c_message_get_packed_size(b))
        return false;
    bytes = malloc(2 * size + 1);
    if (!bytes)
        abort();
    (void)protobuf_c_message_pack(a, bytes);
    (void)protobuf_c_message_pack(b, bytes + size);
    same = memcmp(bytes, bytes + size, size) == 0;
    free(bytes);
    return same;
}

/* The items as bytes, in an order that brings equal ones together. */
struct check_item {
    unsigned char *bytes;
    size_t size;
};

static inline int check_compare(const void *a, const void *b)
{
    const struct check_item *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return memcmp(x->bytes, y->bytes, x->size);
}

static inline bool check_unique(ProtobufCMessage *const *items, size_t count)
{
    struct check_item *packed = calloc(count + 1, sizeof(*packed));
    bool unique = true;
    size_t i;

    if (!packed)
        abort();
    for (i = 0; i < count; i++) {
        packed[i].size = protobuf_c_message_get_packed_size(items[i]);
        packed[i].bytes = malloc(packed[i].size + 1);
        if (!packed[i].bytes)
            abort();
        (void)protobuf_c_message_pack(items[i], packed[i].bytes);
    }
    qsort(packed, count, sizeof(*packed), check_compare);
    for (i = 1; i < count; i++)
        unique = unique && check_compare(&packed[i - 1], &packed[i]) != 0;
    for (i = 0; i < count; i++)
        free(packed[i].bytes);
    free(packed);
    return unique;
}

static inline int check_compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline bool check_unique_texts(char *const *texts, size_t count)
{
    char **sorted = calloc(count + 1, sizeof(*sorted));
    bool unique = true;
    size_t i;

    if (!sorted)
        abort();
    for (i = 0; i < count; i++)
        sorted[i] = texts[i];
    qsort(sorted, count, sizeof(*sorted), check_compare_texts);
    for (i = 1; i < count; i++)
        unique = unique && strcmp(sorted[i - 1], sorted[i]) != 0;
    free(sorted);
    return unique;
}

static inline bool check_zeros(const ProtobufCBinaryData *data, size_t size)
{
    size_t i;

    for (i = 0; i < data->len; i++)
        if (data->data[i])
            return false;
    return data->len == size;
}

/* The empty items. */
static inline bool check_first_items(struct otlp_check *c)
{
    const Otlp__ProfilesDictionary *d = c->dictionary;
    const Otlp__Mapping mapping = OTLP__MAPPING__INIT;
    const Otlp__Location location = OTLP__LOCATION__INIT;
    const Otlp__Function function = OTLP__FUNCTION__INIT;
    const Otlp__Link link = OTLP__LINK__INIT;
    const Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT;
    const Otlp__Stack stack = OTLP__STACK__INIT;
    size_t i;

    for (i = 0; i < CHECK_TABLES; i++)
        if (c->counts[i] == 0)
            return check_fail(c, "a table is missing");
    if (d->string_table[0][0] != '\0')
        return check_fail(c, "the first string is not empty");
    if (!check_same(&d->mapping_table[0]->base, &mapping.base))
        return check_fail(c, "the first mapping is not empty");
    if (!check_same(&d->location_table[0]->base, &location.base))
        return check_fail(c, "the first location is not empty");
    if (!check_same(&d->function_table[0]->base, &function.base))
        return check_fail(c, "the first function is not empty");
    if (!check_same(&d->attribute_table[0]->base, &attribute.base))
        return check_fail(c, "the first attribute is not empty");
    if (!check_same(&d->stack_table[0]->base, &stack.base))
        return check_fail(c, "the first stack is not empty");
    if (!check_same(&d->link_table[0]->base, &link.base))
        return check_fail(c, "the first link is not empty");
    return true;
}

static inline bool check_duplicates(struct otlp_check *c)
{
    const Otlp__ProfilesDictionary *d = c->dictionary;

    if (!check_unique_texts(d->string_table, d->n_string_table) ||
        !check_unique((ProtobufCMessage **)d->mapping_table, d->n_mapping_table) ||
        !check_unique((ProtobufCMessage **)d->location_table, d->n_location_table) ||
        !check_unique((ProtobufCMessage **)d->function_table, d->n_function_table) ||
        !check_unique((ProtobufCMessage **)d->link_table, d->n_link_table) ||
        !check_unique((ProtobufCMessage **)d->attribute_table, d->n_attribute_table) ||
        !check_unique((ProtobufCMessage **)d->stack_table, d->n_stack_table))
        return check_fail(c, "a table has an item twice");
    return true;
}

static inline bool check_value(struct otlp_check *c, const Otlp__AnyValue *value)
{
    if (!value || value->value_case == OTLP__ANY_VALUE__VALUE__NOT_SET)
        return check_fail(c, "an attribute has no value");
    if (value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX)
        return check_fail(c, "a value is a reference");
    if (value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE)
        return check_utf8(c, value->string_value);
    return true;
}

static inline bool check_attribute_table(struct otlp_check *c)
{
    const Otlp__KeyValueAndUnit *a;
    size_t i;

    for (i = 1; i < c->counts[CHECK_ATTRIBUTES]; i++) {
        a = c->dictionary->attribute_table[i];
        if (!check_index(c, CHECK_STRINGS, a->key_strindex, "a string index is out of range") ||
            !check_index(c, CHECK_STRINGS, a->unit_strindex, "a string index is out of range"))
            return false;
        if (a->key_strindex == 0)
            return check_fail(c, "an attribute has no key");
        if (!check_value(c, a->value))
            return false;
    }
    return true;
}

static inline bool check_function_table(struct otlp_check *c)
{
    const Otlp__Function *f;
    size_t i;

    for (i = 1; i < c->counts[CHECK_FUNCTIONS]; i++) {
        f = c->dictionary->function_table[i];
        if (!check_index(c, CHECK_STRINGS, f->name_strindex, "a string index is out of range") ||
            !check_index(c, CHECK_STRINGS, f->system_name_strindex,
                         "a string index is out of range") ||
            !check_index(c, CHECK_STRINGS, f->filename_strindex, "a string index is out of range"))
            return false;
        if (!f->name_strindex && !f->system_name_strindex && !f->filename_strindex)
            return check_fail(c, "a function has no name");
        if (f->start_line < 0)
            return check_fail(c, "a line is negative");
    }
    return true;
}

static inline bool check_location_table(struct otlp_check *c)
{
    const Otlp__Location *l;
    size_t i, j;

    for (i = 1; i < c->counts[CHECK_LOCATIONS]; i++) {
        l = c->dictionary->location_table[i];
        if (!check_index(c, CHECK_MAPPINGS, l->mapping_index, "a mapping index is out of range") ||
            !check_attributes(c, l->attribute_indices, l->n_attribute_indices))
            return false;
        for (j = 0; j < l->n_lines; j++) {
            if (!check_index(c, CHECK_FUNCTIONS, l->lines[j]->function_index,
                             "a function index is out of range"))
                return false;
            if (l->lines[j]->line < 0 || l->lines[j]->column < 0)
                return check_fail(c, "a line is negative");
        }
    }
    return true;
}

static inline bool check_stack_table(struct otlp_check *c)
{
    const Otlp__Stack *s;
    size_t i, j;

    for (i = 1; i < c->counts[CHECK_STACKS]; i++) {
        s = c->dictionary->stack_table[i];
        for (j = 0; j < s->n_location_indices; j++) {
            if (!check_index(c, CHECK_LOCATIONS, s->location_indices[j],
                             "a location index is out of range"))
                return false;
            if (s->location_indices[j] == 0)
                return check_fail(c, "a stack has the empty location");
        }
    }
    return true;
}

static inline bool check_link_table(struct otlp_check *c)
{
    const Otlp__Link *l;
    size_t i;

    for (i = 1; i < c->counts[CHECK_LINKS]; i++) {
        l = c->dictionary->link_table[i];
        if (l->trace_id.len != 16 || l->span_id.len != 8)
            return check_fail(c, "a link's id has the wrong length");
        if (check_zeros(&l->trace_id, 16) && check_zeros(&l->span_id, 8))
            return check_fail(c, "a link is empty");
    }
    return true;
}

/* A mapping must say which build it is of. */
static inline bool check_mapping_table(struct otlp_check *c)
{
    static const char build_id[] = "process.executable.build_id.";
    const Otlp__Mapping *m;
    const Otlp__KeyValueAndUnit *a;
    bool has_id;
    size_t i, j;

    for (i = 1; i < c->counts[CHECK_MAPPINGS]; i++) {
        m = c->dictionary->mapping_table[i];
        if (!check_index(c, CHECK_STRINGS, m->filename_strindex,
                         "a string index is out of range") ||
            !check_attributes(c, m->attribute_indices, m->n_attribute_indices))
            return false;
        if ((m->memory_start || m->memory_limit) && m->memory_start >= m->memory_limit)
            return check_fail(c, "a mapping ends before it starts");
        has_id = false;
        for (j = 0; j < m->n_attribute_indices; j++) {
            a = c->dictionary->attribute_table[m->attribute_indices[j]];
            has_id = has_id || strncmp(c->dictionary->string_table[a->key_strindex], build_id,
                                       sizeof(build_id) - 1) == 0;
        }
        if (!has_id)
            return check_fail(c, "a mapping has no build id");
    }
    return true;
}

static inline bool check_orphans(struct otlp_check *c)
{
    size_t table, i;

    for (table = 0; table < CHECK_TABLES; table++)
        for (i = 1; i < c->counts[table]; i++)
            if (!c->used[table][i])
                return check_fail(c, "a table has an item that nothing uses");
    return true;
}

static inline bool check_texts(struct otlp_check *c)
{
    size_t i;

    for (i = 0; i < c->counts[CHECK_STRINGS]; i++)
        if (!check_utf8(c, c->dictionary->string_table[i]))
            return false;
    return true;
}

static inline bool check_sample(struct otlp_check *c, const Otlp__Profile *p, const Otlp__Sample *s)
{
    uint64_t at;
    size_t i;

    if (!check_index(c, CHECK_STACKS, s->stack_index, "a stack index is out of range") ||
        !check_index(c, CHECK_LINKS, s->link_index, "a link index is out of range") ||
        !check_attributes(c, s->attribute_indices, s->n_attribute_indices))
        return false;
    if (s->n_values == 0 && s->n_timestamps_unix_nano == 0)
        return check_fail(c, "a sample has neither value nor time");
    if (s->n_values && s->n_timestamps_unix_nano && s->n_values != s->n_timestamps_unix_nano)
        return check_fail(c, "a sample has not as many values as times");
    if (!s->n_timestamps_unix_nano && s->n_values != 1)
        return check_fail(c, "a sample has several values and no times");
    if (!s->n_values != !p->samples[0]->n_values ||
        !s->n_timestamps_unix_nano != !p->samples[0]->n_timestamps_unix_nano)
        return check_fail(c, "the samples of a profile have different shapes");
    for (i = 0; i < s->n_timestamps_unix_nano; i++) {
        at = s->timestamps_unix_nano[i];
        if (at < p->time_unix_nano || at - p->time_unix_nano >= p->duration_nano)
            return check_fail(c, "a sample's time is outside its profile");
    }
    return true;
}

static inline int check_compare_numbers(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Stack, attributes as a set and link tell samples apart: as messages they can be compared. */
static inline bool check_identities(struct otlp_check *c, const Otlp__Profile *p)
{
    Otlp__Sample *samples = calloc(p->n_samples + 1, sizeof(*samples));
    ProtobufCMessage **list = calloc(p->n_samples + 1, sizeof(*list));
    bool unique;
    size_t i;

    if (!samples || !list)
        abort();
    for (i = 0; i < p->n_samples; i++) {
        samples[i] = *p->samples[i];
        samples[i].n_values = 0;
        samples[i].n_timestamps_unix_nano = 0;
        if (samples[i].n_attribute_indices > 1)
            qsort(samples[i].attribute_indices, samples[i].n_attribute_indices, sizeof(int32_t),
                  check_compare_numbers);
        list[i] = &samples[i].base;
    }
    unique = check_unique(list, p->n_samples);
    free(samples);
    free(list);
    return unique || check_fail(c, "two samples of a profile are the same");
}

static inline bool check_type(struct otlp_check *c, const Otlp__ValueType *type)
{
    if (!type || type->type_strindex == 0 || type->unit_strindex == 0)
        return check_fail(c, "a profile has no sample type or no period type");
    return check_index(c, CHECK_STRINGS, type->type_strindex, "a string index is out of range") &&
           check_index(c, CHECK_STRINGS, type->unit_strindex, "a string index is out of range");
}

static inline bool check_profile(struct otlp_check *c, const Otlp__Profile *p)
{
    size_t i;

    if (!check_type(c, p->sample_type) || !check_type(c, p->period_type) ||
        !check_attributes(c, p->attribute_indices, p->n_attribute_indices))
        return false;
    if (p->period <= 0)
        return check_fail(c, "a profile has no period");
    if (p->time_unix_nano == 0)
        return check_fail(c, "a profile has no time");
    if (p->n_samples == 0)
        return check_fail(c, "a profile has no samples");
    if (p->profile_id.len && (p->profile_id.len != 16 || check_zeros(&p->profile_id, 16)))
        return check_fail(c, "a profile's id is not 16 bytes, or zeros");
    if ((p->original_payload.len == 0) != (p->original_payload_format[0] == '\0'))
        return check_fail(c, "a payload goes with its format");
    for (i = 0; i < p->n_samples; i++)
        if (!check_sample(c, p, p->samples[i]))
            return false;
    return check_identities(c, p);
}

/* Tools show the first profile: it is to be the CPU's where there is one. */
static inline bool check_cpu_first(struct otlp_check *c, const Otlp__ScopeProfiles *scope)
{
    size_t i;

    for (i = 1; i < scope->n_profiles; i++)
        if (strcmp(c->dictionary->string_table[scope->profiles[i]->period_type->type_strindex],
                   "cpu") == 0)
            return check_fail(c, "the CPU's profile is not the first");
    return true;
}

static inline bool check_pairs(struct otlp_check *c, Otlp__KeyValue *const *pairs, size_t count)
{
    size_t i, j;

    for (i = 0; i < count; i++) {
        if (pairs[i]->key_strindex)
            return check_fail(c, "a key is a reference");
        if (pairs[i]->key[0] == '\0')
            return check_fail(c, "an attribute has no key");
        if (!check_utf8(c, pairs[i]->key) || !check_value(c, pairs[i]->value))
            return false;
        for (j = 0; j < i; j++)
            if (strcmp(pairs[i]->key, pairs[j]->key) == 0)
                return check_fail(c, "a resource has a key twice");
    }
    return true;
}

/* The value of the resource's service.name; NULL: it has none. */
static inline const Otlp__AnyValue *check_service(const Otlp__Resource *resource)
{
    size_t i;

    for (i = 0; resource && i < resource->n_attributes; i++)
        if (strcmp(resource->attributes[i]->key, "service.name") == 0)
            return resource->attributes[i]->value;
    return NULL;
}

static inline bool check_sample_service(struct otlp_check *c, const Otlp__Sample *s,
                                        const Otlp__AnyValue *service)
{
    const Otlp__KeyValueAndUnit *a;
    size_t i;

    for (i = 0; i < s->n_attribute_indices; i++) {
        a = c->dictionary->attribute_table[s->attribute_indices[i]];
        if (strcmp(c->dictionary->string_table[a->key_strindex], "service.name") == 0)
            return check_same(&a->value->base, &service->base) ||
                   check_fail(c, "a sample is of another service than its resource");
    }
    return check_fail(c, "a sample has no service");
}

static inline bool check_services(struct otlp_check *c, const Otlp__ScopeProfiles *scope,
                                  const Otlp__AnyValue *service)
{
    size_t i, j;

    for (i = 0; service && i < scope->n_profiles; i++)
        for (j = 0; j < scope->profiles[i]->n_samples; j++)
            if (!check_sample_service(c, scope->profiles[i]->samples[j], service))
                return false;
    return true;
}

static inline bool check_resource(struct otlp_check *c, const Otlp__ResourceProfiles *resource)
{
    const Otlp__ScopeProfiles *scope;
    size_t i, j;

    if (resource->resource &&
        !check_pairs(c, resource->resource->attributes, resource->resource->n_attributes))
        return false;
    if (resource->n_scope_profiles == 0)
        return check_fail(c, "a resource has no scopes");
    for (i = 0; i < resource->n_scope_profiles; i++) {
        scope = resource->scope_profiles[i];
        if (!scope->scope || scope->scope->name[0] == '\0')
            return check_fail(c, "a scope has no name");
        if (scope->n_profiles == 0)
            return check_fail(c, "a scope has no profiles");
        for (j = 0; j < scope->n_profiles; j++)
            if (!check_profile(c, scope->profiles[j]))
                return false;
        if (!check_cpu_first(c, scope) ||
            !check_services(c, scope, check_service(resource->resource)))
            return false;
    }
    return true;
}

static inline bool check_all(struct otlp_check *c, const otlp_check_request *request)
{
    size_t i;

    if (!check_first_items(c) || !check_duplicates(c) || !check_texts(c) ||
        !check_attribute_table(c) || !check_function_table(c) || !check_location_table(c) ||
        !check_stack_table(c) || !check_link_table(c) || !check_mapping_table(c))
        return false;
    for (i = 0; i < request->n_resource_profiles; i++)
        if (!check_resource(c, request->resource_profiles[i]))
            return false;
    if (request->n_resource_profiles == 0)
        return check_fail(c, "the request has no profiles");
    return check_orphans(c);
}

/* True if the request keeps all rules; else `err` says which one it breaks. */
static inline bool otlp_check(const otlp_check_request *request, struct err *err)
{
    const Otlp__ProfilesDictionary *d = request->dictionary;
    struct otlp_check c = {.dictionary = d, .err = err};
    bool good;
    size_t i;

    if (!d)
        return check_fail(&c, "the dictionary is missing");
    c.counts[CHECK_MAPPINGS] = d->n_mapping_table;
    c.counts[CHECK_LOCATIONS] = d->n_location_table;
    c.counts[CHECK_FUNCTIONS] = d->n_function_table;
    c.counts[CHECK_LINKS] = d->n_link_table;
    c.counts[CHECK_STRINGS] = d->n_string_table;
    c.counts[CHECK_ATTRIBUTES] = d->n_attribute_table;
    c.counts[CHECK_STACKS] = d->n_stack_table;
    for (i = 0; i < CHECK_TABLES; i++) {
        c.used[i] = calloc(c.counts[i] + 1, sizeof(bool));
        if (!c.used[i])
            abort();
    }
    good = check_all(&c, request);
    for (i = 0; i < CHECK_TABLES; i++)
        free(c.used[i]);
    return good;
}

/* The same for packed bytes. */
static inline bool otlp_check_bytes(const void *bytes, size_t size, struct err *err)
{
    otlp_check_request *request = otlp__export_profiles_service_request__unpack(NULL, size, bytes);
    bool good;

    if (!request) {
        err_set(err, "the bytes are no request");
        return false;
    }
    good = otlp_check(request, err);
    otlp__export_profiles_service_request__free_unpacked(request, NULL);
    return good;
}

#endif

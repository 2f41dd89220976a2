/* SPDX-License-Identifier: Apache-2.0 */
/* push.c - knows what Pyroscope asks of labels, and the message that carries them. */
#include "exporters/push.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/protobuf_wire.h"
#include "exporters/http/client.h"
#include "exporters/http/text.h"
#include "exporters/push.pb-c.h"

enum { NAMED_MAX = 3 };

/* The name that Pyroscope's own SDKs give to CPU profiles; other types are named as they are. */
static const char *metric_name(const char *type)
{
    return strcmp(type, "cpu") == 0 ? "process_cpu" : type;
}

static char *copy_utf8_text(struct arena *arena, const char *str, size_t max)
{
    size_t size = strnlen(str, max);
    char *copy = arena_alloc(arena, size + 1);

    if (copy)
        text_utf8_copy(str, size, copy);
    return copy;
}

/* Servers that sanitize names make "_" of ".", and refuse a name that is there twice then. */
static bool is_same_name(const char *a, const char *b)
{
    while (*a && (*a == '.' ? '_' : *a) == (*b == '.' ? '_' : *b)) {
        a++;
        b++;
    }
    return *a == *b;
}

static bool has_push_label(const struct push_labels *labels, const char *name)
{
    for (size_t i = 0; i < labels->count; i++) {
        if (is_same_name(labels->items[i].name, name))
            return true;
    }
    return false;
}

static enum exporter_rc add_push_label(struct push_labels *labels, struct arena *arena,
                                       const char *name, const char *value)
{
    char *name_copy, *value_copy;

    name_copy = copy_utf8_text(arena, name, EXPORTER_LABEL_NAME_MAX);
    value_copy = copy_utf8_text(arena, value, EXPORTER_LABEL_VALUE_MAX);
    if (!name_copy || !value_copy)
        return EXPORTER_NOMEM;
    if (!has_push_label(labels, name_copy))
        labels->items[labels->count++] = (struct label){name_copy, value_copy};
    return EXPORTER_OK;
}

/* The server refuses the whole profile for an empty name and ignores empty values. */
static bool is_sendable(const struct label *label)
{
    return label->name && label->name[0] != '\0' && label->value && label->value[0] != '\0' &&
           strncmp(label->name, "__", 2) != 0 && strlen(label->name) <= EXPORTER_LABEL_NAME_MAX;
}

static int compare_label_names(const void *left, const void *right)
{
    const struct label *a = left, *b = right;

    return strcmp(a->name, b->name);
}

static enum exporter_rc collect_push_labels(const struct exporter_profile *profile,
                                            struct arena *arena, struct push_labels *labels)
{
    const char *service = profile->service && profile->service[0] ? profile->service : NULL;
    enum exporter_rc rc = add_push_label(labels, arena, "__name__", metric_name(profile->type));
    char name[EXPORTER_LABEL_NAME_MAX + 1];

    if (rc == EXPORTER_OK) /* an empty one is a 400; this is what the server calls it */
        rc = add_push_label(labels, arena, "service_name", service ? service : "unknown_service");
    for (size_t i = 0; rc == EXPORTER_OK && i < profile->label_count; i++) {
        if (!is_sendable(&profile->labels[i]))
            continue;
        (void)exporter_label_name(profile->labels[i].name, name);
        rc = add_push_label(labels, arena, name, profile->labels[i].value);
    }
    return rc;
}

enum exporter_rc push_labels(const struct exporter_profile *profile, struct arena *arena,
                             struct push_labels *out, struct err *err)
{
    struct push_labels labels = {0};
    enum exporter_rc rc;

    if (!profile->type || profile->type[0] == '\0') {
        err_set(err, "the profile has no type");
        return EXPORTER_REFUSED;
    }
    labels.items = arena_alloc(arena, (profile->label_count + 2) * sizeof(labels.items[0]));
    if (!labels.items)
        return EXPORTER_NOMEM;
    rc = collect_push_labels(profile, arena, &labels);
    if (rc != EXPORTER_OK)
        return rc;
    qsort(labels.items, labels.count, sizeof(labels.items[0]), compare_label_names);
    *out = labels;
    return EXPORTER_OK;
}

/* protobuf-c's messages have no const pointers, though packing only reads. */
static void *as_mutable(const void *pointer)
{
    union {
        const void *in;
        void *out;
    } both = {.in = pointer};

    return both.out;
}

static Push__V1__LabelPair **make_pairs(const struct push_labels *labels, struct arena *arena)
{
    Push__V1__LabelPair *pairs = arena_alloc(arena, labels->count * sizeof(*pairs));
    Push__V1__LabelPair **list = arena_alloc(arena, labels->count * sizeof(*list));

    if (!pairs || !list)
        return NULL;
    for (size_t i = 0; i < labels->count; i++) {
        push__v1__label_pair__init(&pairs[i]);
        pairs[i].name = as_mutable(labels->items[i].name);
        pairs[i].value = as_mutable(labels->items[i].value);
        list[i] = &pairs[i];
    }
    return list;
}

static enum exporter_rc pack_push_request(const Push__V1__PushRequest *request, struct buf *out)
{
    if (push__v1__push_request__get_packed_size(request) > out->max - out->size)
        return EXPORTER_REFUSED;
    wire_put_message(out, &request->base);
    return buf_failed(out) ? EXPORTER_NOMEM : EXPORTER_OK;
}

enum exporter_rc push_encode(const struct push_labels *labels, const char *id,
                             const struct exporter_profile *profile, struct arena *arena,
                             struct buf *out)
{
    Push__V1__PushRequest request = PUSH__V1__PUSH_REQUEST__INIT;
    Push__V1__RawProfileSeries series = PUSH__V1__RAW_PROFILE_SERIES__INIT;
    Push__V1__RawSample sample;
    Push__V1__RawProfileSeries *series_list = &series;
    Push__V1__RawSample *sample_list = &sample;

    push__v1__raw_sample__init(&sample); /* its macro casts a const away */
    sample.raw_profile.data = as_mutable(profile->bytes);
    sample.raw_profile.len = profile->size;
    sample.id = as_mutable(id);
    series.labels = make_pairs(labels, arena);
    if (!series.labels)
        return EXPORTER_NOMEM;
    series.n_labels = labels->count;
    series.samples = &sample_list;
    series.n_samples = 1;
    request.series = &series_list;
    request.n_series = 1;
    return pack_push_request(&request, out);
}

/* The number behind a mention of a profile; what is no index of the batch is passed over. */
static void add_mention(const char *at, const char *end, const struct batch *batch,
                        struct batch_set *set)
{
    size_t index = 0, digits = 0;

    while (at < end && *at >= '0' && *at <= '9' && digits++ < 4)
        index = index * 10 + (size_t)(*at++ - '0');
    if (digits > 0 && index < batch->count)
        batch_set_add(set, index);
}

/* "api cpu, web wall and 3 more" */
static void name_failed(const struct batch *batch, const struct exporter_answer *answer, char *out,
                        size_t size)
{
    size_t named = 0, used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < batch->count && named < NAMED_MAX && used < size; i++) {
        const struct exporter_profile *profile = &batch->profiles[i];

        if (!batch_set_has(&answer->failed, i))
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%.64s %.16s", named ? ", " : "",
                                 profile->service ? profile->service : "",
                                 profile->type ? profile->type : "");
        named++;
    }
    if (answer->failed_count > named && used < size)
        (void)snprintf(out + used, size - used, " and %zu more", answer->failed_count - named);
}

void push_failed(const void *reply, size_t size, const struct batch *batch,
                 struct exporter_answer *answer)
{
    static const char mention[] = "push series with index ";
    const char *at = reply, *end = at + size;
    struct batch_set failed = {{0}};
    char names[NAMED_MAX * 96 + 32], shown[sizeof(names) * 4];

    if (size >= HTTP_REPLY_MAX)
        return;
    while (at < end && (at = memmem(at, (size_t)(end - at), mention, sizeof(mention) - 1))) {
        at += sizeof(mention) - 1;
        add_mention(at, end, batch, &failed);
    }
    answer->failed = failed;
    answer->failed_count = batch_set_count(&failed);
    if (answer->failed_count == 0)
        return;
    name_failed(batch, answer, names, sizeof(names));
    (void)text_printable(names, strlen(names), shown, sizeof(shown));
    err_within(&answer->err, "%zu of %zu profiles (%s)", answer->failed_count, batch->count, shown);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c - see payload.h. */
#include "agent/delivery/payload.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PAYLOAD_LABELS_MAX = 1024 };

struct payload {
    atomic_size_t references;
    size_t bytes; /* of the whole allocation */
    struct exporter_profile profile;
    alignas(struct label) unsigned char data[]; /* labels, then texts, then the bytes */
};

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* The room that a copy needs; 0: no profile has so much. */
static size_t measure(const struct exporter_profile *profile)
{
    size_t size = text_size(profile->service) + text_size(profile->type);

    if (profile->label_count > PAYLOAD_LABELS_MAX || profile->size > SIZE_MAX / 4)
        return 0;
    for (size_t i = 0; i < profile->label_count; i++) {
        size += text_size(profile->labels[i].name) + text_size(profile->labels[i].value);
        size += sizeof(profile->labels[0]);
    }
    return sizeof(struct payload) + size + profile->size;
}

static const char *copy_payload_text(unsigned char **at, const char *text)
{
    size_t size = text_size(text);
    const char *copy = (const char *)*at;

    if (!text)
        return NULL;
    memcpy(*at, text, size);
    *at += size;
    return copy;
}

static void fill_payload(struct payload *payload, const struct exporter_profile *profile)
{
    struct label *labels = (struct label *)(void *)payload->data;
    unsigned char *at = payload->data + profile->label_count * sizeof(labels[0]);

    payload->profile = *profile;
    payload->profile.labels = labels;
    payload->profile.service = copy_payload_text(&at, profile->service);
    payload->profile.type = copy_payload_text(&at, profile->type);
    for (size_t i = 0; i < profile->label_count; i++) {
        labels[i].name = copy_payload_text(&at, profile->labels[i].name);
        labels[i].value = copy_payload_text(&at, profile->labels[i].value);
    }
    if (profile->size > 0)
        memcpy(at, profile->bytes, profile->size);
    payload->profile.bytes = at;
}

struct payload *payload_new(const struct exporter_profile *profile)
{
    size_t bytes = measure(profile);
    struct payload *payload = bytes > 0 ? malloc(bytes) : NULL;

    if (!payload)
        return NULL;
    atomic_init(&payload->references, 1);
    payload->bytes = bytes;
    fill_payload(payload, profile);
    return payload;
}

struct payload *payload_ref(struct payload *payload)
{
    (void)atomic_fetch_add(&payload->references, 1);
    return payload;
}

void payload_unref(struct payload *payload)
{
    if (payload && atomic_fetch_sub(&payload->references, 1) == 1)
        free(payload);
}

const struct exporter_profile *payload_profile(const struct payload *payload)
{
    return &payload->profile;
}

size_t payload_bytes(const struct payload *payload)
{
    return payload->bytes;
}

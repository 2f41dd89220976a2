/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c - see payload.h. */
#include "agent/delivery/payload.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PARCEL_LABELS_MAX = 1024 };

struct delivery_parcel {
    atomic_size_t references;
    size_t bytes; /* of the whole allocation */
    struct exporter_profile profile;
    alignas(struct exporter_label) unsigned char data[]; /* labels, then texts, then the bytes */
};

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* The room that a copy needs; 0: no profile has so much. */
static size_t measure(const struct exporter_profile *profile)
{
    size_t size = text_size(profile->service) + text_size(profile->type);

    if (profile->label_count > PARCEL_LABELS_MAX || profile->size > SIZE_MAX / 4)
        return 0;
    for (size_t i = 0; i < profile->label_count; i++) {
        size += text_size(profile->labels[i].name) + text_size(profile->labels[i].value);
        size += sizeof(profile->labels[0]);
    }
    return sizeof(struct delivery_parcel) + size + profile->size;
}

static const char *copy_text(unsigned char **at, const char *text)
{
    size_t size = text_size(text);
    const char *copy = (const char *)*at;

    if (!text)
        return NULL;
    memcpy(*at, text, size);
    *at += size;
    return copy;
}

static void fill(struct delivery_parcel *parcel, const struct exporter_profile *profile)
{
    struct exporter_label *labels = (struct exporter_label *)(void *)parcel->data;
    unsigned char *at = parcel->data + profile->label_count * sizeof(labels[0]);

    parcel->profile = *profile;
    parcel->profile.labels = labels;
    parcel->profile.service = copy_text(&at, profile->service);
    parcel->profile.type = copy_text(&at, profile->type);
    for (size_t i = 0; i < profile->label_count; i++) {
        labels[i].name = copy_text(&at, profile->labels[i].name);
        labels[i].value = copy_text(&at, profile->labels[i].value);
    }
    if (profile->size > 0)
        memcpy(at, profile->bytes, profile->size);
    parcel->profile.bytes = at;
}

struct delivery_parcel *delivery_parcel_new(const struct exporter_profile *profile)
{
    size_t bytes = measure(profile);
    struct delivery_parcel *parcel = bytes > 0 ? malloc(bytes) : NULL;

    if (!parcel)
        return NULL;
    atomic_init(&parcel->references, 1);
    parcel->bytes = bytes;
    fill(parcel, profile);
    return parcel;
}

struct delivery_parcel *delivery_parcel_keep(struct delivery_parcel *parcel)
{
    (void)atomic_fetch_add(&parcel->references, 1);
    return parcel;
}

void delivery_parcel_drop(struct delivery_parcel *parcel)
{
    if (parcel && atomic_fetch_sub(&parcel->references, 1) == 1)
        free(parcel);
}

const struct exporter_profile *delivery_parcel_profile(const struct delivery_parcel *parcel)
{
    return &parcel->profile;
}

size_t delivery_parcel_bytes(const struct delivery_parcel *parcel)
{
    return parcel->bytes;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_queue.c - see delivery_queue.h. */
#include "agent/delivery_queue.h"

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

void delivery_parcel_drop(struct delivery_parcel *parcel)
{
    if (parcel && atomic_fetch_sub(&parcel->references, 1) == 1)
        free(parcel);
}

const struct exporter_profile *delivery_parcel_profile(const struct delivery_parcel *parcel)
{
    return &parcel->profile;
}

struct delivery_item *delivery_item_new(struct delivery_parcel *parcel, uint64_t order)
{
    struct delivery_item *item = malloc(sizeof(*item));

    if (!item)
        return NULL;
    *item = (struct delivery_item){.parcel = parcel, .order = order, .bytes = parcel->bytes};
    (void)atomic_fetch_add(&parcel->references, 1);
    return item;
}

void delivery_item_free(struct delivery_item *item)
{
    if (!item)
        return;
    delivery_parcel_drop(item->parcel);
    free(item);
}

/* Takes the item that *link points to out of the list. */
static struct delivery_item *unlink_item(struct delivery_queue *queue, struct delivery_item **link)
{
    struct delivery_item *item = *link; /* never NULL: the callers have looked */

    *link = item->next; /* NOLINT(clang-analyzer-core.NullDereference) */
    item->next = NULL;
    queue->count--;
    queue->bytes -= item->bytes;
    return item;
}

size_t delivery_queue_add(struct delivery_queue *queue, struct delivery_item *item)
{
    struct delivery_item **link = &queue->first;
    size_t dropped = 0;

    if (item->bytes > queue->bytes_max) {
        delivery_item_free(item);
        return 1;
    }
    while (*link && (*link)->order < item->order)
        link = &(*link)->next;
    item->next = *link;
    *link = item;
    queue->count++;
    queue->bytes += item->bytes;
    while (queue->count > queue->count_max || queue->bytes > queue->bytes_max) {
        delivery_item_free(unlink_item(queue, &queue->first));
        dropped++;
    }
    return dropped;
}

struct delivery_item *delivery_queue_take(struct delivery_queue *queue, uint64_t now_ns,
                                          uint64_t *due_ns)
{
    struct delivery_item **best = NULL;

    *due_ns = UINT64_MAX;
    for (struct delivery_item **link = &queue->first; *link; link = &(*link)->next) {
        if ((*link)->not_before_ns < *due_ns)
            *due_ns = (*link)->not_before_ns;
        if ((*link)->not_before_ns <= now_ns && (!best || (*link)->tries < (*best)->tries))
            best = link;
    }
    return best ? unlink_item(queue, best) : NULL;
}

size_t delivery_queue_drop(struct delivery_queue *queue,
                           bool (*is_over)(const struct delivery_item *item, const void *ctx),
                           const void *ctx)
{
    struct delivery_item **link = &queue->first;
    size_t dropped = 0;

    while (*link) {
        if (is_over(*link, ctx)) {
            delivery_item_free(unlink_item(queue, link));
            dropped++;
        } else {
            link = &(*link)->next;
        }
    }
    return dropped;
}

void delivery_queue_hurry(struct delivery_queue *queue)
{
    for (struct delivery_item *item = queue->first; item; item = item->next)
        item->not_before_ns = 0;
}

size_t delivery_queue_clear(struct delivery_queue *queue)
{
    size_t dropped = queue->count;

    while (queue->first)
        delivery_item_free(unlink_item(queue, &queue->first));
    return dropped;
}

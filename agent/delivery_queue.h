/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_queue.h - copies of profiles, and a bounded queue of them.
 *
 * Shape:   parcel_new makes the copy, item_new puts it into one exporter's hands,
 *          queue_add and queue_take pass the items through.
 * Threads: a parcel is shared and only read; items and queues belong to whoever
 *          holds their lane's lock.
 */
#ifndef AGENT_DELIVERY_QUEUE_H
#define AGENT_DELIVERY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/exporter.h"

struct delivery_parcel; /* private: a profile and all it points to, counted references */

/* Gives: a copy of `profile` with one reference; NULL: out of memory. */
struct delivery_parcel *delivery_parcel_new(const struct exporter_profile *profile);

/* Gives back one reference. NULL is fine. */
void delivery_parcel_drop(struct delivery_parcel *parcel);

/* What was copied. Lends it while there is a reference. */
const struct exporter_profile *delivery_parcel_profile(const struct delivery_parcel *parcel);

struct delivery_item {
    struct delivery_item *next;     /* borrowed: in its queue */
    struct delivery_parcel *parcel; /* owned: one reference */
    uint64_t order;                 /* of its coming */
    size_t bytes;                   /* of the parcel */
    unsigned tries;                 /* that failed */
    uint64_t first_ns;              /* the first try; of no meaning while tries is 0 */
    uint64_t not_before_ns;         /* the next try */
};

/* Gives: an item with a reference of its own to `parcel`; NULL: out of memory. */
struct delivery_item *delivery_item_new(struct delivery_parcel *parcel, uint64_t order);

/* Ends an item. NULL is fine. */
void delivery_item_free(struct delivery_item *item);

/* From the oldest to the newest. */
struct delivery_queue {
    struct delivery_item *first; /* owned list */
    size_t count, bytes;         /* of the list */
    size_t count_max, bytes_max;
};

/*
 * Adds an item by its order.
 *
 * Gives: the item to the queue. Returns how many were dropped for it: the oldest,
 *        or the item itself if it is too large for any queue or is the oldest.
 */
size_t delivery_queue_add(struct delivery_queue *queue, struct delivery_item *item);

/*
 * Takes the least tried of the items that are due, the oldest of those.
 *
 * Gives: the item, or NULL and in *due_ns when the first will be; UINT64_MAX: the
 *        queue is empty.
 */
struct delivery_item *delivery_queue_take(struct delivery_queue *queue, uint64_t now_ns,
                                          uint64_t *due_ns);

/* Drops the items that `is_over` is true for. Returns how many. */
size_t delivery_queue_drop(struct delivery_queue *queue,
                           bool (*is_over)(const struct delivery_item *item, const void *ctx),
                           const void *ctx);

/* Makes all items due at once. */
void delivery_queue_hurry(struct delivery_queue *queue);

/* Drops all. Returns how many. */
size_t delivery_queue_clear(struct delivery_queue *queue);

#endif

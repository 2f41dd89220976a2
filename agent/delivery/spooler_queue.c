/* SPDX-License-Identifier: Apache-2.0 */
/* spooler_queue.c - what waits for the disk, and goes past it when it does not answer. */
#include <stdlib.h>

#include "agent/delivery/spooler_internal.h"

enum {
    PENDING_MAX = 1024,           /* that wait for the disk; then the disk is taken to hang */
    PENDING_BYTES_MAX = 32 << 20, /* of those */
};

void shelf_give_parcel(struct shelf *shelf, const struct pending *node)
{
    for (size_t i = 0; i < shelf->lane_count; i++) {
        struct delivery_item item = {
            .order = node->order,
            .born_ns = node->born_ns,
            .put_ns = node->put_ns,
        };

        if (lane_form(shelf->lanes[i]) != node->form)
            continue;
        item.parcel = delivery_parcel_keep(node->parcel);
        lane_put(shelf->lanes[i], &item);
    }
}

uint16_t shelf_give_entry(struct shelf *shelf, const struct pending *node,
                          const struct shelf_owers *owers)
{
    uint16_t given = 0;

    for (size_t bit = 0; bit < owers->count; bit++) {
        const struct delivery_item item = {
            .order = node->order,
            .born_ns = node->born_ns,
            .put_ns = node->put_ns,
            .bit = (unsigned char)bit,
        };

        for (size_t i = 0; i < shelf->lane_count; i++) {
            if (lane_id(shelf->lanes[i]) != owers->ids[bit])
                continue;
            lane_put(shelf->lanes[i], &item);
            given |= (uint16_t)(1U << bit);
        }
    }
    return given;
}

void shelf_free_pending(struct pending *node)
{
    delivery_parcel_drop(node->parcel);
    free(node);
}

struct pending *shelf_pop(struct shelf *shelf)
{
    struct pending *node = shelf->first;

    shelf->first = node->next;
    if (!shelf->first)
        shelf->last = &shelf->first;
    node->next = NULL;
    shelf->pending--;
    shelf->pending_bytes -= delivery_parcel_bytes(node->parcel);
    return node;
}

void shelf_number(struct shelf *shelf, struct pending *node)
{
    if (node->order == 0)
        node->order = shelf->next_order++;
}

struct pending *shelf_give_up(struct shelf *shelf, struct pending *under_way)
{
    struct pending *node = shelf->first, *all = NULL, **last = &all;

    under_way->parcel = NULL;
    if (shelf->under_way && node) {
        if (!node->handed) {
            node->handed = true;
            *under_way = *node;
            (void)delivery_parcel_keep(node->parcel);
            shelf->stats.in_memory++;
        }
        node = node->next;
        shelf->first->next = NULL;
        shelf->last = &shelf->first->next;
    } else {
        shelf->first = NULL;
        shelf->last = &shelf->first;
    }
    for (*last = node; *last; last = &(*last)->next) {
        shelf_number(shelf, *last);
        shelf->pending--;
        shelf->pending_bytes -= delivery_parcel_bytes((*last)->parcel);
        shelf->stats.in_memory++;
    }
    return all;
}

void shelf_hand_over(struct shelf *shelf, struct pending *all, const struct pending *under_way)
{
    if (under_way->parcel) {
        shelf_give_parcel(shelf, under_way);
        delivery_parcel_drop(under_way->parcel);
    }
    while (all) {
        struct pending *node = all;

        all = node->next;
        shelf_give_parcel(shelf, node);
        shelf_free_pending(node);
    }
}

/* True if the disk has had its time, or there is no room to wait for it. */
static bool is_stuck(const struct shelf *shelf)
{
    return shelf->pending > PENDING_MAX || shelf->pending_bytes > PENDING_BYTES_MAX ||
           (shelf->under_way && shelf_now(shelf) - shelf->since_ns > shelf->settings.patience_ns);
}

/* The thread cannot say so itself. True: it is time to. Called with the lock. */
static bool note_stuck(struct shelf *shelf, struct err *err)
{
    uint64_t now_ns = shelf_now(shelf);

    err_set(err, "%s: the disk does not answer", shelf->settings.path);
    shelf->stats.failing = true;
    shelf->stats.last_error = *err;
    if (shelf->stuck_ns != 0 && now_ns - shelf->stuck_ns < shelf->settings.log_every_ns)
        return false;
    shelf->stuck_ns = now_ns;
    return true;
}

bool shelf_put(struct shelf *shelf, enum exporter_form form, struct delivery_parcel *parcel)
{
    struct pending *node = calloc(1, sizeof(*node)), *all = NULL, under_way = {0};
    const struct exporter_profile *profile = delivery_parcel_profile(parcel);
    bool said = true;
    struct err err;

    if (!node)
        return false;
    *node = (struct pending){.parcel = delivery_parcel_keep(parcel), .form = form};
    node->put_ns = shelf_now(shelf);
    node->born_ns = delivery_born_ns(node->put_ns, profile->start_ns, profile->end_ns);
    (void)pthread_mutex_lock(&shelf->lock);
    *shelf->last = node;
    shelf->last = &node->next;
    shelf->pending++;
    shelf->pending_bytes += delivery_parcel_bytes(parcel);
    if (is_stuck(shelf)) {
        said = !note_stuck(shelf, &err);
        all = shelf_give_up(shelf, &under_way);
    }
    (void)pthread_cond_signal(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
    shelf_hand_over(shelf, all, &under_way);
    if (!said)
        shelf_talk_stuck(&shelf->world, &err);
    return true;
}

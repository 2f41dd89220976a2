/* SPDX-License-Identifier: Apache-2.0 */
/* spooler_queue.c - what waits for the disk, and goes past it when it does not answer. */
#include <stdlib.h>

#include "agent/delivery/spooler_internal.h"

enum {
    PENDING_MAX = 1024,           /* that wait for the disk; then the disk is taken to hang */
    PENDING_BYTES_MAX = 32 << 20, /* of those */
};

void spooler_give_payload(struct spooler *spooler, const struct pending *node)
{
    for (size_t i = 0; i < spooler->export_worker_count; i++) {
        struct delivery_item item = {
            .order = node->order,
            .born_ns = node->born_ns,
            .put_ns = node->put_ns,
        };

        if (export_worker_form(spooler->workers[i]) != node->form)
            continue;
        item.payload = payload_ref(node->payload);
        export_worker_put(spooler->workers[i], &item);
    }
}

uint16_t spooler_give_entry(struct spooler *spooler, const struct pending *node,
                            const struct spooler_pending_exporters *owers)
{
    uint16_t given = 0;

    for (size_t bit = 0; bit < owers->count; bit++) {
        const struct delivery_item item = {
            .order = node->order,
            .born_ns = node->born_ns,
            .put_ns = node->put_ns,
            .bit = (unsigned char)bit,
        };

        for (size_t i = 0; i < spooler->export_worker_count; i++) {
            if (export_worker_id(spooler->workers[i]) != owers->ids[bit])
                continue;
            export_worker_put(spooler->workers[i], &item);
            given |= (uint16_t)(1U << bit);
        }
    }
    return given;
}

void spooler_free_pending(struct pending *node)
{
    payload_unref(node->payload);
    free(node);
}

struct pending *spooler_pop(struct spooler *spooler)
{
    struct pending *node = spooler->first;

    spooler->first = node->next;
    if (!spooler->first)
        spooler->last = &spooler->first;
    node->next = NULL;
    spooler->pending--;
    spooler->pending_bytes -= payload_bytes(node->payload);
    return node;
}

void spooler_number(struct spooler *spooler, struct pending *node)
{
    if (node->order == 0)
        node->order = spooler->next_order++;
}

struct pending *spooler_give_up(struct spooler *spooler, struct pending *under_way)
{
    struct pending *node = spooler->first, *all = NULL, **last = &all;

    under_way->payload = NULL;
    if (spooler->under_way && node) {
        if (!node->handed) {
            node->handed = true;
            *under_way = *node;
            (void)payload_ref(node->payload);
            spooler->stats.in_memory++;
        }
        node = node->next;
        spooler->first->next = NULL;
        spooler->last = &spooler->first->next;
    } else {
        spooler->first = NULL;
        spooler->last = &spooler->first;
    }
    for (*last = node; *last; last = &(*last)->next) {
        spooler_number(spooler, *last);
        spooler->pending--;
        spooler->pending_bytes -= payload_bytes((*last)->payload);
        spooler->stats.in_memory++;
    }
    return all;
}

void spooler_hand_over(struct spooler *spooler, struct pending *all,
                       const struct pending *under_way)
{
    if (under_way->payload) {
        spooler_give_payload(spooler, under_way);
        payload_unref(under_way->payload);
    }
    while (all) {
        struct pending *node = all;

        all = node->next;
        spooler_give_payload(spooler, node);
        spooler_free_pending(node);
    }
}

/* True if the disk has had its time, or there is no room to wait for it. */
static bool is_stuck(const struct spooler *spooler)
{
    return spooler->pending > PENDING_MAX || spooler->pending_bytes > PENDING_BYTES_MAX ||
           (spooler->under_way &&
            spooler_now(spooler) - spooler->since_ns > spooler->settings.patience_ns);
}

/* The thread cannot say so itself. True: it is time to. Called with the lock. */
static bool note_stuck(struct spooler *spooler, struct err *err)
{
    uint64_t now_ns = spooler_now(spooler);

    err_set(err, "%s: the disk does not answer", spooler->settings.path);
    spooler->stats.failing = true;
    spooler->stats.last_error = *err;
    if (spooler->stuck_ns != 0 && now_ns - spooler->stuck_ns < spooler->settings.log_every_ns)
        return false;
    spooler->stuck_ns = now_ns;
    return true;
}

bool spooler_put(struct spooler *spooler, enum exporter_form form, struct payload *payload)
{
    struct pending *node = calloc(1, sizeof(*node)), *all = NULL, under_way = {0};
    const struct exporter_profile *profile = payload_profile(payload);
    bool said = true;
    struct err err;

    if (!node)
        return false;
    *node = (struct pending){.payload = payload_ref(payload), .form = form};
    node->put_ns = spooler_now(spooler);
    node->born_ns = delivery_born_ns(node->put_ns, profile->start_ns, profile->end_ns);
    (void)pthread_mutex_lock(&spooler->lock);
    *spooler->last = node;
    spooler->last = &node->next;
    spooler->pending++;
    spooler->pending_bytes += payload_bytes(payload);
    if (is_stuck(spooler)) {
        said = !note_stuck(spooler, &err);
        all = spooler_give_up(spooler, &under_way);
    }
    (void)pthread_cond_signal(&spooler->changed);
    (void)pthread_mutex_unlock(&spooler->lock);
    spooler_hand_over(spooler, all, &under_way);
    if (!said)
        spooler_talk_stuck(&spooler->world, &err);
    return true;
}

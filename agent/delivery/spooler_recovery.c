/* SPDX-License-Identifier: Apache-2.0 */
/* spooler_recovery.c - takes up what an earlier run left in the spool. */
#include <string.h>

#include "agent/delivery/spooler_internal.h"

/* Of those who owe an entry, the ones that are configured still are given it. */
static uint16_t give_found(struct shelf *shelf, const struct delivery_entry *entry,
                           const struct spool_head *head)
{
    uint16_t known = 0;

    if (!shelf_begin_giving(shelf))
        return entry->owed;
    for (unsigned bit = 0; bit < head->ower_count; bit++) {
        struct delivery_item item = {
            .order = entry->order, .born_ns = entry->born_ns, .bit = (unsigned char)bit};

        for (size_t i = 0; (entry->owed >> bit & 1) != 0 && i < shelf->lane_count; i++) {
            if (strcmp(lane_name(shelf->lanes[i]), head->owers[bit]) != 0 ||
                (unsigned)lane_form(shelf->lanes[i]) != head->form)
                continue;
            lane_put(shelf->lanes[i], &item);
            known |= (uint16_t)(1U << bit);
            break;
        }
    }
    shelf_end_giving(shelf);
    return known;
}

/* Puts an entry into the index and gives it. SPOOL_CORRUPT: another one has its number. */
static enum spool_rc take_in(struct shelf *shelf, const struct spool_item *found,
                             const struct spool_head *head)
{
    int64_t utc_ns = shelf->world.utc_ns(shelf->world.ctx);
    const struct delivery_entry entry = {
        .order = found->name.order,
        .born_ns = delivery_born_ns(shelf_now(shelf), head->profile.start_ns, utc_ns),
        .kib = (uint32_t)(found->size / KIB),
        .on_disk = found->name.owed,
        .owed = found->name.owed,
    };
    struct delivery_entry *kept;
    enum spool_rc rc = SPOOL_CORRUPT;
    uint16_t known;

    (void)pthread_mutex_lock(&shelf->lock);
    if (!delivery_index_find(&shelf->index, entry.order))
        rc = delivery_index_add(&shelf->index, &entry) ? SPOOL_OK : SPOOL_NOMEM;
    (void)pthread_mutex_unlock(&shelf->lock);
    if (rc != SPOOL_OK)
        return rc;
    known = give_found(shelf, &entry, head);
    (void)pthread_mutex_lock(&shelf->lock);
    kept = delivery_index_find(&shelf->index, entry.order);
    if (kept)
        delivery_index_set(&shelf->index, kept, kept->owed & known, kept->bad);
    shelf->stats.dropped_unknown += known == 0 ? 1 : 0;
    shelf->stats.found += known != 0 ? 1 : 0;
    (void)pthread_mutex_unlock(&shelf->lock);
    return rc;
}

/*
 * Takes up an entry that an earlier run left. The order in which all are met is theirs. What
 * cannot be read now, as there are no descriptors or no memory, stays for the next run.
 */
static void take_up(struct shelf *shelf, const struct spool_item *found)
{
    struct spool_held held;
    struct err err;
    enum spool_rc rc = spool_look(shelf->spool, &found->name, &held, &err);

    if (rc == SPOOL_OK) {
        rc = take_in(shelf, found, &held.head);
        spool_let_go(&held);
    }
    if (rc != SPOOL_CORRUPT && rc != SPOOL_NEWER)
        return;
    spool_set_aside(shelf->spool, &found->name);
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->stats.bad++;
    (void)pthread_mutex_unlock(&shelf->lock);
}

static bool is_stopped(struct shelf *shelf)
{
    bool stopped;

    (void)pthread_mutex_lock(&shelf->lock);
    stopped = shelf->mode == SHELF_STOPPED;
    (void)pthread_mutex_unlock(&shelf->lock);
    return stopped;
}

/* Reads what an earlier run left. */
static bool list(struct shelf *shelf, struct err *err)
{
    struct spool_list found;
    uint64_t dropped = 0;
    size_t i = 0;

    if (spool_list(shelf->spool, &found, err) != SPOOL_OK)
        return false;
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->stats.bad += found.bad;
    if (found.count > 0 && found.items[found.count - 1].name.order >= shelf->next_order)
        shelf->next_order = found.items[found.count - 1].name.order + 1;
    (void)pthread_mutex_unlock(&shelf->lock);
    for (; found.count - i > DELIVERY_INDEX_MAX; i++) {
        if (spool_set_owed(shelf->spool, &found.items[i].name, 0, err) == SPOOL_OK)
            dropped++;
    }
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->stats.dropped_size += dropped;
    (void)pthread_mutex_unlock(&shelf->lock);
    for (; i < found.count && !is_stopped(shelf); i++)
        take_up(shelf, &found.items[i]);
    spool_list_finish(&found);
    return true;
}

void shelf_open_spool(struct shelf *shelf)
{
    enum spool_rc rc = SPOOL_OK;
    struct err err = {""};
    bool good;

    if (shelf_now(shelf) < shelf->open_ns)
        return;
    if (!shelf->spool)
        rc = spool_open(shelf->settings.path, true, &shelf->spool, &err);
    if (rc == SPOOL_LOCKED && shelf->settings.held)
        err_set(&err, "%s: a write from before the settings changed has the spool still",
                shelf->settings.path);
    good = rc == SPOOL_OK && list(shelf, &err);
    shelf->listed = good;
    shelf->open_ns = shelf_now(shelf) + RETRY_EVERY_NS;
    shelf_tell(shelf, good ? NULL : &err);
}

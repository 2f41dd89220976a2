/* SPDX-License-Identifier: Apache-2.0 */
/* spooler_recovery.c - takes up what an earlier run left in the spool. */
#include <string.h>

#include "agent/delivery/spooler_internal.h"

/* Of those who owe an entry, the ones that are configured still are given it. */
static uint16_t give_found(struct spooler *spooler, const struct delivery_entry *entry,
                           const struct spool_head *head)
{
    uint16_t known = 0;

    if (!spooler_begin_giving(spooler))
        return entry->owed;
    for (unsigned bit = 0; bit < head->ower_count; bit++) {
        struct delivery_item item = {
            .order = entry->order, .born_ns = entry->born_ns, .bit = (unsigned char)bit};

        for (size_t i = 0; (entry->owed >> bit & 1) != 0 && i < spooler->export_worker_count; i++) {
            if (strcmp(export_worker_name(spooler->workers[i]), head->owers[bit]) != 0 ||
                (unsigned)export_worker_form(spooler->workers[i]) != head->form)
                continue;
            export_worker_put(spooler->workers[i], &item);
            known |= (uint16_t)(1U << bit);
            break;
        }
    }
    spooler_end_giving(spooler);
    return known;
}

/* Puts an entry into the index and gives it. SPOOL_CORRUPT: another one has its number. */
static enum spool_rc take_in(struct spooler *spooler, const struct spool_item *found,
                             const struct spool_head *head)
{
    int64_t utc_ns = spooler->world.utc_ns(spooler->world.ctx);
    const struct delivery_entry entry = {
        .order = found->name.order,
        .born_ns = delivery_born_ns(spooler_now(spooler), head->profile.start_ns, utc_ns),
        .kib = (uint32_t)(found->size / KIB),
        .on_disk = found->name.owed,
        .owed = found->name.owed,
    };
    struct delivery_entry *kept;
    enum spool_rc rc = SPOOL_CORRUPT;
    uint16_t known;

    (void)pthread_mutex_lock(&spooler->lock);
    if (!delivery_index_find(&spooler->index, entry.order))
        rc = delivery_index_add(&spooler->index, &entry) ? SPOOL_OK : SPOOL_NOMEM;
    (void)pthread_mutex_unlock(&spooler->lock);
    if (rc != SPOOL_OK)
        return rc;
    known = give_found(spooler, &entry, head);
    (void)pthread_mutex_lock(&spooler->lock);
    kept = delivery_index_find(&spooler->index, entry.order);
    if (kept)
        delivery_index_set(&spooler->index, kept, kept->owed & known, kept->bad);
    spooler->stats.dropped_unknown += known == 0 ? 1 : 0;
    spooler->stats.found += known != 0 ? 1 : 0;
    (void)pthread_mutex_unlock(&spooler->lock);
    return rc;
}

/*
 * Takes up an entry that an earlier run left. The order in which all are met is theirs. What
 * cannot be read now, as there are no descriptors or no memory, stays for the next run.
 */
static void take_up(struct spooler *spooler, const struct spool_item *found)
{
    struct spool_held held;
    struct err err;
    enum spool_rc rc = spool_look(spooler->spool, &found->name, &held, &err);

    if (rc == SPOOL_OK) {
        rc = take_in(spooler, found, &held.head);
        spool_let_go(&held);
    }
    if (rc != SPOOL_CORRUPT && rc != SPOOL_NEWER)
        return;
    spool_set_aside(spooler->spool, &found->name);
    (void)pthread_mutex_lock(&spooler->lock);
    spooler->stats.bad++;
    (void)pthread_mutex_unlock(&spooler->lock);
}

static bool is_spooler_stopped(struct spooler *spooler)
{
    bool stopped;

    (void)pthread_mutex_lock(&spooler->lock);
    stopped = spooler->mode == SPOOLER_STOPPED;
    (void)pthread_mutex_unlock(&spooler->lock);
    return stopped;
}

/* Reads what an earlier run left. */
static bool list_recovered_items(struct spooler *spooler, struct err *err)
{
    struct spool_list found;
    uint64_t dropped = 0;
    size_t i = 0;

    if (spool_list(spooler->spool, &found, err) != SPOOL_OK)
        return false;
    (void)pthread_mutex_lock(&spooler->lock);
    spooler->stats.bad += found.bad;
    if (found.count > 0 && found.items[found.count - 1].name.order >= spooler->next_order)
        spooler->next_order = found.items[found.count - 1].name.order + 1;
    (void)pthread_mutex_unlock(&spooler->lock);
    for (; found.count - i > DELIVERY_INDEX_MAX; i++) {
        if (spool_set_owed(spooler->spool, &found.items[i].name, 0, err) == SPOOL_OK)
            dropped++;
    }
    (void)pthread_mutex_lock(&spooler->lock);
    spooler->stats.dropped_size += dropped;
    (void)pthread_mutex_unlock(&spooler->lock);
    for (; i < found.count && !is_spooler_stopped(spooler); i++)
        take_up(spooler, &found.items[i]);
    spool_list_finish(&found);
    return true;
}

void spooler_open_spool(struct spooler *spooler)
{
    enum spool_rc rc = SPOOL_OK;
    struct err err = {""};
    bool good;

    if (spooler_now(spooler) < spooler->open_ns)
        return;
    if (!spooler->spool)
        rc = spool_open(spooler->settings.path, true, &spooler->spool, &err);
    if (rc == SPOOL_LOCKED && spooler->settings.held)
        err_set(&err, "%s: a write from before the settings changed has the spool still",
                spooler->settings.path);
    good = rc == SPOOL_OK && list_recovered_items(spooler, &err);
    spooler->listed = good;
    spooler->open_ns = spooler_now(spooler) + RETRY_EVERY_NS;
    spooler_tell(spooler, good ? NULL : &err);
}

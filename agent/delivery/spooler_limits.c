/* SPDX-License-Identifier: Apache-2.0 */
/* spooler_limits.c - knows which entries go to make room for others, and when. */
#include <inttypes.h>

#include "agent/delivery/spooler_internal.h"

/* Removes the oldest entry. False: there is none, or it cannot be removed. */
static bool evict(struct spooler *spooler, uint64_t *counter)
{
    struct delivery_entry *oldest;
    struct spool_name name;
    enum spool_rc rc;
    struct err err;
    bool owed;

    (void)pthread_mutex_lock(&spooler->lock);
    oldest = delivery_index_oldest(&spooler->index);
    owed = oldest && oldest->owed != 0; /* else it is done anyway */
    if (oldest)
        oldest->going = true;
    name = (struct spool_name){oldest ? oldest->order : 0, oldest ? oldest->on_disk : 0};
    (void)pthread_mutex_unlock(&spooler->lock);
    if (name.order == 0)
        return false;
    rc = spool_set_owed(spooler->spool, &name, 0, &err);
    (void)pthread_mutex_lock(&spooler->lock);
    oldest = delivery_index_find(&spooler->index, name.order); /* there still: only we remove */
    if (rc == SPOOL_FAILED && oldest)
        oldest->going = false;
    if (rc != SPOOL_FAILED && oldest) {
        delivery_index_remove(&spooler->index, oldest);
        spooler->evicted = name.order;
        *counter += owed ? 1 : 0;
    }
    (void)pthread_mutex_unlock(&spooler->lock);
    if (rc == SPOOL_FAILED || !spooler_begin_giving(spooler))
        return rc != SPOOL_FAILED;
    for (size_t i = 0; i < spooler->export_worker_count; i++)
        export_worker_gone(spooler->workers[i], name.order);
    spooler_end_giving(spooler);
    return true;
}

static bool is_oldest_entry_expired(struct spooler *spooler)
{
    uint64_t now_ns = spooler_now(spooler);
    const struct delivery_entry *oldest;
    bool old;

    (void)pthread_mutex_lock(&spooler->lock);
    oldest = delivery_index_oldest(&spooler->index);
    old = oldest && spooler->settings.max_age_ns > 0 &&
          (int64_t)now_ns - oldest->born_ns > (int64_t)spooler->settings.max_age_ns;
    (void)pthread_mutex_unlock(&spooler->lock);
    return old;
}

static bool is_spool_full_for(struct spooler *spooler, uint64_t size)
{
    bool full;

    (void)pthread_mutex_lock(&spooler->lock);
    full = spooler->index.count >= DELIVERY_INDEX_MAX ||
           spooler->index.bytes + size > spooler->settings.max_size_bytes;
    (void)pthread_mutex_unlock(&spooler->lock);
    return full;
}

static bool leaves_too_little(const struct spooler *spooler, uint64_t size)
{
    uint64_t left;

    return spooler->settings.min_free_bytes > 0 && spool_free_bytes(spooler->spool, &left) &&
           left < spooler->settings.min_free_bytes + size;
}

bool spooler_drop_old(struct spooler *spooler)
{
    bool dropped = false;

    while (is_oldest_entry_expired(spooler) && evict(spooler, &spooler->stats.dropped_age))
        dropped = true;
    return dropped;
}

bool spooler_make_room(struct spooler *spooler, uint64_t size, struct err *err)
{
    if (size > spooler->settings.max_size_bytes) {
        err_set(err, "%s: a profile of %" PRIu64 " KiB is more than spool_max_size allows in all",
                spooler->settings.path, size / KIB);
        return false;
    }
    (void)spooler_drop_old(spooler);
    while (is_spool_full_for(spooler, size)) {
        if (!evict(spooler, &spooler->stats.dropped_size)) {
            err_set(err, "%s: is full, and nothing can be removed", spooler->settings.path);
            return false;
        }
    }
    while (leaves_too_little(spooler, size)) {
        if (!evict(spooler, &spooler->stats.dropped_free)) {
            err_set(err, "%s: the disk has less than spool_min_free left", spooler->settings.path);
            return false;
        }
    }
    return true;
}

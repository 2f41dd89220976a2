/* SPDX-License-Identifier: Apache-2.0 */
/* spooler_limits.c - knows which entries go to make room for others, and when. */
#include <inttypes.h>

#include "agent/delivery/spooler_internal.h"

/* Removes the oldest entry. False: there is none, or it cannot be removed. */
static bool evict(struct shelf *shelf, uint64_t *counter)
{
    struct delivery_entry *oldest;
    struct spool_name name;
    enum spool_rc rc;
    struct err err;
    bool owed;

    (void)pthread_mutex_lock(&shelf->lock);
    oldest = delivery_index_oldest(&shelf->index);
    owed = oldest && oldest->owed != 0; /* else it is done anyway */
    if (oldest)
        oldest->going = true;
    name = (struct spool_name){oldest ? oldest->order : 0, oldest ? oldest->on_disk : 0};
    (void)pthread_mutex_unlock(&shelf->lock);
    if (name.order == 0)
        return false;
    rc = spool_set_owed(shelf->spool, &name, 0, &err);
    (void)pthread_mutex_lock(&shelf->lock);
    oldest = delivery_index_find(&shelf->index, name.order); /* there still: only we remove */
    if (rc == SPOOL_FAILED && oldest)
        oldest->going = false;
    if (rc != SPOOL_FAILED && oldest) {
        delivery_index_remove(&shelf->index, oldest);
        shelf->evicted = name.order;
        *counter += owed ? 1 : 0;
    }
    (void)pthread_mutex_unlock(&shelf->lock);
    if (rc == SPOOL_FAILED || !shelf_begin_giving(shelf))
        return rc != SPOOL_FAILED;
    for (size_t i = 0; i < shelf->lane_count; i++)
        lane_gone(shelf->lanes[i], name.order);
    shelf_end_giving(shelf);
    return true;
}

static bool is_too_old(struct shelf *shelf)
{
    uint64_t now_ns = shelf_now(shelf);
    const struct delivery_entry *oldest;
    bool old;

    (void)pthread_mutex_lock(&shelf->lock);
    oldest = delivery_index_oldest(&shelf->index);
    old = oldest && shelf->settings.max_age_ns > 0 &&
          (int64_t)now_ns - oldest->born_ns > (int64_t)shelf->settings.max_age_ns;
    (void)pthread_mutex_unlock(&shelf->lock);
    return old;
}

static bool is_too_full(struct shelf *shelf, uint64_t size)
{
    bool full;

    (void)pthread_mutex_lock(&shelf->lock);
    full = shelf->index.count >= DELIVERY_INDEX_MAX ||
           shelf->index.bytes + size > shelf->settings.max_size_bytes;
    (void)pthread_mutex_unlock(&shelf->lock);
    return full;
}

static bool leaves_too_little(const struct shelf *shelf, uint64_t size)
{
    uint64_t left;

    return shelf->settings.min_free_bytes > 0 && spool_free_bytes(shelf->spool, &left) &&
           left < shelf->settings.min_free_bytes + size;
}

bool shelf_drop_old(struct shelf *shelf)
{
    bool dropped = false;

    while (is_too_old(shelf) && evict(shelf, &shelf->stats.dropped_age))
        dropped = true;
    return dropped;
}

bool shelf_make_room(struct shelf *shelf, uint64_t size, struct err *err)
{
    if (size > shelf->settings.max_size_bytes) {
        err_set(err, "%s: a profile of %" PRIu64 " KiB is more than spool_max_size allows in all",
                shelf->settings.path, size / KIB);
        return false;
    }
    (void)shelf_drop_old(shelf);
    while (is_too_full(shelf, size)) {
        if (!evict(shelf, &shelf->stats.dropped_size)) {
            err_set(err, "%s: is full, and nothing can be removed", shelf->settings.path);
            return false;
        }
    }
    while (leaves_too_little(shelf, size)) {
        if (!evict(shelf, &shelf->stats.dropped_free)) {
            err_set(err, "%s: the disk has less than spool_min_free left", shelf->settings.path);
            return false;
        }
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* spooler.c - knows what goes to the disk, what leaves it, and what to do when it fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/delivery/spooler_internal.h"
#include "agent/delivery/thread.h"

enum { ENTRY_HEAD = 4096 }; /* what an entry may take beside its payload, as a guess */

#define LOOK_EVERY_NS (30 * S_NS) /* for what has become too old */

uint64_t shelf_now(const struct shelf *shelf)
{
    return shelf->world.now_ns(shelf->world.ctx);
}

bool shelf_begin_giving(struct shelf *shelf)
{
    bool good;

    (void)pthread_mutex_lock(&shelf->lock);
    good = shelf->mode != SHELF_STOPPED;
    shelf->giving = good;
    (void)pthread_mutex_unlock(&shelf->lock);
    return good;
}

void shelf_end_giving(struct shelf *shelf)
{
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->giving = false;
    (void)pthread_cond_broadcast(&shelf->idle);
    (void)pthread_mutex_unlock(&shelf->lock);
}

void shelf_tell(struct shelf *shelf, const struct err *err)
{
    struct delivery_spool_stats stats;
    bool silent;

    (void)pthread_mutex_lock(&shelf->lock);
    shelf->stats.failing = err != NULL;
    if (err)
        shelf->stats.last_error = *err;
    stats = shelf->stats;
    silent = shelf->mode == SHELF_STOPPED;
    (void)pthread_mutex_unlock(&shelf->lock);
    if (!silent)
        shelf_talk_tell(&shelf->talk, shelf_now(shelf), &stats);
}

/* Who owes a new entry of this form: a copy, as lanes may change while the disk is waited for. */
static void name_owers(struct shelf *shelf, enum exporter_form form, struct shelf_owers *out)
{
    out->count = 0;
    (void)pthread_mutex_lock(&shelf->lock);
    for (size_t i = 0; i < shelf->lane_count && out->count < SPOOL_OWERS_MAX; i++) {
        if (lane_form(shelf->lanes[i]) != form)
            continue;
        out->ids[out->count] = lane_id(shelf->lanes[i]);
        (void)snprintf(out->names[out->count++], SHELF_NAME_SIZE, "%s", lane_name(shelf->lanes[i]));
    }
    (void)pthread_mutex_unlock(&shelf->lock);
}

/* Writes an entry and counts it in. */
static enum spool_rc write_entry(struct shelf *shelf, const struct pending *node,
                                 struct shelf_owers *owers, struct err *err)
{
    struct spool_head head = {.form = node->form,
                              .put_ns = shelf->world.utc_ns(shelf->world.ctx),
                              .profile = *delivery_parcel_profile(node->parcel)};
    struct delivery_entry entry = {.order = node->order, .born_ns = node->born_ns};
    struct spool_name name;
    enum spool_rc rc = SPOOL_FAILED;
    uint64_t size;
    bool added;

    name_owers(shelf, node->form, owers);
    while (head.ower_count < owers->count) {
        head.owers[head.ower_count] = owers->names[head.ower_count];
        head.ower_count++;
    }
    if (!shelf_make_room(shelf, head.profile.size + ENTRY_HEAD, err))
        return rc;
    name = (struct spool_name){node->order, (uint16_t)((1U << head.ower_count) - 1)};
    rc = spool_write(shelf->spool, &name, &head, &size, err);
    if (rc != SPOOL_OK)
        return rc;
    entry.kib = (uint32_t)(size / KIB);
    entry.on_disk = entry.owed = name.owed;
    (void)pthread_mutex_lock(&shelf->lock);
    added = !node->handed && delivery_index_add(&shelf->index, &entry);
    shelf->stats.written += added ? 1 : 0;
    (void)pthread_mutex_unlock(&shelf->lock);
    /* Else the lanes have it already, or will: it must not come a second time. */
    if (added)
        return SPOOL_OK;
    rc = spool_set_owed(shelf->spool, &name, 0, err);
    return rc == SPOOL_FAILED ? rc : SPOOL_NOMEM;
}

/* Gives the lanes what is on disk now; whose exporter has gone meanwhile, owes nothing. */
static void give_written(struct shelf *shelf, const struct pending *node,
                         const struct shelf_owers *owers)
{
    uint16_t given = shelf_give_entry(shelf, node, owers);
    struct delivery_entry *entry;

    (void)pthread_mutex_lock(&shelf->lock);
    entry = delivery_index_find(&shelf->index, node->order);
    if (entry)
        delivery_index_set(&shelf->index, entry, entry->owed & given, entry->bad);
    shelf->stats.dropped_unknown += given == 0 ? 1 : 0;
    (void)pthread_mutex_unlock(&shelf->lock);
}

/* Brings the first of the queue to the disk, or at least to the lanes. Called with the lock. */
static void write_first(struct shelf *shelf)
{
    struct pending *node = shelf->first;
    struct shelf_owers owers;
    struct err err = {""};
    enum spool_rc rc = SPOOL_FAILED;
    bool handed;

    shelf_number(shelf, node);
    shelf->under_way = true;
    shelf->since_ns = shelf_now(shelf);
    err = shelf->stats.last_error; /* of the opening, if it is that */
    (void)pthread_mutex_unlock(&shelf->lock);
    if (shelf->listed)
        rc = write_entry(shelf, node, &owers, &err);
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->under_way = false;
    (void)shelf_pop(shelf);
    handed = node->handed;
    shelf->stats.in_memory += rc != SPOOL_OK && !handed ? 1 : 0;
    (void)pthread_mutex_unlock(&shelf->lock);
    if (!handed && shelf_begin_giving(shelf)) {
        if (rc == SPOOL_OK)
            give_written(shelf, node, &owers);
        else
            shelf_give_parcel(shelf, node);
        shelf_end_giving(shelf);
    }
    shelf->talk.failing |= handed; /* as shelf_put has said */
    shelf_tell(shelf, rc == SPOOL_OK || handed ? NULL : &err);
    shelf_free_pending(node);
    (void)pthread_mutex_lock(&shelf->lock);
}

/* Says on disk what is done, or bad. Called with the lock. */
static void write_stale(struct shelf *shelf, struct delivery_entry *entry)
{
    struct spool_name name = {entry->order, entry->on_disk};
    uint16_t owed = entry->owed;
    enum spool_rc rc = SPOOL_GONE;
    bool bad = entry->bad;
    struct err err;

    (void)pthread_mutex_unlock(&shelf->lock);
    if (bad)
        spool_set_aside(shelf->spool, &name);
    else
        rc = spool_set_owed(shelf->spool, &name, owed, &err);
    (void)pthread_mutex_lock(&shelf->lock);
    if (rc == SPOOL_FAILED)
        shelf->stale_ns = shelf_now(shelf) + RETRY_EVERY_NS;
    entry = delivery_index_find(&shelf->index, name.order);
    if (!entry || rc == SPOOL_FAILED)
        return;
    if (rc == SPOOL_GONE || name.owed == 0)
        delivery_index_remove(&shelf->index, entry);
    else
        delivery_index_written(&shelf->index, entry, name.owed);
}

/* What the thread does when it is woken, or nothing happens for a while. With the lock. */
static bool work(struct shelf *shelf)
{
    struct delivery_entry *stale;

    if (!shelf->listed) {
        (void)pthread_mutex_unlock(&shelf->lock);
        shelf_open_spool(shelf);
        (void)pthread_mutex_lock(&shelf->lock);
    }
    if (shelf->first) {
        write_first(shelf);
        return true;
    }
    stale = shelf->listed && shelf_now(shelf) >= shelf->stale_ns
                ? delivery_index_stale(&shelf->index)
                : NULL;
    if (stale)
        write_stale(shelf, stale);
    return stale != NULL;
}

/* When there is nothing to do: what became too old goes, and crossings-out become durable. */
static void rest(struct shelf *shelf, bool worked)
{
    struct err err;

    (void)pthread_mutex_unlock(&shelf->lock);
    if (shelf->listed && shelf_drop_old(shelf))
        worked = true;
    if (worked && shelf->listed && spool_sync(shelf->spool, &err) != SPOOL_OK)
        shelf_tell(shelf, &err);
    (void)pthread_mutex_lock(&shelf->lock);
}

/* Something came while the lock was not held. Called with it. */
static bool has_work(const struct shelf *shelf)
{
    return shelf->first || (shelf->index.stale > 0 && shelf->stale_ns <= shelf_now(shelf));
}

/* Waits for work, and looks up now and then. Called with the lock. */
static void wait_for_work(struct shelf *shelf)
{
    uint64_t due_ns = shelf_now(shelf) + LOOK_EVERY_NS;

    if (shelf->index.stale > 0 && shelf->stale_ns < due_ns)
        due_ns = shelf->stale_ns;
    if (shelf->mode == SHELF_RUNNING && !has_work(shelf))
        delivery_thread_wait(&shelf->world, &shelf->changed, &shelf->lock, due_ns);
}

static void release(struct shelf *shelf)
{
    while (shelf->first)
        shelf_free_pending(shelf_pop(shelf));
    delivery_index_finish(&shelf->index);
    spool_close(shelf->spool);
    (void)pthread_cond_destroy(&shelf->idle);
    (void)pthread_cond_destroy(&shelf->changed);
    (void)pthread_mutex_destroy(&shelf->lock);
    free((void *)(uintptr_t)shelf->settings.path); /* our own copy */
    free(shelf);
}

struct shelf *shelf_keep(struct shelf *shelf)
{
    if (shelf)
        (void)atomic_fetch_add(&shelf->references, 1);
    return shelf;
}

void shelf_drop(struct shelf *shelf)
{
    if (shelf && atomic_fetch_sub(&shelf->references, 1) == 1)
        release(shelf);
}

static void *run(void *ctx)
{
    struct shelf *shelf = ctx;

    (void)pthread_mutex_lock(&shelf->lock);
    while (shelf->mode != SHELF_STOPPED) {
        bool worked = false;

        while (shelf->mode != SHELF_STOPPED && work(shelf))
            worked = true;
        if (shelf->mode != SHELF_STOPPED)
            rest(shelf, worked);
        (void)pthread_cond_broadcast(&shelf->idle);
        if (shelf->mode == SHELF_ENDING && !has_work(shelf))
            break;
        wait_for_work(shelf);
    }
    shelf->ended = true;
    (void)pthread_cond_broadcast(&shelf->idle);
    (void)pthread_mutex_unlock(&shelf->lock);
    spool_unlock(shelf->spool); /* a lane that hangs may keep the shelf for long */
    shelf_drop(shelf);
    return NULL;
}

static void set_defaults(struct delivery_spool *settings)
{
    if (settings->max_size_bytes == 0)
        settings->max_size_bytes = 256 << 20;
    if (settings->patience_ns == 0)
        settings->patience_ns = 5 * S_NS;
    if (settings->log_every_ns == 0)
        settings->log_every_ns = 60 * S_NS;
}

bool shelf_new(const struct delivery_world *world, const struct delivery_spool *settings,
               struct shelf **out, struct err *err)
{
    struct shelf *shelf = calloc(1, sizeof(*shelf));
    enum spool_rc rc = SPOOL_NOMEM;

    err_set(err, "out of memory");
    if (!shelf)
        return false;
    shelf->world = *world;
    shelf->settings = *settings;
    shelf->settings.path = strdup(settings->path);
    set_defaults(&shelf->settings);
    atomic_init(&shelf->references, 1);
    shelf->last = &shelf->first;
    shelf->next_order = 1;
    shelf->stats.on = true;
    if (shelf->settings.path && pthread_mutex_init(&shelf->lock, NULL) == 0 &&
        delivery_thread_cond(&shelf->changed) && delivery_thread_cond(&shelf->idle)) {
        shelf_talk_init(&shelf->talk, &shelf->world, shelf->settings.log_every_ns);
        rc = spool_open(settings->path, true, &shelf->spool, err);
    }
    /* What fails now, the thread tries again. */
    if (rc == SPOOL_OK || rc == SPOOL_FAILED || (rc == SPOOL_LOCKED && settings->held)) {
        *out = shelf;
        return true;
    }
    free((void *)(uintptr_t)shelf->settings.path);
    free(shelf);
    return false;
}

bool shelf_start(struct shelf *shelf, struct lane **lanes, size_t count)
{
    shelf->lanes = lanes;
    shelf->lane_count = count;
    shelf->started = delivery_thread_start(&shelf->thread, run, shelf_keep(shelf), "spool");
    if (!shelf->started)
        shelf_drop(shelf);
    return shelf->started;
}

void shelf_set_lanes(struct shelf *shelf, struct lane **lanes, size_t count)
{
    (void)pthread_mutex_lock(&shelf->lock);
    while (shelf->giving) /* that takes no time */
        (void)pthread_cond_wait(&shelf->idle, &shelf->lock);
    shelf->lanes = lanes;
    shelf->lane_count = count;
    (void)pthread_mutex_unlock(&shelf->lock);
}

/* True if the item's exporter owes the entry still. Called with the lock. */
static bool is_owed(const struct delivery_entry *entry, const struct delivery_item *item)
{
    return (entry->owed >> item->bit & 1) != 0;
}

/* Takes note that the item's exporter owes the entry no more. Called with the lock. */
static void strike(struct shelf *shelf, struct delivery_entry *entry,
                   const struct delivery_item *item)
{
    delivery_index_set(&shelf->index, entry, entry->owed & (uint16_t) ~(1U << item->bit),
                       entry->bad);
}

enum spool_rc shelf_take(struct shelf *shelf, const struct delivery_item *item,
                         struct spool_held *out, bool *lost, struct err *err)
{
    struct spool_name name = {item->order, 0};
    struct delivery_entry *entry;
    enum spool_rc rc;
    bool busy;

    (void)pthread_mutex_lock(&shelf->lock);
    entry = delivery_index_find(&shelf->index, item->order);
    name.owed = entry && is_owed(entry, item) ? entry->on_disk : 0;
    *lost = !entry && item->order <= shelf->evicted;
    busy = name.owed != 0 && (entry->sending >> item->bit & 1) != 0;
    if (name.owed != 0)
        entry->sending |= (uint16_t)(1U << item->bit);
    (void)pthread_mutex_unlock(&shelf->lock);
    if (name.owed == 0)
        return SPOOL_GONE;
    if (busy)
        return SPOOL_BUSY;
    rc = spool_take(shelf->spool, &name, false, out, err);
    if (rc == SPOOL_OK && (name.owed >> item->bit & 1) == 0) {
        spool_let_go(out);
        rc = SPOOL_GONE; /* another process has sent it */
    }
    (void)pthread_mutex_lock(&shelf->lock);
    entry = delivery_index_find(&shelf->index, item->order);
    *lost = entry ? entry->going : item->order <= shelf->evicted;
    if (entry && rc != SPOOL_OK)
        entry->sending &= (uint16_t) ~(1U << item->bit);
    if (entry && (rc == SPOOL_CORRUPT || rc == SPOOL_NEWER)) {
        shelf->stats.bad += entry->bad ? 0 : 1;
        delivery_index_set(&shelf->index, entry, 0, true);
    } else if (entry && rc == SPOOL_GONE) {
        strike(shelf, entry, item);
    }
    (void)pthread_cond_signal(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
    return rc;
}

void shelf_let_go(struct shelf *shelf, const struct delivery_item *item, struct spool_held *held)
{
    struct delivery_entry *entry;

    (void)pthread_mutex_lock(&shelf->lock);
    entry = delivery_index_find(&shelf->index, item->order);
    if (entry)
        entry->sending &= (uint16_t) ~(1U << item->bit);
    (void)pthread_mutex_unlock(&shelf->lock);
    spool_let_go(held);
}

void shelf_done(struct shelf *shelf, const struct delivery_item *item)
{
    struct delivery_entry *entry;

    (void)pthread_mutex_lock(&shelf->lock);
    entry = delivery_index_find(&shelf->index, item->order);
    if (entry)
        strike(shelf, entry, item);
    (void)pthread_cond_signal(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
}

void shelf_forget(struct shelf *shelf, const struct delivery_item *item)
{
    struct delivery_entry *entry;

    (void)pthread_mutex_lock(&shelf->lock);
    entry = delivery_index_find(&shelf->index, item->order);
    if (entry && is_owed(entry, item)) {
        strike(shelf, entry, item);
        shelf->stats.dropped_unknown += entry->owed == 0 ? 1 : 0;
    }
    (void)pthread_cond_signal(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
}

void shelf_stats(struct shelf *shelf, struct delivery_spool_stats *out)
{
    (void)pthread_mutex_lock(&shelf->lock);
    *out = shelf->stats;
    out->entries = shelf->index.count;
    out->bytes = shelf->index.bytes;
    out->max_bytes = shelf->settings.max_size_bytes;
    out->pending = shelf->pending;
    (void)pthread_mutex_unlock(&shelf->lock);
}

void shelf_settle(struct shelf *shelf, uint64_t deadline_ns)
{
    struct pending *all, under_way = {0};

    (void)pthread_mutex_lock(&shelf->lock);
    while (shelf->started && shelf->first && shelf_now(shelf) < deadline_ns)
        delivery_thread_wait(&shelf->world, &shelf->idle, &shelf->lock, deadline_ns);
    all = shelf_give_up(shelf, &under_way);
    (void)pthread_mutex_unlock(&shelf->lock);
    shelf_hand_over(shelf, all, &under_way);
}

void shelf_end(struct shelf *shelf, uint64_t deadline_ns)
{
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->mode = SHELF_ENDING;
    (void)pthread_cond_signal(&shelf->changed);
    while (shelf->started && !shelf->ended && shelf_now(shelf) < deadline_ns)
        delivery_thread_wait(&shelf->world, &shelf->idle, &shelf->lock, deadline_ns);
    shelf->mode = SHELF_STOPPED;
    (void)pthread_cond_signal(&shelf->changed);
    while (shelf->giving) /* that takes no time */
        (void)pthread_cond_wait(&shelf->idle, &shelf->lock);
    (void)pthread_mutex_unlock(&shelf->lock);
}

bool shelf_free(struct shelf *shelf)
{
    bool ended;

    if (!shelf)
        return true;
    (void)pthread_mutex_lock(&shelf->lock);
    ended = shelf->ended || !shelf->started;
    (void)pthread_mutex_unlock(&shelf->lock);
    if (!ended)
        (void)pthread_detach(shelf->thread);
    else if (shelf->started)
        (void)pthread_join(shelf->thread, NULL);
    shelf_drop(shelf);
    return ended;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* spooler.c - knows what goes to the disk, what leaves it, and what to do when it fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/delivery/spooler_internal.h"
#include "agent/delivery/thread.h"
#include "base/time_units.h"

enum { ENTRY_HEAD = 4096 }; /* what an entry may take beside its payload, as a guess */

#define LOOK_EVERY_NS (30 * NS_PER_S) /* for what has become too old */

uint64_t spooler_now(const struct spooler *spooler)
{
    return spooler->world.now_ns(spooler->world.ctx);
}

bool spooler_begin_giving(struct spooler *spooler)
{
    bool good;

    (void)pthread_mutex_lock(&spooler->lock);
    good = spooler->mode != SPOOLER_STOPPED;
    spooler->giving = good;
    (void)pthread_mutex_unlock(&spooler->lock);
    return good;
}

void spooler_end_giving(struct spooler *spooler)
{
    (void)pthread_mutex_lock(&spooler->lock);
    spooler->giving = false;
    (void)pthread_cond_broadcast(&spooler->idle);
    (void)pthread_mutex_unlock(&spooler->lock);
}

void spooler_tell(struct spooler *spooler, const struct err *err)
{
    struct delivery_spool_stats stats;
    bool silent;

    (void)pthread_mutex_lock(&spooler->lock);
    spooler->stats.failing = err != NULL;
    if (err)
        spooler->stats.last_error = *err;
    stats = spooler->stats;
    silent = spooler->mode == SPOOLER_STOPPED;
    (void)pthread_mutex_unlock(&spooler->lock);
    if (!silent)
        spooler_talk_tell(&spooler->talk, spooler_now(spooler), &stats);
}

/* Who owes a new entry of this form: a copy, as lanes may change while the disk is waited for. */
static void name_owers(struct spooler *spooler, enum exporter_form form,
                       struct spooler_pending_exporters *out)
{
    out->count = 0;
    (void)pthread_mutex_lock(&spooler->lock);
    for (size_t i = 0; i < spooler->export_worker_count && out->count < SPOOL_OWERS_MAX; i++) {
        if (export_worker_form(spooler->workers[i]) != form)
            continue;
        out->ids[out->count] = export_worker_id(spooler->workers[i]);
        (void)snprintf(out->names[out->count++], SPOOLER_NAME_SIZE, "%s",
                       export_worker_name(spooler->workers[i]));
    }
    (void)pthread_mutex_unlock(&spooler->lock);
}

/* Writes an entry and counts it in. */
static enum spool_rc write_entry(struct spooler *spooler, const struct pending *node,
                                 struct spooler_pending_exporters *owers, struct err *err)
{
    struct spool_head head = {.form = node->form,
                              .put_ns = spooler->world.utc_ns(spooler->world.ctx),
                              .profile = *payload_profile(node->payload)};
    struct delivery_entry entry = {.order = node->order, .born_ns = node->born_ns};
    struct spool_name name;
    enum spool_rc rc = SPOOL_FAILED;
    uint64_t size;
    bool added;

    name_owers(spooler, node->form, owers);
    while (head.ower_count < owers->count) {
        head.owers[head.ower_count] = owers->names[head.ower_count];
        head.ower_count++;
    }
    if (!spooler_make_room(spooler, head.profile.size + ENTRY_HEAD, err))
        return rc;
    name = (struct spool_name){node->order, (uint16_t)((1U << head.ower_count) - 1)};
    rc = spool_write(spooler->spool, &name, &head, &size, err);
    if (rc != SPOOL_OK)
        return rc;
    entry.kib = (uint32_t)(size / KIB);
    entry.on_disk = entry.owed = name.owed;
    (void)pthread_mutex_lock(&spooler->lock);
    added = !node->handed && delivery_index_add(&spooler->index, &entry);
    spooler->stats.written += added ? 1 : 0;
    (void)pthread_mutex_unlock(&spooler->lock);
    /* Else the lanes have it already, or will: it must not come a second time. */
    if (added)
        return SPOOL_OK;
    rc = spool_set_owed(spooler->spool, &name, 0, err);
    return rc == SPOOL_FAILED ? rc : SPOOL_NOMEM;
}

/* Gives the lanes what is on disk now; whose exporter has gone meanwhile, owes nothing. */
static void give_written(struct spooler *spooler, const struct pending *node,
                         const struct spooler_pending_exporters *owers)
{
    uint16_t given = spooler_give_entry(spooler, node, owers);
    struct delivery_entry *entry;

    (void)pthread_mutex_lock(&spooler->lock);
    entry = delivery_index_find(&spooler->index, node->order);
    if (entry)
        delivery_index_set(&spooler->index, entry, entry->owed & given, entry->bad);
    spooler->stats.dropped_unknown += given == 0 ? 1 : 0;
    (void)pthread_mutex_unlock(&spooler->lock);
}

/* Brings the first of the queue to the disk, or at least to the lanes. Called with the lock. */
static void write_first(struct spooler *spooler)
{
    struct pending *node = spooler->first;
    struct spooler_pending_exporters owers;
    struct err err = {""};
    enum spool_rc rc = SPOOL_FAILED;
    bool handed;

    spooler_number(spooler, node);
    spooler->under_way = true;
    spooler->since_ns = spooler_now(spooler);
    err = spooler->stats.last_error; /* of the opening, if it is that */
    (void)pthread_mutex_unlock(&spooler->lock);
    if (spooler->listed)
        rc = write_entry(spooler, node, &owers, &err);
    (void)pthread_mutex_lock(&spooler->lock);
    spooler->under_way = false;
    (void)spooler_pop(spooler);
    handed = node->handed;
    spooler->stats.in_memory += rc != SPOOL_OK && !handed ? 1 : 0;
    (void)pthread_mutex_unlock(&spooler->lock);
    if (!handed && spooler_begin_giving(spooler)) {
        if (rc == SPOOL_OK)
            give_written(spooler, node, &owers);
        else
            spooler_give_payload(spooler, node);
        spooler_end_giving(spooler);
    }
    spooler->talk.failing |= handed; /* as spooler_put has said */
    spooler_tell(spooler, rc == SPOOL_OK || handed ? NULL : &err);
    spooler_free_pending(node);
    (void)pthread_mutex_lock(&spooler->lock);
}

/* Says on disk what is done, or bad. Called with the lock. */
static void write_stale(struct spooler *spooler, struct delivery_entry *entry)
{
    struct spool_name name = {entry->order, entry->on_disk};
    uint16_t owed = entry->owed;
    enum spool_rc rc = SPOOL_GONE;
    bool bad = entry->bad;
    struct err err;

    (void)pthread_mutex_unlock(&spooler->lock);
    if (bad)
        spool_set_aside(spooler->spool, &name);
    else
        rc = spool_set_owed(spooler->spool, &name, owed, &err);
    (void)pthread_mutex_lock(&spooler->lock);
    if (rc == SPOOL_FAILED)
        spooler->stale_ns = spooler_now(spooler) + RETRY_EVERY_NS;
    entry = delivery_index_find(&spooler->index, name.order);
    if (!entry || rc == SPOOL_FAILED)
        return;
    if (rc == SPOOL_GONE || name.owed == 0)
        delivery_index_remove(&spooler->index, entry);
    else
        delivery_index_written(&spooler->index, entry, name.owed);
}

/* What the thread does when it is woken, or nothing happens for a while. With the lock. */
static bool work(struct spooler *spooler)
{
    struct delivery_entry *stale;

    if (!spooler->listed) {
        (void)pthread_mutex_unlock(&spooler->lock);
        spooler_open_spool(spooler);
        (void)pthread_mutex_lock(&spooler->lock);
    }
    if (spooler->first) {
        write_first(spooler);
        return true;
    }
    stale = spooler->listed && spooler_now(spooler) >= spooler->stale_ns
                ? delivery_index_stale(&spooler->index)
                : NULL;
    if (stale)
        write_stale(spooler, stale);
    return stale != NULL;
}

/* When there is nothing to do: what became too old goes, and crossings-out become durable. */
static void rest(struct spooler *spooler, bool worked)
{
    struct err err;

    (void)pthread_mutex_unlock(&spooler->lock);
    if (spooler->listed && spooler_drop_old(spooler))
        worked = true;
    if (worked && spooler->listed && spool_sync(spooler->spool, &err) != SPOOL_OK)
        spooler_tell(spooler, &err);
    (void)pthread_mutex_lock(&spooler->lock);
}

/* Something came while the lock was not held. Called with it. */
static bool has_work(const struct spooler *spooler)
{
    return spooler->first ||
           (spooler->index.stale > 0 && spooler->stale_ns <= spooler_now(spooler));
}

/* Waits for work, and looks up now and then. Called with the lock. */
static void wait_for_work(struct spooler *spooler)
{
    uint64_t due_ns = spooler_now(spooler) + LOOK_EVERY_NS;

    if (spooler->index.stale > 0 && spooler->stale_ns < due_ns)
        due_ns = spooler->stale_ns;
    if (spooler->mode == SPOOLER_RUNNING && !has_work(spooler))
        delivery_thread_wait(&spooler->world, &spooler->changed, &spooler->lock, due_ns);
}

static void free_spooler(struct spooler *spooler)
{
    while (spooler->first)
        spooler_free_pending(spooler_pop(spooler));
    delivery_index_finish(&spooler->index);
    spool_close(spooler->spool);
    (void)pthread_cond_destroy(&spooler->idle);
    (void)pthread_cond_destroy(&spooler->changed);
    (void)pthread_mutex_destroy(&spooler->lock);
    free((void *)(uintptr_t)spooler->settings.path); /* our own copy */
    free(spooler);
}

struct spooler *spooler_store(struct spooler *spooler)
{
    if (spooler)
        (void)atomic_fetch_add(&spooler->references, 1);
    return spooler;
}

void spooler_drop(struct spooler *spooler)
{
    if (spooler && atomic_fetch_sub(&spooler->references, 1) == 1)
        free_spooler(spooler);
}

static void *run_spooler(void *ctx)
{
    struct spooler *spooler = ctx;

    (void)pthread_mutex_lock(&spooler->lock);
    while (spooler->mode != SPOOLER_STOPPED) {
        bool worked = false;

        while (spooler->mode != SPOOLER_STOPPED && work(spooler))
            worked = true;
        if (spooler->mode != SPOOLER_STOPPED)
            rest(spooler, worked);
        (void)pthread_cond_broadcast(&spooler->idle);
        if (spooler->mode == SPOOLER_ENDING && !has_work(spooler))
            break;
        wait_for_work(spooler);
    }
    spooler->ended = true;
    (void)pthread_cond_broadcast(&spooler->idle);
    (void)pthread_mutex_unlock(&spooler->lock);
    spool_unlock(spooler->spool); /* a lane that hangs may keep the shelf for long */
    spooler_drop(spooler);
    return NULL;
}

static void set_spool_defaults(struct delivery_spool *settings)
{
    if (settings->max_size_bytes == 0)
        settings->max_size_bytes = 256 << 20;
    if (settings->patience_ns == 0)
        settings->patience_ns = 5 * NS_PER_S;
    if (settings->log_every_ns == 0)
        settings->log_every_ns = 60 * NS_PER_S;
}

bool spooler_new(const struct delivery_world *world, const struct delivery_spool *settings,
                 struct spooler **out, struct err *err)
{
    struct spooler *spooler = calloc(1, sizeof(*spooler));
    enum spool_rc rc = SPOOL_NOMEM;

    err_set(err, "out of memory");
    if (!spooler)
        return false;
    spooler->world = *world;
    spooler->settings = *settings;
    spooler->settings.path = strdup(settings->path);
    set_spool_defaults(&spooler->settings);
    atomic_init(&spooler->references, 1);
    spooler->last = &spooler->first;
    spooler->next_order = 1;
    spooler->stats.on = true;
    if (spooler->settings.path && pthread_mutex_init(&spooler->lock, NULL) == 0 &&
        delivery_thread_cond(&spooler->changed) && delivery_thread_cond(&spooler->idle)) {
        spooler_talk_init(&spooler->talk, &spooler->world, spooler->settings.log_every_ns);
        rc = spool_open(settings->path, true, &spooler->spool, err);
    }
    /* What fails now, the thread tries again. */
    if (rc == SPOOL_OK || rc == SPOOL_FAILED || (rc == SPOOL_LOCKED && settings->held)) {
        *out = spooler;
        return true;
    }
    free((void *)(uintptr_t)spooler->settings.path);
    free(spooler);
    return false;
}

bool spooler_start(struct spooler *spooler, struct export_worker **workers, size_t count)
{
    spooler->workers = workers;
    spooler->export_worker_count = count;
    spooler->started =
        delivery_thread_start(&spooler->thread, run_spooler, spooler_store(spooler), "spool");
    if (!spooler->started)
        spooler_drop(spooler);
    return spooler->started;
}

void spooler_set_workers(struct spooler *spooler, struct export_worker **workers, size_t count)
{
    (void)pthread_mutex_lock(&spooler->lock);
    while (spooler->giving) /* that takes no time */
        (void)pthread_cond_wait(&spooler->idle, &spooler->lock);
    spooler->workers = workers;
    spooler->export_worker_count = count;
    (void)pthread_mutex_unlock(&spooler->lock);
}

/* True if the item's exporter owes the entry still. Called with the lock. */
static bool is_owed(const struct delivery_entry *entry, const struct delivery_item *item)
{
    return (entry->owed >> item->bit & 1) != 0;
}

/* Takes note that the item's exporter owes the entry no more. Called with the lock. */
static void strike(struct spooler *spooler, struct delivery_entry *entry,
                   const struct delivery_item *item)
{
    delivery_index_set(&spooler->index, entry, entry->owed & (uint16_t) ~(1U << item->bit),
                       entry->bad);
}

enum spool_rc spooler_take(struct spooler *spooler, const struct delivery_item *item,
                           struct spool_held *out, bool *lost, struct err *err)
{
    struct spool_name name = {item->order, 0};
    struct delivery_entry *entry;
    enum spool_rc rc;
    bool busy;

    (void)pthread_mutex_lock(&spooler->lock);
    entry = delivery_index_find(&spooler->index, item->order);
    name.owed = entry && is_owed(entry, item) ? entry->on_disk : 0;
    *lost = !entry && item->order <= spooler->evicted;
    busy = name.owed != 0 && (entry->sending >> item->bit & 1) != 0;
    if (name.owed != 0)
        entry->sending |= (uint16_t)(1U << item->bit);
    (void)pthread_mutex_unlock(&spooler->lock);
    if (name.owed == 0)
        return SPOOL_GONE;
    if (busy)
        return SPOOL_BUSY;
    rc = spool_take(spooler->spool, &name, false, out, err);
    if (rc == SPOOL_OK && (name.owed >> item->bit & 1) == 0) {
        spool_let_go(out);
        rc = SPOOL_GONE; /* another process has sent it */
    }
    (void)pthread_mutex_lock(&spooler->lock);
    entry = delivery_index_find(&spooler->index, item->order);
    *lost = entry ? entry->going : item->order <= spooler->evicted;
    if (entry && rc != SPOOL_OK)
        entry->sending &= (uint16_t) ~(1U << item->bit);
    if (entry && (rc == SPOOL_CORRUPT || rc == SPOOL_NEWER)) {
        spooler->stats.bad += entry->bad ? 0 : 1;
        delivery_index_set(&spooler->index, entry, 0, true);
    } else if (entry && rc == SPOOL_GONE) {
        strike(spooler, entry, item);
    }
    (void)pthread_cond_signal(&spooler->changed);
    (void)pthread_mutex_unlock(&spooler->lock);
    return rc;
}

void spooler_release(struct spooler *spooler, const struct delivery_item *item,
                     struct spool_held *held)
{
    struct delivery_entry *entry;

    (void)pthread_mutex_lock(&spooler->lock);
    entry = delivery_index_find(&spooler->index, item->order);
    if (entry)
        entry->sending &= (uint16_t) ~(1U << item->bit);
    (void)pthread_mutex_unlock(&spooler->lock);
    spool_let_go(held);
}

void spooler_done(struct spooler *spooler, const struct delivery_item *item)
{
    struct delivery_entry *entry;

    (void)pthread_mutex_lock(&spooler->lock);
    entry = delivery_index_find(&spooler->index, item->order);
    if (entry)
        strike(spooler, entry, item);
    (void)pthread_cond_signal(&spooler->changed);
    (void)pthread_mutex_unlock(&spooler->lock);
}

void spooler_forget(struct spooler *spooler, const struct delivery_item *item)
{
    struct delivery_entry *entry;

    (void)pthread_mutex_lock(&spooler->lock);
    entry = delivery_index_find(&spooler->index, item->order);
    if (entry && is_owed(entry, item)) {
        strike(spooler, entry, item);
        spooler->stats.dropped_unknown += entry->owed == 0 ? 1 : 0;
    }
    (void)pthread_cond_signal(&spooler->changed);
    (void)pthread_mutex_unlock(&spooler->lock);
}

void spooler_stats(struct spooler *spooler, struct delivery_spool_stats *out)
{
    (void)pthread_mutex_lock(&spooler->lock);
    *out = spooler->stats;
    out->entries = spooler->index.count;
    out->bytes = spooler->index.bytes;
    out->max_bytes = spooler->settings.max_size_bytes;
    out->pending = spooler->pending;
    (void)pthread_mutex_unlock(&spooler->lock);
}

void spooler_drain(struct spooler *spooler, uint64_t deadline_ns)
{
    struct pending *all, under_way = {0};

    (void)pthread_mutex_lock(&spooler->lock);
    while (spooler->started && spooler->first && spooler_now(spooler) < deadline_ns)
        delivery_thread_wait(&spooler->world, &spooler->idle, &spooler->lock, deadline_ns);
    all = spooler_give_up(spooler, &under_way);
    (void)pthread_mutex_unlock(&spooler->lock);
    spooler_hand_over(spooler, all, &under_way);
}

void spooler_end(struct spooler *spooler, uint64_t deadline_ns)
{
    (void)pthread_mutex_lock(&spooler->lock);
    spooler->mode = SPOOLER_ENDING;
    (void)pthread_cond_signal(&spooler->changed);
    while (spooler->started && !spooler->ended && spooler_now(spooler) < deadline_ns)
        delivery_thread_wait(&spooler->world, &spooler->idle, &spooler->lock, deadline_ns);
    spooler->mode = SPOOLER_STOPPED;
    (void)pthread_cond_signal(&spooler->changed);
    while (spooler->giving) /* that takes no time */
        (void)pthread_cond_wait(&spooler->idle, &spooler->lock);
    (void)pthread_mutex_unlock(&spooler->lock);
}

bool spooler_free(struct spooler *spooler)
{
    bool ended;

    if (!spooler)
        return true;
    (void)pthread_mutex_lock(&spooler->lock);
    ended = spooler->ended || !spooler->started;
    (void)pthread_mutex_unlock(&spooler->lock);
    if (!ended)
        (void)pthread_detach(spooler->thread);
    else if (spooler->started)
        (void)pthread_join(spooler->thread, NULL);
    spooler_drop(spooler);
    return ended;
}

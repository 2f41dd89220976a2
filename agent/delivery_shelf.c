/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_shelf.c - knows what goes to the disk, what leaves it, and what to do when it fails. */
#include "agent/delivery_shelf.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/delivery_index.h"
#include "agent/delivery_shelf_talk.h"
#include "agent/delivery_thread.h"

enum {
    KIB = 1024,
    ENTRY_HEAD = 4096,            /* what an entry may take beside its payload, as a guess */
    PENDING_MAX = 1024,           /* that wait for the disk; then the disk is taken to hang */
    PENDING_BYTES_MAX = 32 << 20, /* of those */
};

#define S_NS           UINT64_C(1000000000)
#define LOOK_EVERY_NS  (30 * S_NS) /* for what has become too old */
#define RETRY_EVERY_NS (10 * S_NS) /* a disk that fails */

enum shelf_mode { SHELF_RUNNING, SHELF_ENDING, SHELF_STOPPED };

struct pending {
    struct pending *next;           /* owned list */
    struct delivery_parcel *parcel; /* owned: one reference */
    enum exporter_form form;
    uint64_t put_ns;
    uint64_t order; /* 0: not yet */
    bool handed;    /* the lanes have it already */
};

struct shelf {
    struct delivery_world world;
    struct delivery_spool settings; /* its path is owned */
    struct lane **lanes;            /* borrowed */
    size_t lane_count;
    pthread_t thread;
    bool started;

    struct spool *spool;    /* owned; NULL: it could not be opened yet. Set by the thread only */
    uint64_t open_ns;       /* not before then the next try to open it; the thread only */
    uint64_t stale_ns;      /* ... and to cross out what could not be */
    bool listed;            /* what an earlier run left is known; the thread only */
    struct shelf_talk talk; /* the thread only */

    pthread_mutex_t lock; /* guards all below; never held while the disk or a lane is waited for */
    pthread_cond_t changed, idle;
    enum shelf_mode mode;
    bool ended, abandoned;
    bool giving;                   /* the thread uses the lanes */
    struct pending *first, **last; /* the first may be under way */
    size_t pending, pending_bytes;
    bool under_way;
    uint64_t since_ns; /* of what is under way */
    uint64_t stuck_ns; /* when it was last said that the disk does not answer; 0: never */
    uint64_t next_order;
    uint64_t evicted; /* the last entry that was removed to make room */
    struct delivery_index index;
    struct delivery_spool_stats stats;
};

static uint64_t now(const struct shelf *shelf)
{
    return shelf->world.now_ns(shelf->world.ctx);
}

/* False: the lanes may be gone. Until end_giving they stay; no disk may be waited for meanwhile. */
static bool begin_giving(struct shelf *shelf)
{
    bool good;

    (void)pthread_mutex_lock(&shelf->lock);
    good = shelf->mode != SHELF_STOPPED;
    shelf->giving = good;
    (void)pthread_mutex_unlock(&shelf->lock);
    return good;
}

static void end_giving(struct shelf *shelf)
{
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->giving = false;
    (void)pthread_cond_broadcast(&shelf->idle);
    (void)pthread_mutex_unlock(&shelf->lock);
}

/* Gives each exporter of the form the item; it is in memory if `parcel` is there. */
static void give_lanes(struct shelf *shelf, const struct pending *node, bool in_memory)
{
    unsigned char bit = 0;

    for (size_t i = 0; i < shelf->lane_count; i++) {
        struct delivery_item item = {
            .order = node->order,
            .start_ns = delivery_parcel_profile(node->parcel)->start_ns,
            .put_ns = node->put_ns,
            .bit = bit,
        };

        if (lane_form(shelf->lanes[i]) != node->form)
            continue;
        bit++;
        if (in_memory)
            item.parcel = delivery_parcel_keep(node->parcel);
        lane_put(shelf->lanes[i], &item);
    }
}

static void free_pending(struct pending *node)
{
    delivery_parcel_drop(node->parcel);
    free(node);
}

/* Takes the first out of the list. Called with the lock. */
static struct pending *pop(struct shelf *shelf)
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

static void number(struct shelf *shelf, struct pending *node)
{
    if (node->order == 0)
        node->order = shelf->next_order++;
}

/*
 * Takes out all that the disk has not got, as it does not answer. What is under way stays,
 * marked, but is given, too: `*under_way` is a copy of it with a reference of its own.
 */
static struct pending *give_up(struct shelf *shelf, struct pending *under_way)
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
        number(shelf, *last);
        shelf->pending--;
        shelf->pending_bytes -= delivery_parcel_bytes((*last)->parcel);
        shelf->stats.in_memory++;
    }
    return all;
}

/* Gives the lanes what give_up took. */
static void hand_over(struct shelf *shelf, struct pending *all, const struct pending *under_way)
{
    if (under_way->parcel) {
        give_lanes(shelf, under_way, true);
        delivery_parcel_drop(under_way->parcel);
    }
    while (all) {
        struct pending *node = all;

        all = node->next;
        give_lanes(shelf, node, true);
        free_pending(node);
    }
}

/* True if the disk has had its time, or there is no room to wait for it. */
static bool is_stuck(const struct shelf *shelf)
{
    return shelf->pending > PENDING_MAX || shelf->pending_bytes > PENDING_BYTES_MAX ||
           (shelf->under_way && now(shelf) - shelf->since_ns > shelf->settings.patience_ns);
}

/* The thread cannot say so itself. True: it is time to. Called with the lock. */
static bool note_stuck(struct shelf *shelf, struct err *err)
{
    uint64_t now_ns = now(shelf);

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
    bool said = true;
    struct err err;

    if (!node)
        return false;
    *node = (struct pending){.parcel = delivery_parcel_keep(parcel), .form = form};
    node->put_ns = now(shelf);
    (void)pthread_mutex_lock(&shelf->lock);
    *shelf->last = node;
    shelf->last = &node->next;
    shelf->pending++;
    shelf->pending_bytes += delivery_parcel_bytes(parcel);
    if (is_stuck(shelf)) {
        said = !note_stuck(shelf, &err);
        all = give_up(shelf, &under_way);
    }
    (void)pthread_cond_signal(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
    hand_over(shelf, all, &under_way);
    if (!said)
        shelf_talk_stuck(&shelf->world, &err);
    return true;
}

/* Says what it is like now; the disk worked, or `err` is why it did not. The thread only. */
static void tell(struct shelf *shelf, const struct err *err)
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
        shelf_talk_tell(&shelf->talk, now(shelf), &stats);
}

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
    if (rc == SPOOL_FAILED || !begin_giving(shelf))
        return rc != SPOOL_FAILED;
    for (size_t i = 0; i < shelf->lane_count; i++)
        lane_gone(shelf->lanes[i], name.order);
    end_giving(shelf);
    return true;
}

static bool is_too_old(struct shelf *shelf)
{
    int64_t utc_ns = shelf->world.utc_ns(shelf->world.ctx);
    const struct delivery_entry *oldest;
    bool old;

    (void)pthread_mutex_lock(&shelf->lock);
    oldest = delivery_index_oldest(&shelf->index);
    old = oldest && shelf->settings.max_age_ns > 0 && utc_ns > oldest->start_ns &&
          (uint64_t)utc_ns - (uint64_t)oldest->start_ns > shelf->settings.max_age_ns;
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

/* Makes room for `size` more bytes; the oldest go first. */
static bool make_room(struct shelf *shelf, uint64_t size, struct err *err)
{
    if (size > shelf->settings.max_size_bytes) {
        err_set(err, "%s: a profile of %" PRIu64 " KiB is more than spool_max_size allows in all",
                shelf->settings.path, size / KIB);
        return false;
    }
    while (is_too_old(shelf) && evict(shelf, &shelf->stats.dropped_age))
        ;
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

/* Who owes a new entry of this form. */
static void name_owers(const struct shelf *shelf, enum exporter_form form, struct spool_head *head)
{
    for (size_t i = 0; i < shelf->lane_count && head->ower_count < SPOOL_OWERS_MAX; i++) {
        if (lane_form(shelf->lanes[i]) == form)
            head->owers[head->ower_count++] = lane_name(shelf->lanes[i]);
    }
}

/* Writes an entry and counts it in. */
static enum spool_rc write_entry(struct shelf *shelf, const struct pending *node, struct err *err)
{
    struct spool_head head = {.form = node->form,
                              .put_ns = shelf->world.utc_ns(shelf->world.ctx),
                              .profile = *delivery_parcel_profile(node->parcel)};
    struct delivery_entry entry = {.order = node->order, .start_ns = head.profile.start_ns};
    struct spool_name name;
    enum spool_rc rc = SPOOL_FAILED;
    uint64_t size;
    bool added;

    name_owers(shelf, node->form, &head);
    if (!make_room(shelf, head.profile.size + ENTRY_HEAD, err))
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

/* Brings the first of the queue to the disk, or at least to the lanes. Called with the lock. */
static void write_first(struct shelf *shelf)
{
    struct pending *node = shelf->first;
    struct err err = {""};
    enum spool_rc rc = SPOOL_FAILED;
    bool handed;

    number(shelf, node);
    shelf->under_way = true;
    shelf->since_ns = now(shelf);
    err = shelf->stats.last_error; /* of the opening, if it is that */
    (void)pthread_mutex_unlock(&shelf->lock);
    if (shelf->listed)
        rc = write_entry(shelf, node, &err);
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->under_way = false;
    (void)pop(shelf);
    handed = node->handed;
    shelf->stats.in_memory += rc != SPOOL_OK && !handed ? 1 : 0;
    (void)pthread_mutex_unlock(&shelf->lock);
    if (!handed && begin_giving(shelf)) {
        give_lanes(shelf, node, rc != SPOOL_OK);
        end_giving(shelf);
    }
    shelf->talk.failing |= handed; /* as shelf_put has said */
    tell(shelf, rc == SPOOL_OK || handed ? NULL : &err);
    free_pending(node);
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
        shelf->stale_ns = now(shelf) + RETRY_EVERY_NS;
    entry = delivery_index_find(&shelf->index, name.order);
    if (!entry || rc == SPOOL_FAILED)
        return;
    if (rc == SPOOL_GONE || name.owed == 0)
        delivery_index_remove(&shelf->index, entry);
    else
        delivery_index_written(&shelf->index, entry, name.owed);
}

/* Of those who owe an entry, the ones that are configured still are given it. */
static uint16_t give_found(struct shelf *shelf, const struct spool_name *name,
                           const struct spool_head *head)
{
    uint16_t known = 0;

    if (!begin_giving(shelf))
        return name->owed;
    for (unsigned bit = 0; bit < head->ower_count; bit++) {
        for (size_t i = 0; (name->owed >> bit & 1) != 0 && i < shelf->lane_count; i++) {
            struct delivery_item item = {.order = name->order, .bit = (unsigned char)bit};

            if (strcmp(lane_name(shelf->lanes[i]), head->owers[bit]) != 0 ||
                (unsigned)lane_form(shelf->lanes[i]) != head->form)
                continue;
            item.start_ns = head->profile.start_ns;
            lane_put(shelf->lanes[i], &item);
            known |= (uint16_t)(1U << bit);
            break;
        }
    }
    end_giving(shelf);
    return known;
}

/* Takes up an entry that an earlier run left. The order in which all are met is theirs. */
static void take_up(struct shelf *shelf, const struct spool_item *found)
{
    struct delivery_entry entry = {.order = found->name.order, .on_disk = found->name.owed};
    struct spool_held held;
    struct err err;
    enum spool_rc rc = spool_look(shelf->spool, &found->name, &held, &err);
    bool added = false;

    if (rc == SPOOL_OK) {
        entry.owed = found->name.owed;
        entry.kib = (uint32_t)(found->size / KIB);
        entry.start_ns = held.head.profile.start_ns;
        (void)pthread_mutex_lock(&shelf->lock);
        added = delivery_index_add(&shelf->index, &entry);
        (void)pthread_mutex_unlock(&shelf->lock);
        entry.owed = added ? give_found(shelf, &found->name, &held.head) : 0;
        spool_let_go(&held);
    }
    if (!added && rc != SPOOL_GONE) /* also one whose number another has */
        spool_set_aside(shelf->spool, &found->name);
    (void)pthread_mutex_lock(&shelf->lock);
    if (added) {
        struct delivery_entry *kept = delivery_index_find(&shelf->index, entry.order);

        if (kept)
            delivery_index_set(&shelf->index, kept, kept->owed & entry.owed, kept->bad);
        shelf->stats.dropped_unknown += entry.owed == 0 ? 1 : 0;
        shelf->stats.found += entry.owed != 0 ? 1 : 0;
    } else if (rc != SPOOL_GONE) {
        shelf->stats.bad++;
    }
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

/* Opens the spool if it is not, and takes up what is in it. The thread only. */
static void open_spool(struct shelf *shelf)
{
    struct err err = {""};
    bool good = true;

    if (now(shelf) < shelf->open_ns)
        return;
    if (!shelf->spool)
        good = spool_open(shelf->settings.path, true, &shelf->spool, &err) == SPOOL_OK;
    if (good)
        good = list(shelf, &err);
    shelf->listed = good;
    shelf->open_ns = now(shelf) + RETRY_EVERY_NS;
    tell(shelf, good ? NULL : &err);
}

/* What the thread does when it is woken, or nothing happens for a while. With the lock. */
static bool work(struct shelf *shelf)
{
    struct delivery_entry *stale;

    if (!shelf->listed) {
        (void)pthread_mutex_unlock(&shelf->lock);
        open_spool(shelf);
        (void)pthread_mutex_lock(&shelf->lock);
    }
    if (shelf->first) {
        write_first(shelf);
        return true;
    }
    stale =
        shelf->listed && now(shelf) >= shelf->stale_ns ? delivery_index_stale(&shelf->index) : NULL;
    if (stale)
        write_stale(shelf, stale);
    return stale != NULL;
}

/* When there is nothing to do: what became too old goes, and crossings-out become durable. */
static void rest(struct shelf *shelf, bool worked)
{
    struct err err;

    (void)pthread_mutex_unlock(&shelf->lock);
    while (shelf->listed && is_too_old(shelf) && evict(shelf, &shelf->stats.dropped_age))
        worked = true;
    if (worked && shelf->listed && spool_sync(shelf->spool, &err) != SPOOL_OK)
        tell(shelf, &err);
    (void)pthread_mutex_lock(&shelf->lock);
}

static void release(struct shelf *shelf)
{
    while (shelf->first)
        free_pending(pop(shelf));
    delivery_index_finish(&shelf->index);
    spool_close(shelf->spool);
    (void)pthread_cond_destroy(&shelf->idle);
    (void)pthread_cond_destroy(&shelf->changed);
    (void)pthread_mutex_destroy(&shelf->lock);
    free((void *)(uintptr_t)shelf->settings.path); /* our own copy */
    free(shelf);
}

/* Something came while the lock was not held. Called with it. */
static bool has_work(const struct shelf *shelf)
{
    return shelf->first || (shelf->index.stale > 0 && shelf->stale_ns <= now(shelf));
}

/* Waits for work, and looks up now and then. Called with the lock. */
static void wait_for_work(struct shelf *shelf)
{
    uint64_t due_ns = now(shelf) + LOOK_EVERY_NS;

    if (shelf->index.stale > 0 && shelf->stale_ns < due_ns)
        due_ns = shelf->stale_ns;
    if (shelf->mode == SHELF_RUNNING && !has_work(shelf))
        delivery_thread_wait(&shelf->world, &shelf->changed, &shelf->lock, due_ns);
}

static void *run(void *ctx)
{
    struct shelf *shelf = ctx;
    bool abandoned;

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
    abandoned = shelf->abandoned;
    (void)pthread_cond_broadcast(&shelf->idle);
    (void)pthread_mutex_unlock(&shelf->lock);
    if (abandoned)
        release(shelf);
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
    shelf->last = &shelf->first;
    shelf->next_order = 1;
    shelf->stats.on = true;
    if (shelf->settings.path && pthread_mutex_init(&shelf->lock, NULL) == 0 &&
        delivery_thread_cond(&shelf->changed) && delivery_thread_cond(&shelf->idle)) {
        shelf_talk_init(&shelf->talk, &shelf->world, shelf->settings.log_every_ns);
        rc = spool_open(settings->path, true, &shelf->spool, err);
    }
    if (rc == SPOOL_OK || rc == SPOOL_FAILED) { /* what fails now, the thread tries again */
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
    shelf->started = delivery_thread_start(&shelf->thread, run, shelf, "spool");
    return shelf->started;
}

enum spool_rc shelf_take(struct shelf *shelf, const struct delivery_item *item,
                         struct spool_held *out, bool *lost, struct err *err)
{
    struct spool_name name = {item->order, 0};
    struct delivery_entry *entry;
    enum spool_rc rc;

    (void)pthread_mutex_lock(&shelf->lock);
    entry = delivery_index_find(&shelf->index, item->order);
    name.owed = entry ? entry->on_disk : 0;
    *lost = !entry && item->order <= shelf->evicted;
    (void)pthread_mutex_unlock(&shelf->lock);
    if (name.owed == 0)
        return SPOOL_GONE;
    rc = spool_take(shelf->spool, &name, false, out, err);
    if (rc == SPOOL_OK && (name.owed >> item->bit & 1) == 0) {
        spool_let_go(out);
        rc = SPOOL_GONE; /* another process has sent it */
    }
    (void)pthread_mutex_lock(&shelf->lock);
    entry = delivery_index_find(&shelf->index, item->order);
    *lost = entry ? entry->going : item->order <= shelf->evicted;
    if (entry && (rc == SPOOL_CORRUPT || rc == SPOOL_NEWER)) {
        shelf->stats.bad += entry->bad ? 0 : 1;
        delivery_index_set(&shelf->index, entry, 0, true);
    } else if (entry && rc == SPOOL_GONE) {
        delivery_index_set(&shelf->index, entry, entry->owed & (uint16_t) ~(1U << item->bit),
                           entry->bad);
    }
    (void)pthread_cond_signal(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
    return rc;
}

void shelf_done(struct shelf *shelf, const struct delivery_item *item)
{
    struct delivery_entry *entry;

    (void)pthread_mutex_lock(&shelf->lock);
    entry = delivery_index_find(&shelf->index, item->order);
    if (entry)
        delivery_index_set(&shelf->index, entry, entry->owed & (uint16_t) ~(1U << item->bit),
                           entry->bad);
    (void)pthread_cond_signal(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
}

void shelf_stats(struct shelf *shelf, struct delivery_spool_stats *out)
{
    (void)pthread_mutex_lock(&shelf->lock);
    *out = shelf->stats;
    out->entries = shelf->index.count;
    out->bytes = shelf->index.bytes;
    out->pending = shelf->pending;
    (void)pthread_mutex_unlock(&shelf->lock);
}

void shelf_settle(struct shelf *shelf, uint64_t deadline_ns)
{
    struct pending *all, under_way = {0};

    (void)pthread_mutex_lock(&shelf->lock);
    while (shelf->started && shelf->first && now(shelf) < deadline_ns)
        delivery_thread_wait(&shelf->world, &shelf->idle, &shelf->lock, deadline_ns);
    all = give_up(shelf, &under_way);
    (void)pthread_mutex_unlock(&shelf->lock);
    hand_over(shelf, all, &under_way);
}

void shelf_end(struct shelf *shelf, uint64_t deadline_ns)
{
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->mode = SHELF_ENDING;
    (void)pthread_cond_signal(&shelf->changed);
    while (shelf->started && !shelf->ended && now(shelf) < deadline_ns)
        delivery_thread_wait(&shelf->world, &shelf->idle, &shelf->lock, deadline_ns);
    shelf->mode = SHELF_STOPPED;
    (void)pthread_cond_signal(&shelf->changed);
    while (shelf->giving) /* that takes no time */
        (void)pthread_cond_wait(&shelf->idle, &shelf->lock);
    (void)pthread_mutex_unlock(&shelf->lock);
}

bool shelf_free(struct shelf *shelf)
{
    pthread_t thread;
    bool ended, started;

    if (!shelf)
        return true;
    thread = shelf->thread; /* the shelf may be gone once it is unlocked */
    started = shelf->started;
    (void)pthread_mutex_lock(&shelf->lock);
    ended = shelf->ended || !started;
    shelf->abandoned = !ended;
    (void)pthread_mutex_unlock(&shelf->lock);
    if (!ended) {
        (void)pthread_detach(thread);
        return false;
    }
    if (started)
        (void)pthread_join(thread, NULL);
    release(shelf);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* export_worker.c - sends one exporter's profiles, one at a time, as its plan says. */
#include "agent/delivery/export_worker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/delivery/export_log.h"
#include "agent/delivery/spooler.h"
#include "agent/delivery/thread.h"

#define MS_NS UINT64_C(1000000)

#define BUSY_NS (500 * MS_NS)  /* for somebody else to send an entry */
#define DISK_NS (5000 * MS_NS) /* for a disk to work again */

enum lane_mode {
    LANE_RUNNING,
    LANE_WAITING, /* for what it inherits */
    LANE_HURRIED, /* ends when the queue is empty */
    LANE_LEAVING, /* ends after the send under way; another one goes on with the queue */
    LANE_STOPPED  /* ends at once, and uses nothing that is not its own any more */
};

struct lane {
    char *name; /* owned */
    enum exporter_form form;
    uint64_t id;
    struct delivery_sink sink; /* owned */
    struct delivery_world world;
    struct shelf *shelf; /* kept; NULL: there is none */
    pthread_t thread;
    struct delivery_talk talk; /* the lane's thread only */

    pthread_mutex_t lock; /* guards all below; never held while sending or logging */
    pthread_cond_t changed, over;
    enum lane_mode mode;
    bool ended;     /* the thread is about to return */
    bool abandoned; /* nobody waits for it: it ends the lane itself */
    bool retired;   /* nobody is to send what it does not */
    struct delivery_plan plan;
    struct delivery_item *under_way; /* borrowed from the thread: is being sent; NULL: nothing is */
    bool left;                       /* what was under way is another one's now */
    struct delivery_stats stats;
};

static uint64_t now(const struct lane *lane)
{
    return lane->world.now_ns(lane->world.ctx);
}

/* Counts what the plan gives up. Called with the lock. */
static void lose(void *ctx, const struct delivery_item *item, enum delivery_loss why)
{
    struct lane *lane = ctx;

    if (why == DELIVERY_LOST_OLD)
        lane->stats.dropped_old++;
    else
        lane->stats.dropped_full++;
    if (!item->parcel && why != DELIVERY_LOST_GONE)
        shelf_done(lane->shelf, item);
}

/* With a spool there is no point in trying until the last moment. */
static bool may_rest(const struct lane *lane)
{
    return lane->mode == LANE_HURRIED &&
           (lane->plan.count == 0 ||
            (lane->plan.parcels == 0 && (lane->plan.failures > 0 || lane->plan.denials > 0)));
}

/* Takes the next item to try, when it is time; false: the lane is to end. Called with the lock. */
static bool next_item(struct lane *lane, struct delivery_item *out)
{
    uint64_t due_ns;

    while (lane->mode != LANE_STOPPED && lane->mode != LANE_LEAVING) {
        if (may_rest(lane))
            return false;
        due_ns = UINT64_MAX;
        if (lane->mode != LANE_WAITING && delivery_plan_take(&lane->plan, now(lane), out, &due_ns))
            return true;
        if (!may_rest(lane))
            delivery_thread_wait(&lane->world, &lane->changed, &lane->lock, due_ns);
    }
    return false;
}

/* Takes account of an answer. Called with the lock. */
static void settle(struct lane *lane, struct delivery_item *item, enum exporter_rc rc,
                   const struct exporter_answer *answer, size_t size)
{
    if (rc != EXPORTER_OK)
        lane->stats.last_error = answer->err;
    if (rc == EXPORTER_OK) {
        lane->stats.sent++;
        lane->stats.sent_bytes += size;
        lane->stats.rejected += answer->dropped;
    } else if (rc == EXPORTER_REFUSED) {
        lane->stats.refused++;
    } else {
        lane->stats.retried++;
        lane->stats.denied += answer->denied ? 1 : 0;
    }
    if (!item->parcel && (rc == EXPORTER_OK || rc == EXPORTER_REFUSED))
        shelf_done(lane->shelf, item);
    delivery_plan_settle(&lane->plan, item, rc, answer, now(lane));
}

/* What was read from the spool is no profile, or nobody wants it, or the disk fails. With the lock.
 */
static void settle_unread(struct lane *lane, struct delivery_item *item, enum spool_rc rc,
                          bool lost, const struct err *err)
{
    switch (rc) {
    case SPOOL_BUSY:
        delivery_plan_put_aside(&lane->plan, item, now(lane), BUSY_NS);
        break;
    case SPOOL_FAILED:
    case SPOOL_NOMEM:
        lane->stats.last_error = *err;
        delivery_plan_put_off(&lane->plan, item, now(lane), DISK_NS);
        break;
    case SPOOL_CORRUPT:
    case SPOOL_NEWER:
        lane->stats.dropped_full++;
        break;
    case SPOOL_GONE: /* or somebody else has taken care of it */
        lane->stats.dropped_full += lost ? 1 : 0;
        break;
    case SPOOL_OK:
    case SPOOL_LOCKED:
    case SPOOL_TOO_LARGE:
        break; /* are never given */
    }
}

static void snapshot(const struct lane *lane, struct delivery_stats *out)
{
    *out = lane->stats;
    const struct delivery_item *item = lane->left ? NULL : lane->under_way;

    *out = lane->stats;
    out->queued = lane->plan.count + (item ? 1 : 0);
    out->queued_bytes = lane->plan.parcel_bytes;
    if (item && item->parcel)
        out->queued_bytes += delivery_parcel_bytes(item->parcel);
    out->in_spool = lane->plan.count - lane->plan.parcels + (item && !item->parcel ? 1 : 0);
}

/*
 * Stopped meanwhile: what is in memory is lost, what is on disk stays there, unless nobody is
 * to send it. Another one may have both already. Called with the lock.
 */
static void leave(struct lane *lane, struct delivery_item *item)
{
    bool given_up = item->parcel || lane->retired;

    lane->stats.dropped_stop += given_up && !lane->left ? 1 : 0;
    if (!item->parcel && lane->retired)
        shelf_forget(lane->shelf, item);
    delivery_parcel_drop(item->parcel);
}

/* Sends one item. Called with the lock, which it gives up meanwhile. False: stopped. */
static bool try_item(struct lane *lane, struct delivery_item *item)
{
    struct exporter_answer answer = {0};
    struct spool_held held = {.fd = -1};
    enum exporter_rc rc = EXPORTER_RETRY;
    enum spool_rc read = SPOOL_OK;
    bool lost = false, stopped;
    const struct exporter_profile *profile;
    struct delivery_stats stats;
    size_t size;

    lane->under_way = item;
    (void)pthread_mutex_unlock(&lane->lock);
    if (!item->parcel)
        read = shelf_take(lane->shelf, item, &held, &lost, &answer.err);
    profile = item->parcel ? delivery_parcel_profile(item->parcel) : &held.head.profile;
    size = profile->size;
    if (read == SPOOL_OK)
        rc = lane->sink.send(lane->sink.ctx, profile, lane->world.utc_ns(lane->world.ctx), &answer);
    (void)pthread_mutex_lock(&lane->lock);
    lane->under_way = NULL;
    stopped = lane->mode == LANE_STOPPED;
    if (stopped && rc != EXPORTER_OK && rc != EXPORTER_REFUSED)
        leave(lane, item);
    else if (read != SPOOL_OK)
        settle_unread(lane, item, read, lost, &answer.err);
    else
        settle(lane, item, rc, &answer, size);
    snapshot(lane, &stats);
    (void)pthread_mutex_unlock(&lane->lock);
    if (held.fd >= 0) /* only now: whoever takes it next is to see that it was sent */
        shelf_let_go(lane->shelf, item, &held);
    if (stopped) {
        (void)pthread_mutex_lock(&lane->lock);
        return false;
    }
    if (answer.note.text[0])
        delivery_note(&lane->talk, answer.note.text);
    if (read != SPOOL_GONE && read != SPOOL_BUSY)
        delivery_tell(&lane->talk, rc, now(lane), &stats);
    (void)pthread_mutex_lock(&lane->lock);
    return true;
}

/* Frees a lane that has no thread any more, or whose thread calls this last of all. */
static void release(struct lane *lane)
{
    shelf_drop(lane->shelf);
    lane->sink.close(lane->sink.ctx);
    delivery_plan_finish(&lane->plan);
    (void)pthread_cond_destroy(&lane->over);
    (void)pthread_cond_destroy(&lane->changed);
    (void)pthread_mutex_destroy(&lane->lock);
    free(lane->name);
    free(lane);
}

static void *run(void *ctx)
{
    struct lane *lane = ctx;
    struct delivery_item item;
    bool abandoned;

    (void)pthread_mutex_lock(&lane->lock);
    while (next_item(lane, &item) && try_item(lane, &item))
        ;
    lane->ended = true;
    abandoned = lane->abandoned;
    (void)pthread_cond_broadcast(&lane->over);
    (void)pthread_mutex_unlock(&lane->lock);
    if (abandoned)
        release(lane);
    return NULL;
}

bool lane_new(const struct lane_settings *settings, struct lane **out)
{
    struct lane *lane = calloc(1, sizeof(*lane));
    uint64_t random = 0;
    char title[16];

    if (!lane)
        return false;
    lane->form = settings->form;
    lane->id = settings->id;
    lane->sink = settings->sink;
    lane->world = settings->world;
    lane->shelf = shelf_keep(settings->shelf);
    lane->name = strdup(settings->name);
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = now(lane);
    delivery_plan_init(&lane->plan, &settings->limits, random, now(lane));
    lane->plan.lose = lose;
    lane->plan.ctx = lane;
    delivery_talk_init(&lane->talk, lane->name, &lane->world, settings->limits.log_every_ns);
    (void)snprintf(title, sizeof(title), "send %.10s", settings->name);
    if (lane->name && pthread_mutex_init(&lane->lock, NULL) == 0 &&
        delivery_thread_cond(&lane->changed) && delivery_thread_cond(&lane->over) &&
        delivery_thread_start(&lane->thread, run, lane, title)) {
        *out = lane;
        return true;
    }
    shelf_drop(lane->shelf);
    free(lane->name);
    free(lane);
    return false;
}

enum exporter_form lane_form(const struct lane *lane)
{
    return lane->form;
}

const char *lane_name(const struct lane *lane)
{
    return lane->name;
}

uint64_t lane_id(const struct lane *lane)
{
    return lane->id;
}

void lane_stats(struct lane *lane, struct delivery_stats *out)
{
    (void)pthread_mutex_lock(&lane->lock);
    snapshot(lane, out);
    (void)pthread_mutex_unlock(&lane->lock);
}

void lane_put(struct lane *lane, const struct delivery_item *item)
{
    (void)pthread_mutex_lock(&lane->lock);
    if (lane->mode == LANE_RUNNING || lane->mode == LANE_WAITING) {
        delivery_plan_add(&lane->plan, item);
    } else {
        lane->stats.dropped_stop += item->parcel ? 1 : 0;
        delivery_parcel_drop(item->parcel);
    }
    (void)pthread_cond_signal(&lane->changed);
    (void)pthread_mutex_unlock(&lane->lock);
}

void lane_gone(struct lane *lane, uint64_t order)
{
    (void)pthread_mutex_lock(&lane->lock);
    delivery_plan_gone(&lane->plan, order);
    (void)pthread_mutex_unlock(&lane->lock);
}

void lane_count_lost(struct lane *lane)
{
    (void)pthread_mutex_lock(&lane->lock);
    lane->stats.dropped_full++;
    (void)pthread_mutex_unlock(&lane->lock);
}

void lane_hurry(struct lane *lane, bool again)
{
    (void)pthread_mutex_lock(&lane->lock);
    lane->mode = LANE_HURRIED;
    delivery_plan_hurry(&lane->plan);
    if (again) {
        lane->plan.failures = 0;
        lane->plan.denials = 0;
    }
    (void)pthread_cond_signal(&lane->changed);
    (void)pthread_mutex_unlock(&lane->lock);
}

void lane_stop(struct lane *lane)
{
    (void)pthread_mutex_lock(&lane->lock);
    lane->mode = LANE_STOPPED;
    lane->stats.dropped_stop += delivery_plan_clear(&lane->plan);
    (void)pthread_cond_signal(&lane->changed);
    (void)pthread_mutex_unlock(&lane->lock);
    lane->sink.cancel(lane->sink.ctx);
}

void lane_inherit(struct lane *heir, const struct lane *lane)
{
    (void)pthread_mutex_lock(&heir->lock);
    heir->id = lane->id;
    heir->mode = LANE_WAITING;
    (void)pthread_mutex_unlock(&heir->lock);
}

void lane_leave(struct lane *lane)
{
    (void)pthread_mutex_lock(&lane->lock);
    lane->mode = LANE_LEAVING;
    (void)pthread_cond_signal(&lane->changed);
    (void)pthread_mutex_unlock(&lane->lock);
}

/* Gives another plan an item of which nothing is known but that it is to be sent. */
static void pass_on(struct delivery_plan *plan, const struct delivery_item *item)
{
    const struct delivery_item fresh = {.order = item->order,
                                        .born_ns = item->born_ns,
                                        .put_ns = item->put_ns,
                                        .parcel = item->parcel,
                                        .bit = item->bit};

    delivery_plan_add(plan, &fresh);
}

void lane_bequeath(struct lane *lane, struct lane *heir)
{
    struct delivery_item item;

    (void)pthread_mutex_lock(&lane->lock);
    (void)pthread_mutex_lock(&heir->lock);
    if (lane->under_way) {
        item = *lane->under_way;
        if (item.parcel)
            item.parcel = delivery_parcel_keep(item.parcel);
        lane->left = true;
        pass_on(&heir->plan, &item);
    }
    while (delivery_plan_pop(&lane->plan, &item))
        pass_on(&heir->plan, &item);
    heir->mode = LANE_RUNNING;
    (void)pthread_cond_signal(&heir->changed);
    (void)pthread_mutex_unlock(&heir->lock);
    lane->mode = LANE_STOPPED;
    (void)pthread_cond_signal(&lane->changed);
    (void)pthread_mutex_unlock(&lane->lock);
    lane->sink.cancel(lane->sink.ctx);
}

void lane_retire(struct lane *lane)
{
    struct delivery_item item;

    (void)pthread_mutex_lock(&lane->lock);
    lane->retired = true;
    while (delivery_plan_pop(&lane->plan, &item)) {
        lane->stats.dropped_stop++;
        if (!item.parcel)
            shelf_forget(lane->shelf, &item);
        delivery_parcel_drop(item.parcel);
    }
    (void)pthread_cond_signal(&lane->changed);
    (void)pthread_mutex_unlock(&lane->lock);
}

bool lane_wait(struct lane *lane, uint64_t deadline_ns)
{
    bool ended;

    (void)pthread_mutex_lock(&lane->lock);
    while (!lane->ended && now(lane) < deadline_ns)
        delivery_thread_wait(&lane->world, &lane->over, &lane->lock, deadline_ns);
    ended = lane->ended;
    (void)pthread_mutex_unlock(&lane->lock);
    return ended;
}

bool lane_free(struct lane *lane)
{
    pthread_t thread = lane->thread; /* the lane may be gone once it is unlocked */
    bool ended;

    (void)pthread_mutex_lock(&lane->lock);
    ended = lane->ended;
    lane->abandoned = !ended;
    (void)pthread_mutex_unlock(&lane->lock);
    if (!ended) {
        (void)pthread_detach(thread);
        return false;
    }
    (void)pthread_join(thread, NULL);
    release(lane);
    return true;
}

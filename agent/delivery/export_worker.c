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
#include "base/time_units.h"

#define BUSY_NS (500 * NS_PER_MS)  /* for somebody else to send an entry */
#define DISK_NS (5000 * NS_PER_MS) /* for a disk to work again */

enum export_worker_mode {
    EXPORT_WORKER_RUNNING,
    EXPORT_WORKER_WAITING, /* for what it inherits */
    EXPORT_WORKER_HURRIED, /* ends when the queue is empty */
    EXPORT_WORKER_LEAVING, /* ends after the send under way; another one goes on with the queue */
    EXPORT_WORKER_STOPPED  /* ends at once, and uses nothing that is not its own any more */
};

struct export_worker {
    char *name; /* owned */
    enum exporter_form form;
    uint64_t id;
    struct delivery_sink sink; /* owned */
    struct delivery_world world;
    struct spooler *spooler; /* kept; NULL: there is none */
    pthread_t thread;
    struct delivery_talk talk; /* the lane's thread only */

    pthread_mutex_t lock; /* guards all below; never held while sending or logging */
    pthread_cond_t changed, over;
    enum export_worker_mode mode;
    bool ended;     /* the thread is about to return */
    bool abandoned; /* nobody waits for it: it ends the lane itself */
    bool retired;   /* nobody is to send what it does not */
    struct retry_queue queue;
    struct delivery_item *under_way; /* borrowed from the thread: is being sent; NULL: nothing is */
    bool left;                       /* what was under way is another one's now */
    struct delivery_stats stats;
};

static uint64_t now(const struct export_worker *worker)
{
    return worker->world.now_ns(worker->world.ctx);
}

/* Counts what the plan gives up. Called with the lock. */
static void count_dropped_item(void *ctx, const struct delivery_item *item, enum delivery_loss why)
{
    struct export_worker *worker = ctx;

    if (why == DELIVERY_LOST_OLD)
        worker->stats.dropped_old++;
    else
        worker->stats.dropped_full++;
    if (!item->payload && why != DELIVERY_LOST_GONE)
        spooler_done(worker->spooler, item);
}

/* With a spool there is no point in trying until the last moment. */
static bool may_pause(const struct export_worker *worker)
{
    return worker->mode == EXPORT_WORKER_HURRIED &&
           (worker->queue.count == 0 ||
            (worker->queue.payloads == 0 &&
             (worker->queue.failures > 0 || worker->queue.denials > 0)));
}

/* Takes the next item to try, when it is time; false: the lane is to end. Called with the lock. */
static bool next_item(struct export_worker *worker, struct delivery_item *out)
{
    uint64_t due_ns;

    while (worker->mode != EXPORT_WORKER_STOPPED && worker->mode != EXPORT_WORKER_LEAVING) {
        if (may_pause(worker))
            return false;
        due_ns = UINT64_MAX;
        if (worker->mode != EXPORT_WORKER_WAITING &&
            retry_queue_take(&worker->queue, now(worker), out, &due_ns))
            return true;
        if (!may_pause(worker))
            delivery_thread_wait(&worker->world, &worker->changed, &worker->lock, due_ns);
    }
    return false;
}

/* Takes account of an answer. Called with the lock. */
static void record_push_result(struct export_worker *worker, struct delivery_item *item,
                               enum exporter_rc rc, const struct exporter_answer *answer,
                               size_t size)
{
    if (rc != EXPORTER_OK)
        worker->stats.last_error = answer->err;
    if (rc == EXPORTER_OK) {
        worker->stats.sent++;
        worker->stats.sent_bytes += size;
        worker->stats.rejected += answer->dropped;
    } else if (rc == EXPORTER_REFUSED) {
        worker->stats.refused++;
    } else {
        worker->stats.retried++;
        worker->stats.denied += answer->denied ? 1 : 0;
    }
    if (!item->payload && (rc == EXPORTER_OK || rc == EXPORTER_REFUSED))
        spooler_done(worker->spooler, item);
    retry_queue_complete(&worker->queue, item, rc, answer, now(worker));
}

/* What was read from the spool is no profile, or nobody wants it, or the disk fails. With the lock.
 */
static void complete_unread(struct export_worker *worker, struct delivery_item *item,
                            enum spool_rc rc, bool lost, const struct err *err)
{
    switch (rc) {
    case SPOOL_BUSY:
        retry_queue_put_aside(&worker->queue, item, now(worker), BUSY_NS);
        break;
    case SPOOL_FAILED:
    case SPOOL_NOMEM:
        worker->stats.last_error = *err;
        retry_queue_put_off(&worker->queue, item, now(worker), DISK_NS);
        break;
    case SPOOL_CORRUPT:
    case SPOOL_NEWER:
        worker->stats.dropped_full++;
        break;
    case SPOOL_GONE: /* or somebody else has taken care of it */
        worker->stats.dropped_full += lost ? 1 : 0;
        break;
    case SPOOL_OK:
    case SPOOL_LOCKED:
    case SPOOL_TOO_LARGE:
        break; /* are never given */
    }
}

static void snapshot(const struct export_worker *worker, struct delivery_stats *out)
{
    *out = worker->stats;
    const struct delivery_item *item = worker->left ? NULL : worker->under_way;

    *out = worker->stats;
    out->queued = worker->queue.count + (item ? 1 : 0);
    out->queued_bytes = worker->queue.payload_bytes;
    if (item && item->payload)
        out->queued_bytes += payload_bytes(item->payload);
    out->in_spool = worker->queue.count - worker->queue.payloads + (item && !item->payload ? 1 : 0);
}

/*
 * Stopped meanwhile: what is in memory is lost, what is on disk stays there, unless nobody is
 * to send it. Another one may have both already. Called with the lock.
 */
static void drop_stopped_item(struct export_worker *worker, struct delivery_item *item)
{
    bool given_up = item->payload || worker->retired;

    worker->stats.dropped_stop += given_up && !worker->left ? 1 : 0;
    if (!item->payload && worker->retired)
        spooler_forget(worker->spooler, item);
    payload_unref(item->payload);
}

/* Sends one item. Called with the lock, which it gives up meanwhile. False: stopped. */
static bool try_item(struct export_worker *worker, struct delivery_item *item)
{
    struct exporter_answer answer = {0};
    struct spool_held held = {.fd = -1};
    enum exporter_rc rc = EXPORTER_RETRY;
    enum spool_rc read = SPOOL_OK;
    bool lost = false, stopped;
    const struct exporter_profile *profile;
    struct delivery_stats stats;
    size_t size;

    worker->under_way = item;
    (void)pthread_mutex_unlock(&worker->lock);
    if (!item->payload)
        read = spooler_take(worker->spooler, item, &held, &lost, &answer.err);
    profile = item->payload ? payload_profile(item->payload) : &held.head.profile;
    size = profile->size;
    if (read == SPOOL_OK)
        rc = worker->sink.send(worker->sink.ctx, profile, worker->world.utc_ns(worker->world.ctx),
                               &answer);
    (void)pthread_mutex_lock(&worker->lock);
    worker->under_way = NULL;
    stopped = worker->mode == EXPORT_WORKER_STOPPED;
    if (stopped && rc != EXPORTER_OK && rc != EXPORTER_REFUSED)
        drop_stopped_item(worker, item);
    else if (read != SPOOL_OK)
        complete_unread(worker, item, read, lost, &answer.err);
    else
        record_push_result(worker, item, rc, &answer, size);
    snapshot(worker, &stats);
    (void)pthread_mutex_unlock(&worker->lock);
    if (held.fd >= 0) /* only now: whoever takes it next is to see that it was sent */
        spooler_release(worker->spooler, item, &held);
    if (stopped) {
        (void)pthread_mutex_lock(&worker->lock);
        return false;
    }
    if (answer.note.text[0])
        delivery_note(&worker->talk, answer.note.text);
    if (read != SPOOL_GONE && read != SPOOL_BUSY)
        delivery_tell(&worker->talk, rc, now(worker), &stats);
    (void)pthread_mutex_lock(&worker->lock);
    return true;
}

/* Frees a lane that has no thread any more, or whose thread calls this last of all. */
static void free_export_worker(struct export_worker *worker)
{
    spooler_drop(worker->spooler);
    worker->sink.close(worker->sink.ctx);
    retry_queue_finish(&worker->queue);
    (void)pthread_cond_destroy(&worker->over);
    (void)pthread_cond_destroy(&worker->changed);
    (void)pthread_mutex_destroy(&worker->lock);
    free(worker->name);
    free(worker);
}

static void *run_export_worker(void *ctx)
{
    struct export_worker *worker = ctx;
    struct delivery_item item;
    bool abandoned;

    (void)pthread_mutex_lock(&worker->lock);
    while (next_item(worker, &item) && try_item(worker, &item))
        ;
    worker->ended = true;
    abandoned = worker->abandoned;
    (void)pthread_cond_broadcast(&worker->over);
    (void)pthread_mutex_unlock(&worker->lock);
    if (abandoned)
        free_export_worker(worker);
    return NULL;
}

bool export_worker_new(const struct export_worker_settings *settings, struct export_worker **out)
{
    struct export_worker *worker = calloc(1, sizeof(*worker));
    uint64_t random = 0;
    char title[16];

    if (!worker)
        return false;
    worker->form = settings->form;
    worker->id = settings->id;
    worker->sink = settings->sink;
    worker->world = settings->world;
    worker->spooler = spooler_store(settings->spooler);
    worker->name = strdup(settings->name);
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = now(worker);
    retry_queue_init(&worker->queue, &settings->limits, random, now(worker));
    worker->queue.lose = count_dropped_item;
    worker->queue.ctx = worker;
    delivery_talk_init(&worker->talk, worker->name, &worker->world, settings->limits.log_every_ns);
    (void)snprintf(title, sizeof(title), "send %.10s", settings->name);
    if (worker->name && pthread_mutex_init(&worker->lock, NULL) == 0 &&
        delivery_thread_cond(&worker->changed) && delivery_thread_cond(&worker->over) &&
        delivery_thread_start(&worker->thread, run_export_worker, worker, title)) {
        *out = worker;
        return true;
    }
    spooler_drop(worker->spooler);
    free(worker->name);
    free(worker);
    return false;
}

enum exporter_form export_worker_form(const struct export_worker *worker)
{
    return worker->form;
}

const char *export_worker_name(const struct export_worker *worker)
{
    return worker->name;
}

uint64_t export_worker_id(const struct export_worker *worker)
{
    return worker->id;
}

void export_worker_stats(struct export_worker *worker, struct delivery_stats *out)
{
    (void)pthread_mutex_lock(&worker->lock);
    snapshot(worker, out);
    (void)pthread_mutex_unlock(&worker->lock);
}

void export_worker_put(struct export_worker *worker, const struct delivery_item *item)
{
    (void)pthread_mutex_lock(&worker->lock);
    if (worker->mode == EXPORT_WORKER_RUNNING || worker->mode == EXPORT_WORKER_WAITING) {
        retry_queue_add(&worker->queue, item);
    } else {
        worker->stats.dropped_stop += item->payload ? 1 : 0;
        payload_unref(item->payload);
    }
    (void)pthread_cond_signal(&worker->changed);
    (void)pthread_mutex_unlock(&worker->lock);
}

void export_worker_gone(struct export_worker *worker, uint64_t order)
{
    (void)pthread_mutex_lock(&worker->lock);
    retry_queue_gone(&worker->queue, order);
    (void)pthread_mutex_unlock(&worker->lock);
}

void export_worker_count_lost(struct export_worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
    worker->stats.dropped_full++;
    (void)pthread_mutex_unlock(&worker->lock);
}

void export_worker_expedite(struct export_worker *worker, bool again)
{
    (void)pthread_mutex_lock(&worker->lock);
    worker->mode = EXPORT_WORKER_HURRIED;
    retry_queue_expedite(&worker->queue);
    if (again) {
        worker->queue.failures = 0;
        worker->queue.denials = 0;
    }
    (void)pthread_cond_signal(&worker->changed);
    (void)pthread_mutex_unlock(&worker->lock);
}

void export_worker_stop(struct export_worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
    worker->mode = EXPORT_WORKER_STOPPED;
    worker->stats.dropped_stop += retry_queue_clear(&worker->queue);
    (void)pthread_cond_signal(&worker->changed);
    (void)pthread_mutex_unlock(&worker->lock);
    worker->sink.cancel(worker->sink.ctx);
}

void export_worker_take_over(struct export_worker *successor, const struct export_worker *worker)
{
    (void)pthread_mutex_lock(&successor->lock);
    successor->id = worker->id;
    successor->mode = EXPORT_WORKER_WAITING;
    (void)pthread_mutex_unlock(&successor->lock);
}

void export_worker_leave(struct export_worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
    worker->mode = EXPORT_WORKER_LEAVING;
    (void)pthread_cond_signal(&worker->changed);
    (void)pthread_mutex_unlock(&worker->lock);
}

/* Gives another plan an item of which nothing is known but that it is to be sent. */
static void requeue_item(struct retry_queue *queue, const struct delivery_item *item)
{
    const struct delivery_item fresh = {.order = item->order,
                                        .born_ns = item->born_ns,
                                        .put_ns = item->put_ns,
                                        .payload = item->payload,
                                        .bit = item->bit};

    retry_queue_add(queue, &fresh);
}

void export_worker_hand_over(struct export_worker *worker, struct export_worker *successor)
{
    struct delivery_item item;

    (void)pthread_mutex_lock(&worker->lock);
    (void)pthread_mutex_lock(&successor->lock);
    if (worker->under_way) {
        item = *worker->under_way;
        if (item.payload)
            item.payload = payload_ref(item.payload);
        worker->left = true;
        requeue_item(&successor->queue, &item);
    }
    while (retry_queue_pop(&worker->queue, &item))
        requeue_item(&successor->queue, &item);
    successor->mode = EXPORT_WORKER_RUNNING;
    (void)pthread_cond_signal(&successor->changed);
    (void)pthread_mutex_unlock(&successor->lock);
    worker->mode = EXPORT_WORKER_STOPPED;
    (void)pthread_cond_signal(&worker->changed);
    (void)pthread_mutex_unlock(&worker->lock);
    worker->sink.cancel(worker->sink.ctx);
}

void export_worker_retire(struct export_worker *worker)
{
    struct delivery_item item;

    (void)pthread_mutex_lock(&worker->lock);
    worker->retired = true;
    while (retry_queue_pop(&worker->queue, &item)) {
        worker->stats.dropped_stop++;
        if (!item.payload)
            spooler_forget(worker->spooler, &item);
        payload_unref(item.payload);
    }
    (void)pthread_cond_signal(&worker->changed);
    (void)pthread_mutex_unlock(&worker->lock);
}

bool export_worker_wait(struct export_worker *worker, uint64_t deadline_ns)
{
    bool ended;

    (void)pthread_mutex_lock(&worker->lock);
    while (!worker->ended && now(worker) < deadline_ns)
        delivery_thread_wait(&worker->world, &worker->over, &worker->lock, deadline_ns);
    ended = worker->ended;
    (void)pthread_mutex_unlock(&worker->lock);
    return ended;
}

bool export_worker_free(struct export_worker *worker)
{
    pthread_t thread = worker->thread; /* the lane may be gone once it is unlocked */
    bool ended;

    (void)pthread_mutex_lock(&worker->lock);
    ended = worker->ended;
    worker->abandoned = !ended;
    (void)pthread_mutex_unlock(&worker->lock);
    if (!ended) {
        (void)pthread_detach(thread);
        return false;
    }
    (void)pthread_join(thread, NULL);
    free_export_worker(worker);
    return true;
}

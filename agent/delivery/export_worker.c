/* SPDX-License-Identifier: Apache-2.0 */
/* export_worker.c - the thread of one exporter: sends batches as its queue says. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "agent/delivery/internal.h"
#include "base/time_units.h"

#define BUSY_NS   (500 * NS_PER_MS) /* for somebody else to send a batch */
#define DISK_NS   (5 * NS_PER_S)    /* for a disk to work again */
#define BEHIND_NS (60 * NS_PER_S)   /* what has waited for longer may mean that it falls behind */

enum { BEHIND_INTERVALS = 4, HALVES = 2 };

/* Counts what the queue gives up, and ends it. With the lock. */
static void lose_queue_entry(void *ctx, struct export_entry *entry, enum export_loss why)
{
    struct export_worker *worker = ctx;

    if (why == EXPORT_LOST_OLD)
        worker->stats.dropped_old += entry->count;
    else
        worker->stats.dropped_full += entry->count;
    delivery_entry_end(worker->delivery, entry);
}

struct export_worker *export_worker_new(struct delivery *delivery, const char *name,
                                        enum exporter_form form, const struct delivery_sink *sink,
                                        const struct export_limits *limits)
{
    struct export_worker *worker = calloc(1, sizeof(*worker));
    struct export_limits full = *limits;
    uint64_t random = 0;

    if (!worker)
        return NULL;
    worker->delivery = delivery;
    (void)pthread_cond_init(&worker->changed, NULL); /* which cannot fail */
    (void)snprintf(worker->name, sizeof(worker->name), "%s", name);
    worker->form = form;
    worker->sink = *sink;
    full.in_flight =
        sink->in_flight_max < EXPORTER_IN_FLIGHT_MAX ? sink->in_flight_max : EXPORTER_IN_FLIGHT_MAX;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = delivery_now(delivery);
    export_queue_init(&worker->queue, &full, random, delivery_now(delivery));
    worker->queue.lose = lose_queue_entry;
    worker->queue.ctx = worker;
    export_log_init(&worker->log, worker->name, &delivery->world);
    return worker;
}

void export_worker_free(struct export_worker *worker)
{
    for (size_t i = 0; i < worker->queue.count; i++)
        if (worker->queue.entries[i]->file) /* of which the disk has it still */
            spool_file_release(worker->delivery->writer, worker->queue.entries[i]->file);
    export_queue_finish(&worker->queue);
    worker->sink.close(worker->sink.ctx);
    (void)pthread_cond_destroy(&worker->changed);
    free(worker);
}

void export_worker_add(struct export_worker *worker, struct export_entry *entry)
{
    entry->order = worker->delivery->next_order++;
    export_queue_add(&worker->queue, entry);
    (void)pthread_cond_signal(&worker->changed);
    worker->sink.wake(worker->sink.ctx);
}

void export_worker_stats(struct export_worker *worker, struct delivery_stats *out)
{
    struct export_backlog backlog;

    export_queue_backlog(&worker->queue, &backlog);
    *out = worker->stats;
    out->queued = backlog.profiles;
    out->queued_batches = backlog.batches;
    out->backlog_bytes = backlog.bytes;
    out->queued_bytes = backlog.memory_bytes;
    out->in_spool = backlog.disk_profiles;
    out->in_flight = worker->queue.in_flight;
    out->oldest_ns =
        backlog.oldest_put_ns > 0 ? delivery_now(worker->delivery) - backlog.oldest_put_ns : 0;
    out->in_rate = worker->rates.in_rate;
    out->out_rate = worker->rates.out_rate;
}

/* The size of the profiles that were taken, if not all failed. */
static size_t bytes_taken(const struct batch *batch, const struct exporter_answer *answer)
{
    size_t bytes = 0;

    for (size_t i = 0; i < batch->count; i++)
        if (answer->failed_count == 0 || !batch_set_has(&answer->failed, i))
            bytes += batch->profiles[i].size;
    return bytes;
}

/* Counts the profiles of a push: how many were taken, how many refused. With the lock. */
static void count_result(struct export_worker *worker, const struct flight *flight,
                         const struct exporter_result *result)
{
    const struct delivery_world *world = &worker->delivery->world;
    const struct exporter_answer *answer = &result->answer;
    const struct batch *batch = flight->held.batch;
    struct delivery_stats *stats = &worker->stats;
    size_t failed = 0;

    if (result->rc != EXPORTER_OK)
        failed = answer->failed_count > 0 ? answer->failed_count : batch->count;
    stats->sent += batch->count - failed;
    if (failed < batch->count)
        stats->sent_bytes += bytes_taken(batch, answer);
    if (result->rc == EXPORTER_OK)
        stats->rejected += answer->dropped;
    else
        stats->last_error = answer->err;
    if (result->rc == EXPORTER_RETRY || result->rc == EXPORTER_NOMEM) {
        stats->retried++;
        stats->denied += answer->denied ? 1 : 0;
    }
    push_counts_add(&stats->pushes, result->rc, answer,
                    delivery_now(worker->delivery) - flight->started_ns, world->utc_ns(world->ctx));
}

/* An entry for a part of another's batch; NULL: out of memory. With the lock. */
static struct export_entry *part_of(struct export_worker *worker, const struct export_entry *whole,
                                    struct batch *batch)
{
    struct delivery *delivery = worker->delivery;
    struct export_entry *entry = batch ? delivery_entry_new(delivery, batch) : NULL;

    if (!entry) {
        batch_unref(batch);
        return NULL;
    }
    entry->order = delivery->next_order++;
    entry->file = whole->file; /* until it has one of its own */
    if (entry->file)
        entry->file->users++;
    return entry;
}

/*
 * Puts parts of an entry's batch into its place: those in each of the sets. With the lock. False:
 * out of memory, and nothing has changed.
 */
static bool replace_by_parts(struct export_worker *worker, const struct flight *flight,
                             const struct batch_set *sets, size_t count, bool answered)
{
    struct delivery *delivery = worker->delivery;
    struct export_entry *parts[HALVES] = {NULL};
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        parts[i] = part_of(worker, flight->entry, batch_subset(flight->held.batch, &sets[i]));
        good = good && parts[i];
    }
    for (size_t i = 0; i < count && !good; i++)
        if (parts[i])
            delivery_entry_end(delivery, parts[i]);
    if (!good)
        return false;
    for (size_t i = 0; i < count && delivery->writer; i++)
        spool_pending_add(delivery->writer, worker, parts[i]);
    export_queue_replace(&worker->queue, flight->entry, parts, count, answered,
                         delivery_now(delivery));
    delivery_entry_end(delivery, flight->entry);
    return true;
}

/* Puts the two halves of a batch in its place in the queue. With the lock. */
static bool halve(struct export_worker *worker, const struct flight *flight, bool answered)
{
    struct batch_set sets[HALVES] = {{{0}}, {{0}}};
    size_t count = flight->held.batch->count;

    for (size_t i = 0; i < count; i++)
        batch_set_add(&sets[i < count / 2 ? 0 : 1], i);
    return replace_by_parts(worker, flight, sets, HALVES, answered);
}

/* Does what an answer means for an entry. With the lock. */
static void settle_result(struct export_worker *worker, const struct flight *flight,
                          const struct exporter_result *result)
{
    const struct exporter_answer *answer = &result->answer;
    size_t count = flight->held.batch->count, failed = answer->failed_count;
    bool partly = failed > 0 && failed < count;
    enum exporter_rc rc = result->rc;
    struct export_entry *entry = flight->entry;

    if (rc == EXPORTER_REFUSED && failed == 0 && count > 1 && halve(worker, flight, true))
        return;
    if (rc == EXPORTER_RETRY && partly &&
        replace_by_parts(worker, flight, &answer->failed, 1, true))
        return;
    if (rc == EXPORTER_REFUSED)
        worker->stats.refused += failed > 0 ? failed : count;
    switch (
        export_queue_complete(&worker->queue, entry, rc, answer, delivery_now(worker->delivery))) {
    case EXPORT_GIVEN_UP:
        worker->stats.dropped_old += entry->count;
        delivery_entry_end(worker->delivery, entry);
        break;
    case EXPORT_ENDED:
        delivery_entry_end(worker->delivery, entry);
        break;
    case EXPORT_WAITS:
        delivery_entry_unload(entry);
        break;
    }
}

/* More comes than is taken, and the oldest has waited for long. With the lock. */
static void judge_pace(struct export_worker *worker)
{
    uint64_t limit = BEHIND_INTERVALS * worker->queue.limits.interval_ns;
    struct delivery_stats *stats = &worker->stats, now;

    limit = limit > BEHIND_NS ? limit : BEHIND_NS;
    if (!export_rates_update(&worker->rates, delivery_now(worker->delivery), worker->put,
                             stats->sent + stats->refused))
        return;
    export_worker_stats(worker, &now);
    if (stats->behind)
        stats->behind = now.oldest_ns > limit;
    else
        stats->behind = now.oldest_ns > limit && now.in_rate > now.out_rate &&
                        !export_queue_is_failing(&worker->queue);
}

/* A push has ended. With the lock, which it gives up to say what is news. */
static void take_result(struct export_worker *worker, const struct exporter_result *result)
{
    struct flight *flight = result->ctx;
    struct delivery_stats stats;
    bool silent;

    count_result(worker, flight, result);
    settle_result(worker, flight, result);
    judge_pace(worker);
    export_worker_stats(worker, &stats);
    silent = worker->delivery->mode >= DELIVERY_CANCELLED;
    (void)pthread_mutex_unlock(&worker->delivery->lock);
    spool_let_go(&flight->held);
    flight->worker = NULL;
    if (!silent) {
        export_log_result(&worker->log, result, delivery_now(worker->delivery), &stats);
        export_log_behind(&worker->log, &stats);
    }
    (void)pthread_mutex_lock(&worker->delivery->lock);
}

/* What was to be read from the spool is no batch, or is gone, or the disk fails. With the lock. */
static void settle_unread(struct export_worker *worker, struct export_entry *entry,
                          enum spool_rc rc, const struct err *err)
{
    struct delivery *delivery = worker->delivery;
    uint64_t now_ns = delivery_now(delivery);

    if (rc == SPOOL_BUSY || rc == SPOOL_FAILED || rc == SPOOL_NOMEM) {
        if (rc != SPOOL_BUSY)
            worker->stats.last_error = *err;
        export_queue_put_back(&worker->queue, entry, now_ns, rc == SPOOL_BUSY ? BUSY_NS : DISK_NS);
        return;
    }
    if (rc != SPOOL_GONE) { /* which somebody else has taken care of */
        worker->stats.dropped_full += entry->count;
        delivery->writer->stats.bad++;
    }
    export_queue_remove(&worker->queue, entry);
    delivery_entry_end(delivery, entry);
}

/* Gets the batch of an entry, from the disk if it is not in memory. With the lock, which is given
 * up while the disk is read. False: it could not be read, and the entry has been seen to. */
static bool get_batch(struct export_worker *worker, struct flight *flight)
{
    struct delivery *delivery = worker->delivery;
    struct export_entry *entry = flight->entry;
    struct spool_name name;
    struct err err = {""};
    enum spool_rc rc;

    if (entry->batch) {
        flight->held = (struct spool_held){-1, batch_ref(entry->batch)};
        return true;
    }
    name = entry->file->name;
    (void)pthread_mutex_unlock(&delivery->lock);
    rc = spool_take(delivery->writer->spool, &name, true, &flight->held, &err);
    if (rc == SPOOL_CORRUPT || rc == SPOOL_NEWER) {
        char text[SPOOL_FILE_NAME_SIZE];

        spool_file_name(&name, text);
        spool_set_aside(delivery->writer->spool, text);
    }
    (void)pthread_mutex_lock(&delivery->lock);
    if (rc != SPOOL_OK)
        settle_unread(worker, entry, rc, &err);
    return rc == SPOOL_OK;
}

static struct flight *free_flight(struct export_worker *worker)
{
    struct flight *flight = worker->flights;

    while (flight->worker) /* the queue gives no more than there are */
        flight++;
    return flight;
}

/* The disk has not written a batch within its time. With the lock, given up to say so. */
static void note_slow_disk(struct export_worker *worker, const struct export_entry *entry)
{
    struct spool_writer *writer = worker->delivery->writer;

    if (!entry->unwritten || entry->file || worker->delivery->mode != DELIVERY_RUNNING)
        return;
    writer->stats.in_memory += entry->count;
    if (writer->stats.failing)
        return;
    writer->stats.failing = true;
    err_set(&writer->stats.last_error, "%s: the disk does not answer", writer->settings.path);
    (void)pthread_mutex_unlock(&worker->delivery->lock);
    export_log_say(&worker->delivery->world, "spool", DELIVERY_WARNING,
                   "%s: the disk does not answer; profiles wait in memory instead",
                   writer->settings.path);
    (void)pthread_mutex_lock(&worker->delivery->lock);
}

/* Begins to send an entry. With the lock, which it gives up meanwhile. */
static void start_entry(struct export_worker *worker, struct export_entry *entry)
{
    struct delivery *delivery = worker->delivery;
    const struct delivery_world *world = &delivery->world;
    struct flight *flight = free_flight(worker);

    *flight = (struct flight){.entry = entry, .held = {.fd = -1}};
    note_slow_disk(worker, entry);
    if (!get_batch(worker, flight))
        return;
    if (entry->halve && flight->held.batch->count > 1 && halve(worker, flight, false)) {
        spool_let_go(&flight->held);
        return;
    }
    flight->worker = worker;
    flight->started_ns = delivery_now(delivery);
    (void)pthread_mutex_unlock(&delivery->lock);
    worker->sink.start(worker->sink.ctx, flight->held.batch, world->utc_ns(world->ctx), flight);
    (void)pthread_mutex_lock(&delivery->lock);
}

/* True if there is nothing left that is worth a try. With the lock. */
static bool is_worker_done(const struct export_worker *worker)
{
    const struct export_queue *queue = &worker->queue;
    struct export_backlog backlog;

    if (queue->in_flight > 0 || worker->delivery->mode == DELIVERY_RUNNING)
        return false;
    if (worker->delivery->mode >= DELIVERY_CANCELLED || queue->count == 0)
        return true;
    export_queue_backlog(queue, &backlog);
    return export_queue_is_failing(queue) && backlog.disk_profiles == backlog.profiles;
}

/* Waits for a push to end, or until it is time for the next. With the lock, given up meanwhile. */
static void wait_for_change(struct export_worker *worker, uint64_t due_ns)
{
    struct delivery *delivery = worker->delivery;
    uint64_t now_ns = delivery_now(delivery), left_ms;
    struct exporter_result result;
    bool got;

    if (worker->queue.in_flight == 0) {
        delivery_wait(delivery, &worker->changed, due_ns);
        return;
    }
    left_ms = due_ns > now_ns ? (due_ns - now_ns) / NS_PER_MS + 1 : 0;
    (void)pthread_mutex_unlock(&delivery->lock);
    got = worker->sink.wait(worker->sink.ctx, left_ms < 1000 ? (unsigned)left_ms : 1000, &result);
    (void)pthread_mutex_lock(&delivery->lock);
    if (got)
        take_result(worker, &result);
}

static void *run_export_worker(void *ctx)
{
    struct export_worker *worker = ctx;
    struct delivery *delivery = worker->delivery;
    struct export_entry *entry;
    uint64_t due_ns;

    (void)pthread_mutex_lock(&delivery->lock);
    while (!is_worker_done(worker)) {
        due_ns = UINT64_MAX;
        while (delivery->mode < DELIVERY_CANCELLED &&
               (entry = export_queue_next(&worker->queue, delivery_now(delivery), &due_ns)))
            start_entry(worker, entry);
        if (!is_worker_done(worker))
            wait_for_change(worker, due_ns);
    }
    (void)pthread_mutex_unlock(&delivery->lock);
    delivery_end_thread(delivery, &worker->ended);
    return NULL;
}

bool export_worker_start(struct export_worker *worker)
{
    char title[16];

    (void)snprintf(title, sizeof(title), "send %.10s", worker->name);
    worker->started =
        delivery_start_thread(worker->delivery, &worker->thread, run_export_worker, worker, title);
    return worker->started;
}

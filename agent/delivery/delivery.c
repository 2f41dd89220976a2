/* SPDX-License-Identifier: Apache-2.0 */
/* delivery.c - all exporters and the spool together; see delivery.h. */
#include "agent/delivery/delivery.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/delivery/internal.h"
#include "base/text.h"
#include "base/time_units.h"

/* What a cancel may take beyond the deadline, out of the 200 ms that are promised. */
#define GRACE_NS (150 * NS_PER_MS)

static void destroy_delivery(struct delivery *delivery)
{
    spool_pending_finish(delivery->writer);
    for (size_t i = 0; i < delivery->count; i++)
        export_worker_free(delivery->workers[i]);
    spool_writer_free(delivery->writer);
    for (size_t i = 0; i < delivery->gathering_count; i++)
        batch_builder_finish(&delivery->gatherings[i].builder);
    (void)pthread_cond_destroy(&delivery->thread_ended);
    (void)pthread_mutex_destroy(&delivery->lock);
    free(delivery);
}

bool delivery_new(const struct delivery_world *world, const struct delivery_spool *spool,
                  struct delivery **out, struct err *err)
{
    struct delivery *delivery = calloc(1, sizeof(*delivery));

    err_set(err, "out of memory");
    if (!delivery)
        return false;
    delivery->world = *world;
    delivery->next_order = 1;
    delivery->destroy = destroy_delivery;
    delivery->interval = (uint64_t)world->utc_ns(world->ctx);
    (void)pthread_mutex_init(&delivery->lock, NULL); /* which cannot fail, nor can the next */
    (void)pthread_cond_init(&delivery->thread_ended, NULL);
    if (!spool || spool_writer_new(spool, &delivery->writer, err)) {
        if (delivery->writer)
            spool_log_init(&delivery->writer->log, &delivery->world);
        *out = delivery;
        return true;
    }
    free(delivery);
    return false;
}

static void sink_start(void *ctx, const struct batch *batch, int64_t now_ns, void *tag)
{
    exporter_start(ctx, batch, now_ns, tag);
}

static bool sink_wait(void *ctx, unsigned timeout_ms, struct exporter_result *out)
{
    return exporter_wait(ctx, timeout_ms, out);
}

static void sink_wake(void *ctx)
{
    exporter_wake(ctx);
}

static void sink_reconnect(void *ctx)
{
    exporter_reconnect(ctx);
}

static void sink_cancel(void *ctx)
{
    exporter_cancel(ctx);
}

static void sink_close(void *ctx)
{
    exporter_close(ctx);
}

struct delivery_sink delivery_sink_of(struct exporter *exporter)
{
    return (struct delivery_sink){
        .start = sink_start,
        .wait = sink_wait,
        .wake = sink_wake,
        .reconnect = sink_reconnect,
        .cancel = sink_cancel,
        .close = sink_close,
        .in_flight_max = exporter_in_flight_max(exporter),
        .profiles_max = exporter_profiles_max(exporter),
        .ctx = exporter,
    };
}

/* True if this is what gathers for a worker. */
static bool gathers_for(const struct gathering *g, const struct export_worker *worker)
{
    return worker->form == g->form && worker->sink.profiles_max == g->profiles_max;
}

/* Gives: what gathers for such an exporter. */
static struct gathering *find_gathering(struct delivery *delivery, enum exporter_form form,
                                        size_t profiles_max)
{
    struct gathering *g = delivery->gatherings;

    for (; g < delivery->gatherings + delivery->gathering_count; g++)
        if (g->form == form && g->profiles_max == profiles_max)
            return g;
    *g = (struct gathering){.form = form, .profiles_max = profiles_max};
    batch_builder_init(&g->builder, form);
    delivery->gathering_count++;
    return g;
}

bool delivery_add(struct delivery *delivery, const char *name, enum exporter_form form,
                  const struct delivery_sink *sink, const struct export_limits *limits)
{
    struct export_worker *worker = NULL;

    if (delivery->count < DELIVERY_EXPORTERS_MAX)
        worker = export_worker_new(delivery, name, form, sink, limits);
    if (!worker) {
        sink->close(sink->ctx);
        return false;
    }
    (void)find_gathering(delivery, form, sink->profiles_max);
    delivery->workers[delivery->count++] = worker;
    return true;
}

void delivery_waits(struct delivery *delivery, const struct err *why)
{
    struct export_worker *worker = delivery->workers[delivery->count - 1];
    const struct exporter_result result = {.rc = EXPORTER_RETRY, .answer.err = *why};

    worker->stats.last_error = *why;
    export_log_result(&worker->log, &result, delivery_now(delivery), &worker->stats);
}

bool delivery_start(struct delivery *delivery)
{
    if (delivery->writer && !spool_writer_start(delivery))
        return false;
    for (size_t i = 0; i < delivery->count; i++)
        if (!export_worker_start(delivery->workers[i]))
            return false;
    return true;
}

size_t delivery_wanted(const struct delivery *delivery, enum exporter_form form)
{
    size_t wanted = 0;

    for (size_t i = 0; i < delivery->count; i++)
        wanted += delivery->workers[i]->form == form ? 1 : 0;
    return wanted;
}

/* Gives a batch to an exporter, to be written first if there is a spool. With the lock. */
static void queue_batch(struct delivery *delivery, struct export_worker *worker,
                        struct batch *batch)
{
    struct export_entry *entry = delivery_entry_new(delivery, batch_ref(batch));

    worker->put += batch->count;
    if (!entry) {
        batch_unref(batch);
        worker->stats.dropped_full += batch->count;
        return;
    }
    if (delivery->writer)
        spool_pending_add(delivery->writer, worker, entry);
    export_worker_add(worker, entry);
}

/* Hands over what was gathered. */
static void flush_gathering(struct delivery *delivery, struct gathering *g)
{
    size_t lost = g->builder.head.count;
    struct batch *batch = batch_builder_take(&g->builder, delivery->interval,
                                             delivery->world.utc_ns(delivery->world.ctx));

    if (lost == 0)
        return;
    (void)pthread_mutex_lock(&delivery->lock);
    for (size_t i = 0; i < delivery->count; i++) {
        struct export_worker *worker = delivery->workers[i];

        if (!gathers_for(g, worker))
            continue;
        if (batch)
            queue_batch(delivery, worker, batch);
        else
            worker->stats.dropped_full += lost;
    }
    (void)pthread_mutex_unlock(&delivery->lock);
    batch_unref(batch);
}

/* A profile that no batch has room for, or there is no memory for. */
static void count_lost(struct delivery *delivery, const struct gathering *g)
{
    (void)pthread_mutex_lock(&delivery->lock);
    for (size_t i = 0; i < delivery->count; i++)
        if (gathers_for(g, delivery->workers[i]))
            delivery->workers[i]->stats.dropped_full++;
    (void)pthread_mutex_unlock(&delivery->lock);
}

void delivery_put(struct delivery *delivery, enum exporter_form form,
                  const struct exporter_profile *profile)
{
    for (size_t i = 0; i < delivery->gathering_count && !delivery->stop_called; i++) {
        struct gathering *g = &delivery->gatherings[i];

        if (g->form != form)
            continue;
        if (batch_builder_is_full(&g->builder, profile->size))
            flush_gathering(delivery, g);
        if (!batch_builder_add(&g->builder, profile))
            count_lost(delivery, g);
        if (g->builder.head.count >= g->profiles_max)
            flush_gathering(delivery, g);
    }
}

void delivery_end_interval(struct delivery *delivery)
{
    uint64_t utc_ns = (uint64_t)delivery->world.utc_ns(delivery->world.ctx);

    for (size_t i = 0; i < delivery->gathering_count; i++)
        flush_gathering(delivery, &delivery->gatherings[i]);
    /* As a time it is greater than those that an earlier run has left in the spool. */
    delivery->interval = utc_ns > delivery->interval ? utc_ns : delivery->interval + 1;
}

void delivery_reconnect(struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->count; i++)
        delivery->workers[i]->sink.reconnect(delivery->workers[i]->sink.ctx);
}

size_t delivery_count(const struct delivery *delivery)
{
    return delivery->count;
}

const char *delivery_stats(struct delivery *delivery, size_t i, struct delivery_stats *out)
{
    (void)pthread_mutex_lock(&delivery->lock);
    export_worker_stats(delivery->workers[i], out);
    (void)pthread_mutex_unlock(&delivery->lock);
    return delivery->workers[i]->name;
}

void delivery_spool_stats(struct delivery *delivery, struct delivery_spool_stats *out)
{
    *out = (struct delivery_spool_stats){0};
    if (!delivery->writer)
        return;
    (void)pthread_mutex_lock(&delivery->lock);
    *out = delivery->writer->stats;
    out->pending = delivery->writer->pending_count;
    (void)pthread_mutex_unlock(&delivery->lock);
}

/* Changes the mode and wakes all threads. With the lock. */
static void set_mode(struct delivery *delivery, enum delivery_mode mode)
{
    delivery->mode = mode;
    for (size_t i = 0; i < delivery->count; i++) {
        struct export_worker *worker = delivery->workers[i];

        export_queue_hurry(&worker->queue);
        (void)pthread_cond_broadcast(&worker->changed);
        if (worker->ended)
            continue;
        if (mode == DELIVERY_CANCELLED)
            worker->sink.cancel(worker->sink.ctx);
        else
            worker->sink.wake(worker->sink.ctx);
    }
    if (delivery->writer && delivery->writer->started)
        (void)pthread_cond_broadcast(&delivery->writer->changed);
}

static bool have_workers_ended(const struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->count; i++)
        if (delivery->workers[i]->started && !delivery->workers[i]->ended)
            return false;
    return true;
}

static bool has_writer_ended(const struct delivery *delivery)
{
    return !delivery->writer || !delivery->writer->started || delivery->writer->ended;
}

/* Waits until what `done` asks for, but not beyond the deadline. With the lock. */
static void wait_until(struct delivery *delivery, bool (*done)(const struct delivery *),
                       uint64_t deadline_ns)
{
    while (!done(delivery) && delivery_now(delivery) < deadline_ns)
        delivery_wait(delivery, &delivery->thread_ended, deadline_ns);
}

/* Says what an exporter has lost at the end. With the lock, as no thread of it runs any more, or
 * one that hangs. */
static bool tell_lost(struct delivery *delivery, struct export_worker *worker)
{
    struct delivery_stats stats;
    uint64_t lost;

    export_worker_stats(worker, &stats);
    lost = stats.queued - stats.in_spool;
    worker->stats.dropped_stop += lost;
    if (lost > 0)
        export_log_say(&delivery->world, worker->log.who, DELIVERY_WARNING,
                       "%" PRIu64 " %s could not be delivered before the end", lost,
                       text_plural(lost, "profile", "profiles"));
    return lost == 0;
}

bool delivery_stop(struct delivery *delivery, uint64_t deadline_ns)
{
    uint64_t now_ns = delivery_now(delivery);
    uint64_t last_ns = (deadline_ns > now_ns ? deadline_ns : now_ns) + GRACE_NS;
    bool whole = true;

    if (delivery->stop_called)
        return true;
    delivery_end_interval(delivery);
    delivery->stop_called = true;
    (void)pthread_mutex_lock(&delivery->lock);
    set_mode(delivery, DELIVERY_STOPPING);
    wait_until(delivery, have_workers_ended, deadline_ns);
    set_mode(delivery, DELIVERY_CANCELLED);
    wait_until(delivery, have_workers_ended, last_ns);
    set_mode(delivery, DELIVERY_CLOSED);
    wait_until(delivery, has_writer_ended, last_ns);
    for (size_t i = 0; i < delivery->count; i++)
        whole = tell_lost(delivery, delivery->workers[i]) && whole;
    (void)pthread_mutex_unlock(&delivery->lock);
    return whole;
}

/* Joins a thread that has ended; leaves one that has not. */
static void join_thread(bool started, bool ended, pthread_t thread)
{
    if (started && ended)
        (void)pthread_join(thread, NULL);
    else if (started)
        (void)pthread_detach(thread);
}

bool delivery_free(struct delivery *delivery)
{
    bool whole = true;

    if (!delivery)
        return true;
    (void)delivery_stop(delivery, 0);
    (void)pthread_mutex_lock(&delivery->lock);
    delivery->abandoned = delivery->threads > 0;
    whole = !delivery->abandoned;
    for (size_t i = 0; i < delivery->count; i++) {
        const struct export_worker *worker = delivery->workers[i];

        join_thread(worker->started, worker->ended, worker->thread);
    }
    if (delivery->writer)
        join_thread(delivery->writer->started, delivery->writer->ended, delivery->writer->thread);
    (void)pthread_mutex_unlock(&delivery->lock);
    if (whole)
        destroy_delivery(delivery);
    return whole;
}

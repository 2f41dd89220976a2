/* SPDX-License-Identifier: Apache-2.0 */
/* delivery.c - the lanes of all exporters together; see delivery.h. */
#include "agent/delivery/delivery.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/delivery/internal.h"

enum { LINE_SIZE = 256 };

bool delivery_new(const struct delivery_world *world, const struct delivery_spool *spool,
                  struct delivery **out, struct err *err)
{
    struct delivery *delivery = calloc(1, sizeof(*delivery));

    err_set(err, "out of memory");
    if (!delivery)
        return false;
    delivery->world = *world;
    atomic_init(&delivery->order, 1);
    if (spool && !spooler_new(world, spool, &delivery->spooler, err)) {
        free(delivery);
        return false;
    }
    *out = delivery;
    return true;
}

bool delivery_start(struct delivery *delivery)
{
    return !delivery->spooler ||
           spooler_start(delivery->spooler, delivery->workers, delivery->count);
}

static enum exporter_rc sink_send(void *ctx, const struct exporter_profile *profile, int64_t now_ns,
                                  struct exporter_answer *answer)
{
    return exporter_send(ctx, profile, now_ns, answer);
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
    return (struct delivery_sink){sink_send, sink_cancel, sink_close, exporter};
}

static struct delivery_limits with_defaults(const struct delivery_limits *limits)
{
    struct delivery_limits full = *limits;

    if (full.queue_profiles == 0)
        full.queue_profiles = 32;
    if (full.queue_bytes == 0)
        full.queue_bytes = 32 * 1024 * 1024;
    if (full.retry_ns == 0)
        full.retry_ns = 300 * NS_PER_S;
    if (full.backoff_min_ns == 0)
        full.backoff_min_ns = 500 * NS_PER_MS;
    if (full.backoff_max_ns == 0)
        full.backoff_max_ns = 30 * NS_PER_S;
    if (full.denied_max_ns == 0)
        full.denied_max_ns = 300 * NS_PER_S;
    if (full.log_every_ns == 0)
        full.log_every_ns = 60 * NS_PER_S;
    return full;
}

bool delivery_make_worker(struct delivery *delivery, const char *name, enum exporter_form form,
                          const struct delivery_sink *sink, const struct delivery_limits *limits,
                          struct export_worker **out)
{
    const struct export_worker_settings settings = {
        .name = name,
        .form = form,
        .sink = *sink,
        .limits = with_defaults(limits),
        .world = delivery->world,
        .spooler = delivery->spooler,
        .id = ++delivery->last_id,
    };

    if (export_worker_new(&settings, out))
        return true;
    sink->close(sink->ctx);
    return false;
}

bool delivery_add(struct delivery *delivery, const char *name, enum exporter_form form,
                  const struct delivery_sink *sink, const struct delivery_limits *limits)
{
    size_t bytes = (delivery->count + 1) * sizeof(delivery->workers[0]);
    struct export_worker **workers = realloc(delivery->workers, bytes);

    if (!workers) {
        sink->close(sink->ctx);
        return false;
    }
    delivery->workers = workers;
    if (!delivery_make_worker(delivery, name, form, sink, limits, &workers[delivery->count]))
        return false;
    delivery->count++;
    return true;
}

size_t delivery_wanted(const struct delivery *delivery, enum exporter_form form)
{
    size_t wanted = 0;

    for (size_t i = 0; i < delivery->count; i++)
        wanted += export_worker_form(delivery->workers[i]) == form ? 1 : 0;
    return wanted;
}

/* Without a spool: to each exporter of the form at once. */
static void put_in_memory(struct delivery *delivery, enum exporter_form form,
                          struct payload *payload)
{
    const struct exporter_profile *profile = payload_profile(payload);
    uint64_t now_ns = delivery->world.now_ns(delivery->world.ctx);
    struct delivery_item item = {
        .order = atomic_fetch_add(&delivery->order, 1),
        .born_ns = delivery_born_ns(now_ns, profile->start_ns, profile->end_ns),
        .put_ns = now_ns,
    };

    for (size_t i = 0; i < delivery->count; i++) {
        if (export_worker_form(delivery->workers[i]) != form)
            continue;
        item.payload = payload_ref(payload);
        export_worker_put(delivery->workers[i], &item);
    }
}

static void count_lost(struct delivery *delivery, enum exporter_form form)
{
    for (size_t i = 0; i < delivery->count; i++) {
        if (export_worker_form(delivery->workers[i]) == form)
            export_worker_count_lost(delivery->workers[i]);
    }
}

void delivery_put(struct delivery *delivery, enum exporter_form form,
                  const struct exporter_profile *profile)
{
    struct payload *payload;

    if (delivery_wanted(delivery, form) == 0)
        return;
    payload = payload_new(profile);
    if (!payload)
        count_lost(delivery, form);
    else if (!delivery->spooler || delivery->flushed)
        put_in_memory(delivery, form, payload);
    else if (!spooler_put(delivery->spooler, form, payload))
        put_in_memory(delivery, form, payload);
    payload_unref(payload);
}

size_t delivery_count(const struct delivery *delivery)
{
    return delivery->count;
}

const char *delivery_stats(struct delivery *delivery, size_t i, struct delivery_stats *out)
{
    export_worker_stats(delivery->workers[i], out);
    return export_worker_name(delivery->workers[i]);
}

void delivery_spool_stats(struct delivery *delivery, struct delivery_spool_stats *out)
{
    *out = (struct delivery_spool_stats){0};
    if (delivery->spooler)
        spooler_stats(delivery->spooler, out);
}

bool delivery_take_stock(const struct delivery_world *world, struct export_worker *worker)
{
    struct delivery_stats stats;
    char line[LINE_SIZE];
    uint64_t lost;

    export_worker_stats(worker, &stats);
    /* What is queued still is under way in a thread that is stuck. */
    lost = stats.dropped_stop + stats.queued - stats.in_spool;
    if (lost == 0)
        return true;
    (void)snprintf(line, sizeof(line),
                   "exporter %.64s: %" PRIu64 " profiles could not be delivered before the end",
                   export_worker_name(worker), lost);
    world->log(world->ctx, DELIVERY_WARNING, line);
    return false;
}

bool delivery_flush(struct delivery *delivery, uint64_t deadline_ns)
{
    uint64_t now_ns = delivery->world.now_ns(delivery->world.ctx);
    uint64_t last_ns = (deadline_ns > now_ns ? deadline_ns : now_ns) + GRACE_NS;
    bool whole = true;

    if (delivery->spooler)
        spooler_drain(delivery->spooler, now_ns + (last_ns - GRACE_NS - now_ns) / 2);
    delivery->flushed = true;
    for (size_t i = 0; i < delivery->count; i++)
        export_worker_expedite(delivery->workers[i], false);
    for (size_t i = 0; i < delivery->count; i++)
        (void)export_worker_wait(delivery->workers[i], deadline_ns);
    for (size_t i = 0; i < delivery->count; i++) {
        if (!export_worker_wait(delivery->workers[i], 0))
            export_worker_stop(delivery->workers[i]);
    }
    for (size_t i = 0; i < delivery->count; i++)
        (void)export_worker_wait(delivery->workers[i], last_ns);
    if (delivery->spooler)
        spooler_end(delivery->spooler, last_ns);
    for (size_t i = 0; i < delivery->count; i++)
        whole = delivery_take_stock(&delivery->world, delivery->workers[i]) && whole;
    return whole;
}

bool delivery_free(struct delivery *delivery)
{
    bool whole = true;

    if (!delivery)
        return true;
    if (!delivery->flushed)
        (void)delivery_flush(delivery, 0);
    for (size_t i = 0; i < delivery->count; i++)
        whole = export_worker_free(delivery->workers[i]) && whole;
    whole = spooler_free(delivery->spooler) && whole;
    free(delivery->workers);
    free(delivery);
    return whole;
}

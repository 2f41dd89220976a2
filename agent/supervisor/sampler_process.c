/* SPDX-License-Identifier: Apache-2.0 */
/* sampler_process.c - see sampler_process.h. */
#include "agent/supervisor/sampler_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/dump/hang_dump.h"
#include "agent/host/clock.h"
#include "agent/sampling/stats.h"

#define PAUSE_FIRST_NS (100 * NS_PER_MS)
#define PAUSE_MAX_NS   (30 * NS_PER_S)
/* A sampler that was lost later than this was a good one. */
#define GOOD_NS (10 * NS_PER_S)

bool slot_start(struct slot *slot, bool onsite, uint64_t now_ns, struct err *err)
{
    char parent[16];
    char *argv[] = {(char[]){"pystrobe"}, (char[]){"sampler"}, parent,
                    onsite ? (char[]){"onsite"} : NULL, NULL};

    (void)snprintf(parent, sizeof(parent), "%d", (int)getpid());
    slot->done = 0;
    slot->settled = 0;
    slot->now = (struct report_counts){0};
    if (helper_start(&slot->helper, "/proc/self/exe", argv, now_ns, err)) {
        slot->begun++;
        return true;
    }
    slot->next_start_ns = now_ns + PAUSE_MAX_NS;
    return false;
}

void slot_add_counts(struct report_counts *sum, const struct report_counts *more)
{
    size_t i;

    sum->stats.samples += more->stats.samples;
    sum->stats.missed += more->stats.missed;
    sum->stats.rested += more->stats.rested;
    for (i = 0; i < ENGINE_OUTCOMES; i++)
        sum->stats.failed[i] += more->stats.failed[i];
    stats_add_times(&sum->stats.times, &more->stats.times);
    stats_add(&sum->unwinder, &more->unwinder);
}

uint64_t slot_cpu_ns(const struct slot *slot)
{
    clockid_t clock;
    uint64_t cpu;

    if (slot->helper.pid == 0 || !proc_clock(slot->helper.pid, &clock) ||
        !proc_clock_ns(clock, &cpu))
        cpu = 0;
    return slot->cpu_ns + cpu;
}

static void free_feeds(struct slot *slot)
{
    struct slot_feed *feed, *next;

    for (feed = slot->feeds; feed; feed = next) {
        next = feed->next;
        pprof_taker_finish(&feed->taker);
        free(feed);
    }
    slot->feeds = NULL;
}

void slot_stop(struct slot *slot, bool failed, uint64_t now_ns, struct report_counts *sum)
{
    if (slot->helper.pid == 0)
        return;
    if (now_ns > slot->helper.started_ns + GOOD_NS)
        slot->pause_ns = 0;
    slot->next_start_ns = failed ? now_ns + slot->pause_ns : now_ns;
    if (failed)
        slot->pause_ns = slot->pause_ns ? slot->pause_ns * 2 : PAUSE_FIRST_NS;
    if (slot->pause_ns > PAUSE_MAX_NS)
        slot->pause_ns = PAUSE_MAX_NS;
    slot->cpu_ns = slot_cpu_ns(slot);
    helper_end(&slot->helper);
    slot_add_counts(sum, &slot->now);
    slot->now = (struct report_counts){0};
    free_feeds(slot);
}

void slot_finish(struct slot *slot)
{
    helper_end(&slot->helper);
    free_feeds(slot);
}

bool slot_order(struct slot *slot, enum order order, const void *message, size_t size)
{
    return link_send(&slot->helper.link, order, message, size, NULL, 0) == LINK_OK;
}

/* What is being received. */
struct receiving {
    struct slot *slot;
    struct services *services;
    const struct slot_news *news;
    void *ctx;
    uint64_t running;
    bool bad;
};

/* The feed of a service. A new one waits for the first piece of an interval. */
static struct slot_feed *feed_of(struct receiving *r, const struct report_rows *head)
{
    struct slot_feed *feed;

    for (feed = r->slot->feeds; feed; feed = feed->next)
        if (strcmp(feed->name, head->service) == 0 && labels_equal(&feed->labels, &head->labels))
            return feed;
    feed = calloc(1, sizeof(*feed));
    if (!feed)
        return NULL;
    memcpy(feed->name, head->service, sizeof(feed->name));
    feed->labels = head->labels;
    feed->stale = true;
    feed->next = r->slot->feeds;
    r->slot->feeds = feed;
    return feed;
}

/* The service that a feed is for; NULL: out of memory. It is kept while pieces come. */
static struct service *service_of(struct receiving *r, const struct slot_feed *feed)
{
    uint64_t now_ns = clock_mono_ns();
    int64_t since_ns = (int64_t)(now_ns - r->services->begin_ns);
    struct service *service = services_get_labelled(
        r->services, feed->name, &feed->labels, clock_utc_ns() - since_ns, r->services->begin_ns);

    if (service)
        service->users = 1;
    return service;
}

/* Adds a piece to its service's profile. False: it makes no sense. */
static bool take_rows(struct receiving *r, const void *bytes, size_t size)
{
    struct report_rows head;
    struct service *service;
    struct slot_feed *feed;
    uint64_t overflow;
    enum pprof_rc rc;

    if (size < sizeof(head))
        return false;
    memcpy(&head, bytes, sizeof(head));
    head.service[sizeof(head.service) - 1] = '\0';
    head.python[sizeof(head.python) - 1] = '\0';
    feed = labels_are_good(&head.labels) ? feed_of(r, &head) : NULL;
    if (!feed)
        return false;
    if (head.begins)
        pprof_taker_reset(&feed->taker);
    feed->stale = feed->stale && !head.begins;
    if (feed->stale) {
        r->slot->lost_pieces++;
        return true;
    }
    service = service_of(r, feed);
    if (!service)
        return false;
    overflow = feed->taker.overflow;
    rc = pprof_take(&feed->taker, service->profile, service->overflow_row,
                    (const char *)bytes + sizeof(head), size - sizeof(head));
    service->overflow += feed->taker.overflow - overflow;
    service->period_ns = head.period_ns;
    memcpy(service->python, head.python, sizeof(head.python));
    return rc == PPROF_OK;
}

static bool take_put_off(struct receiving *r, const void *bytes, size_t size)
{
    struct report_put_off message;

    if (!orders_read(&message, sizeof(message), bytes, size) ||
        (size_t)message.rc >= ENGINE_OUTCOMES)
        return false;
    message.err.text[sizeof(message.err.text) - 1] = '\0';
    r->news->put_off(r->ctx, message.id, message.rc, &message.err);
    return true;
}

static bool take_began(struct receiving *r, const void *bytes, size_t size)
{
    struct report_began message;

    if (!orders_read(&message, sizeof(message), bytes, size))
        return false;
    message.version[sizeof(message.version) - 1] = '\0';
    r->news->began(r->ctx, message.id, message.version);
    return true;
}

static bool take_ended(struct receiving *r, const void *bytes, size_t size)
{
    struct proc_id id;

    if (!orders_read(&id, sizeof(id), bytes, size))
        return false;
    r->news->ended(r->ctx, id);
    return true;
}

static bool take_each(struct receiving *r, const void *bytes, size_t size)
{
    struct report_each message;
    size_t i;

    if (!orders_read(&message, sizeof(message), bytes, size) || message.count > REPORT_EACH_MAX)
        return false;
    for (i = 0; i < message.count; i++)
        r->news->counted(r->ctx, message.items[i].id, &message.items[i].counts);
    return true;
}

static bool take_hang(struct receiving *r, const void *bytes, size_t size)
{
    struct engine_hang head;

    if (size < sizeof(head) || size - sizeof(head) > HANG_DUMP_MAX)
        return false;
    memcpy(&head, bytes, sizeof(head));
    if ((size_t)head.kind >= HANG_KINDS)
        return false;
    r->news->hangs(r->ctx, &head, (const char *)bytes + sizeof(head), size - sizeof(head));
    return true;
}

static bool receive(void *ctx, uint32_t kind, const void *bytes, size_t size)
{
    struct receiving *r = ctx;
    bool good = false;

    if (kind == REPORT_ROWS)
        good = take_rows(r, bytes, size);
    else if (kind == REPORT_COUNTS)
        good = orders_read(&r->slot->now, sizeof(r->slot->now), bytes, size);
    else if (kind == REPORT_DONE)
        good = orders_read(&r->slot->done, sizeof(r->slot->done), bytes, size);
    else if (kind == REPORT_BEGAN)
        good = take_began(r, bytes, size);
    else if (kind == REPORT_PUT_OFF)
        good = take_put_off(r, bytes, size);
    else if (kind == REPORT_ENDED)
        good = take_ended(r, bytes, size);
    else if (kind == REPORT_EACH)
        good = take_each(r, bytes, size);
    else if (kind == REPORT_HANG)
        good = take_hang(r, bytes, size);
    else if (kind == REPORT_SETTLED)
        good = orders_read(&r->slot->settled, sizeof(r->slot->settled), bytes, size);
    r->bad |= !good;
    return good && r->slot->done != r->running;
}

bool slot_receive(struct slot *slot, struct services *services, uint64_t running,
                  const struct slot_news *news, void *ctx)
{
    struct receiving r = {slot, services, news, ctx, running, false};

    if (slot->done == running)
        return true;
    return link_receive(&slot->helper.link, receive, &r) == LINK_OK && !r.bad;
}

void slot_renew(struct slot *slot)
{
    free_feeds(slot);
}

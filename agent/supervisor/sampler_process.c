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
/* Rows that a sampler wants to be held are not held longer: it may be lost. */
#define HELD_MAX_NS (2 * SERVICE_HOLD_NS)

bool sampler_process_start(struct sampler_process *sampler, bool bpf_reader, uint64_t now_ns,
                           struct err *err)
{
    char parent[16];
    char *argv[] = {(char[]){"pystrobe"}, (char[]){"sampler"}, parent,
                    bpf_reader ? (char[]){"onsite"} : NULL, NULL};

    (void)snprintf(parent, sizeof(parent), "%d", (int)getpid());
    sampler->done = 0;
    sampler->committed = 0;
    sampler->is_our_build = false;
    sampler->now = (struct report_counts){0};
    if (child_process_start(&sampler->child, CHILD_PROCESS_SELF, argv, now_ns, err))
        return true;
    sampler->next_start_ns = now_ns + PAUSE_MAX_NS;
    return false;
}

void sampler_process_add_counts(struct report_counts *sum, const struct report_counts *more)
{
    sum->stats.samples += more->stats.samples;
    sum->stats.missed += more->stats.missed;
    sum->stats.idle += more->stats.idle;
    sum->stats.sampling_ns += more->stats.sampling_ns;
    sum->stats.opening_ns += more->stats.opening_ns;
    for (size_t i = 0; i < ENGINE_OUTCOMES; i++)
        sum->stats.failed[i] += more->stats.failed[i];
    cpu_by_class_add(&sum->stats.cpu, &more->stats.cpu);
    stats_add_times(&sum->stats.times, &more->stats.times);
    stats_add(&sum->unwinder, &more->unwinder);
}

static void free_feed(struct sampler_process_feed *feed)
{
    pprof_delta_decoder_finish(&feed->decoder);
    free(feed);
}

static void free_feeds(struct sampler_process *sampler)
{
    struct sampler_process_feed *feed, *next;

    for (feed = sampler->feeds; feed; feed = next) {
        next = feed->next;
        free_feed(feed);
    }
    sampler->feeds = NULL;
}

void sampler_process_stop(struct sampler_process *sampler, bool failed, uint64_t now_ns,
                          struct report_counts *sum)
{
    if (sampler->child.pid == 0)
        return;
    if (now_ns > sampler->child.started_ns + GOOD_NS)
        sampler->pause_ns = 0;
    sampler->next_start_ns = failed ? now_ns + sampler->pause_ns : now_ns;
    if (failed)
        sampler->pause_ns = sampler->pause_ns ? sampler->pause_ns * 2 : PAUSE_FIRST_NS;
    if (sampler->pause_ns > PAUSE_MAX_NS)
        sampler->pause_ns = PAUSE_MAX_NS;
    child_process_end(&sampler->child, now_ns);
    sampler_process_add_counts(sum, &sampler->now);
    sampler->now = (struct report_counts){0};
    free_feeds(sampler);
}

void sampler_process_finish(struct sampler_process *sampler)
{
    child_process_end(&sampler->child, clock_mono_ns());
    free_feeds(sampler);
}

bool sampler_process_send(struct sampler_process *sampler, enum ipc_message ipc_message,
                          const void *message, size_t size)
{
    return ipc_channel_send(&sampler->child.channel, ipc_message, message, size, NULL, 0) ==
           IPC_CHANNEL_OK;
}

/* What is being received. */
struct receiving {
    struct sampler_process *sampler;
    struct services *services;
    const struct sampler_process_callbacks *callbacks;
    void *ctx;
    uint64_t running;
    bool bad;
};

/* The feed of a service. A new one waits for the first piece of an interval. */
static struct sampler_process_feed *feed_of(struct receiving *r, const struct report_rows *head)
{
    struct sampler_process_feed *feed;

    for (feed = r->sampler->feeds; feed; feed = feed->next)
        if (proc_id_equal(feed->held, head->held) && strcmp(feed->name, head->service) == 0 &&
            labels_equal(&feed->labels, &head->labels))
            return feed;
    feed = calloc(1, sizeof(*feed));
    if (!feed)
        return NULL;
    memcpy(feed->name, head->service, sizeof(feed->name));
    feed->labels = head->labels;
    feed->held = head->held;
    feed->stale = true;
    feed->next = r->sampler->feeds;
    r->sampler->feeds = feed;
    return feed;
}

/* The service that a feed is for; NULL: out of memory. It is kept while pieces come. */
static struct service *service_of(struct receiving *r, const struct sampler_process_feed *feed)
{
    const int64_t utc_ns = clock_utc_at(r->services->begin_ns);
    struct service *service = feed->held.pid
                                  ? services_hold(r->services, feed->held, feed->name,
                                                  &feed->labels, utc_ns, r->services->begin_ns)
                                  : services_get_labelled(r->services, feed->name, &feed->labels,
                                                          utc_ns, r->services->begin_ns);

    if (!service)
        return NULL;
    service->users = 1;
    if (service->held.pid && service->hold_end_ns == 0)
        service->hold_end_ns = clock_mono_ns() + HELD_MAX_NS;
    return service;
}

/* Nothing more comes of a process that was held. */
static void end_held_feed(struct sampler_process *sampler, struct proc_id id)
{
    struct sampler_process_feed **link = &sampler->feeds, *feed;

    while ((feed = *link) && !proc_id_equal(feed->held, id))
        link = &feed->next;
    if (!feed)
        return;
    *link = feed->next;
    free_feed(feed);
}

/* Adds a piece to its service's profile. False: it makes no sense. */
static bool take_rows(struct receiving *r, const void *bytes, size_t size)
{
    struct report_rows head;
    struct service *service;
    struct sampler_process_feed *feed;
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
        pprof_delta_decoder_reset(&feed->decoder);
    feed->stale = feed->stale && !head.begins;
    if (feed->stale)
        return true;
    service = service_of(r, feed);
    if (!service)
        return false;
    overflow = feed->decoder.overflow;
    rc = pprof_take(&feed->decoder, service->profile, service->overflow_row,
                    (const char *)bytes + sizeof(head), size - sizeof(head));
    service->overflow += feed->decoder.overflow - overflow;
    service->period_ns = head.period_ns;
    service_set_owner(service, head.owner, head.owner_bytes);
    memcpy(service->python, head.python, sizeof(head.python));
    return rc == PPROF_OK;
}

static bool take_put_off(struct receiving *r, const void *bytes, size_t size)
{
    struct report_put_off message;

    if (!ipc_read(&message, sizeof(message), bytes, size) || (size_t)message.rc >= ENGINE_OUTCOMES)
        return false;
    message.err.text[sizeof(message.err.text) - 1] = '\0';
    r->callbacks->put_off(r->ctx, message.id, message.rc, &message.err);
    return true;
}

static bool take_began(struct receiving *r, const void *bytes, size_t size)
{
    struct report_began message;

    if (!ipc_read(&message, sizeof(message), bytes, size))
        return false;
    message.version[sizeof(message.version) - 1] = '\0';
    r->callbacks->began(r->ctx, message.id, message.version);
    return true;
}

static bool take_service_name(struct receiving *r, const void *bytes, size_t size)
{
    struct report_named message;

    if (!ipc_read(&message, sizeof(message), bytes, size) || !labels_are_good(&message.labels))
        return false;
    if (message.ends_hold)
        end_held_feed(r->sampler, message.id);
    message.service[sizeof(message.service) - 1] = '\0';
    message.named_by[sizeof(message.named_by) - 1] = '\0';
    r->callbacks->named(r->ctx, &message);
    return true;
}

static bool take_ended(struct receiving *r, const void *bytes, size_t size)
{
    struct proc_id id;

    if (!ipc_read(&id, sizeof(id), bytes, size))
        return false;
    r->callbacks->ended(r->ctx, id);
    return true;
}

static bool take_each(struct receiving *r, const void *bytes, size_t size)
{
    struct report_each message;

    if (!ipc_read(&message, sizeof(message), bytes, size) || message.count > REPORT_EACH_MAX)
        return false;
    for (size_t i = 0; i < message.count; i++)
        r->callbacks->counted(r->ctx, message.items[i].id, &message.items[i].counts);
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
    r->callbacks->hangs(r->ctx, &head, (const char *)bytes + sizeof(head), size - sizeof(head));
    return true;
}

static bool take_warning(struct receiving *r, const void *bytes, size_t size)
{
    struct report_warning message;

    if (!ipc_read(&message, sizeof(message), bytes, size))
        return false;
    message.text.text[sizeof(message.text.text) - 1] = '\0';
    r->callbacks->warns(r->ctx, message.id, &message.text);
    return true;
}

static bool take_child(struct receiving *r, const void *bytes, size_t size)
{
    struct process_end message;

    if (!ipc_read(&message, sizeof(message), bytes, size))
        return false;
    r->callbacks->child(r->ctx, &message);
    return true;
}

/* The first report. False: the sampler is of another build, and its reports cannot be read. */
static bool take_build(struct receiving *r, uint32_t kind, const void *bytes, size_t size)
{
    struct report_build message, ours = {""};
    struct err err = {""};

    if (kind != REPORT_BUILD || !ipc_read(&message, sizeof(message), bytes, size))
        message = (struct report_build){"that does not say which"};
    message.id[sizeof(message.id) - 1] = '\0';
    build_id(ours.id);
    r->sampler->is_our_build = strcmp(message.id, ours.id) == 0;
    if (r->sampler->is_our_build)
        return true;
    err_set(&err,
            "a sampler is of build %s and this agent of build %s, so nothing is sampled by it: the "
            "file of the agent's program was written over while it runs. Restart the agent; to "
            "upgrade, rename the new file to the name of the old one, as packages do",
            message.id, ours.id);
    r->callbacks->other_build(r->ctx, &err);
    return false;
}

static bool receive(void *ctx, uint32_t kind, const void *bytes, size_t size)
{
    struct receiving *r = ctx;
    bool good = false;

    if (!r->sampler->is_our_build)
        good = take_build(r, kind, bytes, size);
    else if (kind == REPORT_ROWS)
        good = take_rows(r, bytes, size);
    else if (kind == REPORT_COUNTS)
        good = ipc_read(&r->sampler->now, sizeof(r->sampler->now), bytes, size);
    else if (kind == REPORT_DONE)
        good = ipc_read(&r->sampler->done, sizeof(r->sampler->done), bytes, size);
    else if (kind == REPORT_BEGAN)
        good = take_began(r, bytes, size);
    else if (kind == REPORT_NAMED)
        good = take_service_name(r, bytes, size);
    else if (kind == REPORT_PUT_OFF)
        good = take_put_off(r, bytes, size);
    else if (kind == REPORT_ENDED)
        good = take_ended(r, bytes, size);
    else if (kind == REPORT_EACH)
        good = take_each(r, bytes, size);
    else if (kind == REPORT_HANG)
        good = take_hang(r, bytes, size);
    else if (kind == REPORT_WARNING)
        good = take_warning(r, bytes, size);
    else if (kind == REPORT_CHILD)
        good = take_child(r, bytes, size);
    else if (kind == REPORT_COMMITTED)
        good = ipc_read(&r->sampler->committed, sizeof(r->sampler->committed), bytes, size);
    r->bad |= !good;
    return good && r->sampler->done != r->running;
}

bool sampler_process_receive(struct sampler_process *sampler, struct services *services,
                             uint64_t running, const struct sampler_process_callbacks *callbacks,
                             void *ctx)
{
    struct receiving r = {sampler, services, callbacks, ctx, running, false};

    if (sampler->done == running)
        return true;
    return ipc_channel_receive(&sampler->child.channel, receive, &r) == IPC_CHANNEL_OK && !r.bad;
}

void sampler_process_renew(struct sampler_process *sampler)
{
    free_feeds(sampler);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* retry_queue.c - knows when to try what, when to pause and when to give up. */
#include "agent/delivery/retry_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/time_units.h"

enum {
    DOUBLINGS_MAX = 20,
    PROBE_AFTER = 3,   /* failures of one profile; then every second one is followed by a probe */
    SUSPECTS_MAX = 64, /* one more, and the oldest is given up */
    SUSPECT_TRIES = 5, /* that a suspect fails beside others before it is given up */
    PACE = 5,          /* a backlog is sent at most so many times as fast as profiles come... */
    RETRY_AFTER_SHARE = 10 /* a tenth is added at random to what the server asked for */
};

#define AGE_MAX_NS (UINT64_C(1) << 62) /* which is older than all limits */
#define BACKLOG_NS (30 * NS_PER_S)     /* what has waited for longer is part of a backlog */
#define PACE_NS    (100 * NS_PER_MS)   /* ... or ten a second, if that is faster */
#define RETRY_AFTER_NS \
    (900 * NS_PER_S) /* a server that asks for more is asked again all the same */

/* xorshift64*, Vigna 2016: pauses need to differ, not to be secret. */
static uint64_t below(struct retry_queue *queue, uint64_t bound)
{
    queue->random ^= queue->random >> 12;
    queue->random ^= queue->random << 25;
    queue->random ^= queue->random >> 27;
    return bound == 0 ? 0 : queue->random * UINT64_C(2685821657736338717) % bound;
}

int64_t delivery_born_ns(uint64_t now_ns, int64_t from_ns, int64_t to_ns)
{
    uint64_t age = to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : 0;

    return (int64_t)now_ns - (int64_t)(age < AGE_MAX_NS ? age : AGE_MAX_NS);
}

void retry_queue_init(struct retry_queue *queue, const struct delivery_limits *limits,
                      uint64_t random, uint64_t now_ns)
{
    *queue = (struct retry_queue){
        .limits = *limits,
        .random = random | 1, /* xorshift never leaves 0 */
        .began_ns = now_ns,
    };
    queue->phase_ns = below(queue, limits->send_jitter_ns);
    queue->backlog_ns = now_ns + queue->phase_ns;
}

static struct delivery_item *at(const struct retry_queue *queue, size_t i)
{
    return &queue->items[queue->first + i];
}

/* Takes item `i` out. */
static struct delivery_item remove_at(struct retry_queue *queue, size_t i)
{
    struct delivery_item item = *at(queue, i);

    if (i == 0)
        queue->first++;
    else
        memmove(at(queue, i), at(queue, i) + 1, (queue->count - i - 1) * sizeof(item));
    queue->count--;
    queue->suspects -= item.suspect ? 1 : 0;
    if (item.payload) {
        queue->payloads--;
        queue->payload_bytes -= payload_bytes(item.payload);
    }
    return item;
}

static void drop_queue_item(struct retry_queue *queue, struct delivery_item *item,
                            enum delivery_loss why)
{
    if (queue->lose)
        queue->lose(queue->ctx, item, why);
    payload_unref(item->payload);
}

static void lose_at(struct retry_queue *queue, size_t i, enum delivery_loss why)
{
    struct delivery_item item = remove_at(queue, i);

    drop_queue_item(queue, &item, why);
}

static bool grow_retry_queue(struct retry_queue *queue)
{
    if (queue->first + queue->count == queue->capacity && queue->first > queue->capacity / 2) {
        memmove(queue->items, at(queue, 0), queue->count * sizeof(queue->items[0]));
        queue->first = 0;
    }
    return ARRAY_RESERVE(queue->items, queue->capacity, queue->first + queue->count + 1);
}

static void lose_oldest_in_memory(struct retry_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        if (at(queue, i)->payload) {
            lose_at(queue, i, DELIVERY_LOST_FULL);
            return;
        }
    }
}

/* Puts an item into its place; it keeps its memory within bounds. */
static void insert_by_order(struct retry_queue *queue, struct delivery_item *item)
{
    size_t i = queue->count;
    size_t bytes = item->payload ? payload_bytes(item->payload) : 0;

    if (bytes > queue->limits.queue_bytes || !grow_retry_queue(queue)) {
        drop_queue_item(queue, item, DELIVERY_LOST_FULL);
        return;
    }
    while (i > 0 && at(queue, i - 1)->order > item->order)
        i--;
    memmove(at(queue, i) + 1, at(queue, i), (queue->count - i) * sizeof(*item));
    *at(queue, i) = *item;
    queue->count++;
    queue->suspects += item->suspect ? 1 : 0;
    queue->payloads += item->payload ? 1 : 0;
    queue->payload_bytes += bytes;
    while (queue->payloads > queue->limits.queue_profiles ||
           queue->payload_bytes > queue->limits.queue_bytes)
        lose_oldest_in_memory(queue);
}

void retry_queue_add(struct retry_queue *queue, const struct delivery_item *item)
{
    struct delivery_item copy = *item;

    queue->puts += item->put_ns > 0 ? 1 : 0;
    insert_by_order(queue, &copy);
}

void retry_queue_gone(struct retry_queue *queue, uint64_t order)
{
    if (order > queue->gone)
        queue->gone = order;
}

/* True if it is no use to try it; `why` then says it. */
static bool has_item_expired(const struct retry_queue *queue, const struct delivery_item *item,
                             uint64_t now_ns, enum delivery_loss *why)
{
    const struct delivery_limits *limits = &queue->limits;
    bool tried_long = item->first_ns > 0 && now_ns - item->first_ns >= limits->retry_ns;

    *why = DELIVERY_LOST_OLD;
    if (item->suspect && tried_long && item->tries >= SUSPECT_TRIES)
        return true;
    if (item->payload && tried_long)
        return true;
    if (limits->max_age_ns > 0 && (int64_t)now_ns - item->born_ns > (int64_t)limits->max_age_ns)
        return true;
    *why = DELIVERY_LOST_GONE;
    return !item->payload && item->order <= queue->gone;
}

/* Loses the oldest ones that are over: age comes from that end. */
static void drop_over(struct retry_queue *queue, uint64_t now_ns)
{
    enum delivery_loss why;

    for (size_t i = 0; i < queue->count && (at(queue, i)->suspect || i == 0);) {
        if (has_item_expired(queue, at(queue, i), now_ns, &why))
            lose_at(queue, i, why);
        else
            i++;
    }
}

/* The n-th that is no suspect, from the oldest; count: there are not so many. */
static size_t find_regular(const struct retry_queue *queue, size_t n)
{
    size_t i = 0;

    for (; i < queue->count; i++) {
        if (!at(queue, i)->suspect && n-- == 0)
            break;
    }
    return i;
}

static size_t find_suspect(const struct retry_queue *queue, uint64_t now_ns, uint64_t *due_ns)
{
    size_t left = queue->suspects;

    for (size_t i = 0; left > 0 && i < queue->count; i++) {
        const struct delivery_item *item = at(queue, i);

        if (!item->suspect)
            continue;
        left--;
        if (queue->hurried || item->not_before_ns <= now_ns)
            return i;
        if (item->not_before_ns < *due_ns)
            *due_ns = item->not_before_ns;
    }
    return queue->count;
}

static bool is_backlog(const struct delivery_item *item, uint64_t now_ns)
{
    return item->put_ns == 0 || now_ns - item->put_ns > BACKLOG_NS;
}

/* When an item that is no suspect may go, for the sake of the server that many share. */
static uint64_t due_of(const struct retry_queue *queue, const struct delivery_item *item,
                       uint64_t now_ns)
{
    if (queue->hurried || item->first_ns > 0)
        return 0;
    return is_backlog(item, now_ns) ? queue->backlog_ns : item->put_ns + queue->phase_ns;
}

/* How long to wait between two of a backlog. */
static uint64_t pace_ns(const struct retry_queue *queue, uint64_t now_ns)
{
    uint64_t gap = queue->puts > 0 ? (now_ns - queue->began_ns) / queue->puts / PACE : PACE_NS;

    return gap < PACE_NS ? gap : PACE_NS;
}

/* Which item it is the turn of; count: of none before *due_ns. */
static size_t choose_next_item(struct retry_queue *queue, uint64_t now_ns, uint64_t *due_ns)
{
    size_t regular = queue->count - queue->suspects;
    size_t i = queue->count;

    *due_ns = UINT64_MAX;
    if (queue->count == 0)
        return i;
    if (now_ns < queue->not_before_ns) {
        *due_ns = queue->not_before_ns;
        return i;
    }
    queue->probing = queue->probing && regular > 1;
    if (queue->probing)
        return find_regular(queue, 1 + queue->probes % (regular - 1));
    i = find_regular(queue, 0);
    if (i < queue->count)
        *due_ns = due_of(queue, at(queue, i), now_ns);
    if (i < queue->count && *due_ns <= now_ns)
        return i;
    return queue->failures == 0 || regular == 0 ? find_suspect(queue, now_ns, due_ns)
                                                : queue->count;
}

bool retry_queue_take(struct retry_queue *queue, uint64_t now_ns, struct delivery_item *out,
                      uint64_t *due_ns)
{
    enum delivery_loss why;
    size_t i;

    drop_over(queue, now_ns);
    for (;;) {
        i = choose_next_item(queue, now_ns, due_ns);
        if (i == queue->count)
            return false;
        if (!has_item_expired(queue, at(queue, i), now_ns, &why))
            break;
        lose_at(queue, i, why);
    }
    *out = remove_at(queue, i);
    if (!queue->hurried && is_backlog(out, now_ns))
        queue->backlog_ns = now_ns + below(queue, 2 * pace_ns(queue, now_ns) + 1);
    return true;
}

/* Full jitter: anything from nothing to the doubled pause, so that agents do not come in step. */
static uint64_t pause_ns(struct retry_queue *queue, unsigned failures)
{
    unsigned doublings = failures - 1 < DOUBLINGS_MAX ? failures - 1 : DOUBLINGS_MAX;
    uint64_t most = queue->limits.backoff_min_ns;

    for (; doublings > 0 && most < queue->limits.backoff_max_ns; doublings--)
        most *= 2;
    if (most > queue->limits.backoff_max_ns)
        most = queue->limits.backoff_max_ns;
    return below(queue, most + 1);
}

/* A new secret is some person's work: up to minutes, and never at once. */
static uint64_t denied_pause_ns(struct retry_queue *queue)
{
    unsigned doublings = queue->denials < DOUBLINGS_MAX ? queue->denials : DOUBLINGS_MAX;
    uint64_t most = queue->limits.backoff_min_ns;

    for (; doublings > 0 && most < queue->limits.denied_max_ns; doublings--)
        most *= 2;
    if (most > queue->limits.denied_max_ns)
        most = queue->limits.denied_max_ns;
    return most / 2 + below(queue, most / 2 + 1);
}

/* What the server asked for, within bounds, and a little more. */
static uint64_t asked_pause_ns(struct retry_queue *queue, const struct exporter_answer *answer)
{
    uint64_t asked = answer->retry_after_ns;

    if (asked > RETRY_AFTER_NS)
        asked = RETRY_AFTER_NS;
    return asked + below(queue, asked / RETRY_AFTER_SHARE + 1);
}

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The profile that failed while the probe got through. */
static void suspect(struct retry_queue *queue, uint64_t now_ns)
{
    size_t i = find_regular(queue, 0);
    struct delivery_item *item;

    if (i == queue->count || at(queue, i)->order != queue->failing)
        return;
    item = at(queue, i);
    item->suspect = true;
    item->tries = 1;
    item->seen = queue->successes;
    item->not_before_ns = now_ns + pause_ns(queue, queue->failing_tries);
    queue->suspects++;
    for (i = 0; queue->suspects > SUSPECTS_MAX && i < queue->count; i++) {
        if (at(queue, i)->suspect)
            lose_at(queue, i, DELIVERY_LOST_OLD);
    }
}

static void complete_done(struct retry_queue *queue, struct delivery_item *item, uint64_t now_ns)
{
    if (queue->failing > 0 && queue->failing != item->order)
        suspect(queue, now_ns);
    queue->successes++;
    queue->failures = 0;
    queue->denials = 0;
    queue->failing = 0;
    queue->probing = false;
    queue->not_before_ns = 0;
    payload_unref(item->payload);
}

static void complete_suspect(struct retry_queue *queue, struct delivery_item *item, uint64_t now_ns)
{
    if (queue->successes > item->seen)
        item->tries++;
    item->seen = queue->successes;
    item->not_before_ns = now_ns + pause_ns(queue, item->tries);
}

/* One of those that should get through: either nothing does, or this one is poison. */
static void complete_regular(struct retry_queue *queue, const struct delivery_item *item,
                             uint64_t asked_ns, uint64_t now_ns)
{
    bool was_probe = queue->probing;

    queue->failures++;
    queue->probing = false;
    queue->not_before_ns = now_ns + longer(asked_ns, pause_ns(queue, queue->failures));
    if (was_probe) {
        queue->probes++;
        return;
    }
    queue->failing_tries = queue->failing == item->order ? queue->failing_tries + 1 : 1;
    queue->failing = item->order;
    if (queue->failing_tries < PROBE_AFTER || (queue->failing_tries - PROBE_AFTER) % 2 != 0)
        return;
    queue->probing = true;
    queue->not_before_ns = now_ns + asked_ns; /* at once, so that one answer bears on the other */
}

/* No server was reached, which no profile is to blame for. */
static void complete_outage(struct retry_queue *queue, uint64_t now_ns)
{
    queue->failures++;
    queue->probing = false;
    queue->not_before_ns = now_ns + pause_ns(queue, queue->failures);
}

static void complete_retry(struct retry_queue *queue, struct delivery_item *item,
                           const struct exporter_answer *answer, uint64_t now_ns)
{
    uint64_t asked_ns = asked_pause_ns(queue, answer);
    enum delivery_loss why;

    if (answer->denied) {
        queue->denials++;
        queue->probing = false;
        queue->not_before_ns = now_ns + longer(asked_ns, denied_pause_ns(queue));
        item->first_ns = 0; /* it has not been judged */
    } else {
        if (item->first_ns == 0)
            item->first_ns = now_ns;
        if (item->suspect)
            complete_suspect(queue, item, now_ns);
        else if (answer->unsent)
            complete_outage(queue, now_ns);
        else
            complete_regular(queue, item, asked_ns, now_ns);
        queue->not_before_ns = longer(queue->not_before_ns, asked_ns > 0 ? now_ns + asked_ns : 0);
    }
    if (has_item_expired(queue, item, now_ns, &why))
        drop_queue_item(queue, item, why);
    else
        insert_by_order(queue, item);
}

void retry_queue_complete(struct retry_queue *queue, struct delivery_item *item,
                          enum exporter_rc rc, const struct exporter_answer *answer,
                          uint64_t now_ns)
{
    if (rc == EXPORTER_OK || rc == EXPORTER_REFUSED)
        complete_done(queue, item, now_ns);
    else
        complete_retry(queue, item, answer, now_ns);
}

void retry_queue_put_off(struct retry_queue *queue, struct delivery_item *item, uint64_t now_ns,
                         uint64_t pause)
{
    if (queue->probing) { /* the next probe is another one */
        queue->probes++;
        queue->probing = false;
        queue->failing_tries -= queue->failing_tries > 0 ? 1 : 0;
    }
    queue->not_before_ns = now_ns + pause;
    insert_by_order(queue, item);
}

void retry_queue_put_aside(struct retry_queue *queue, struct delivery_item *item, uint64_t now_ns,
                           uint64_t pause)
{
    item->suspect = true;
    item->seen = queue->successes;
    item->not_before_ns = now_ns + pause;
    retry_queue_put_off(queue, item, now_ns, 0);
}

void retry_queue_expedite(struct retry_queue *queue)
{
    queue->hurried = true;
    queue->not_before_ns = 0;
}

size_t retry_queue_clear(struct retry_queue *queue)
{
    size_t dropped = 0;

    for (size_t i = 0; i < queue->count;) {
        if (at(queue, i)->payload) {
            payload_unref(remove_at(queue, i).payload);
            dropped++;
        } else {
            i++;
        }
    }
    return dropped;
}

bool retry_queue_pop(struct retry_queue *queue, struct delivery_item *out)
{
    if (queue->count == 0)
        return false;
    *out = remove_at(queue, 0);
    return true;
}

void retry_queue_finish(struct retry_queue *queue)
{
    (void)retry_queue_clear(queue);
    free(queue->items);
    queue->items = NULL;
    queue->count = 0;
    queue->capacity = 0;
}

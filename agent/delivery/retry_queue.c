/* SPDX-License-Identifier: Apache-2.0 */
/* retry_queue.c - knows when to try what, when to pause and when to give up. */
#include "agent/delivery/retry_queue.h"

#include <stdlib.h>
#include <string.h>

enum {
    DOUBLINGS_MAX = 20,
    PROBE_AFTER = 3,   /* failures of one profile; then every second one is followed by a probe */
    SUSPECTS_MAX = 64, /* one more, and the oldest is given up */
    SUSPECT_TRIES = 5, /* that a suspect fails beside others before it is given up */
    PACE = 5,          /* a backlog is sent at most so many times as fast as profiles come... */
    RETRY_AFTER_SHARE = 10 /* a tenth is added at random to what the server asked for */
};

#define MS_NS UINT64_C(1000000)
#define S_NS  UINT64_C(1000000000)

#define AGE_MAX_NS     (UINT64_C(1) << 62) /* which is older than all limits */
#define BACKLOG_NS     (30 * S_NS)         /* what has waited for longer is part of a backlog */
#define PACE_NS        (100 * MS_NS)       /* ... or ten a second, if that is faster */
#define RETRY_AFTER_NS (900 * S_NS) /* a server that asks for more is asked again all the same */

/* xorshift64*, Vigna 2016: pauses need to differ, not to be secret. */
static uint64_t below(struct delivery_plan *plan, uint64_t bound)
{
    plan->random ^= plan->random >> 12;
    plan->random ^= plan->random << 25;
    plan->random ^= plan->random >> 27;
    return bound == 0 ? 0 : plan->random * UINT64_C(2685821657736338717) % bound;
}

int64_t delivery_born_ns(uint64_t now_ns, int64_t from_ns, int64_t to_ns)
{
    uint64_t age = to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : 0;

    return (int64_t)now_ns - (int64_t)(age < AGE_MAX_NS ? age : AGE_MAX_NS);
}

void delivery_plan_init(struct delivery_plan *plan, const struct delivery_limits *limits,
                        uint64_t random, uint64_t now_ns)
{
    *plan = (struct delivery_plan){
        .limits = *limits,
        .random = random | 1, /* xorshift never leaves 0 */
        .began_ns = now_ns,
    };
    plan->phase_ns = below(plan, limits->spread_ns);
    plan->backlog_ns = now_ns + plan->phase_ns;
}

static struct delivery_item *at(const struct delivery_plan *plan, size_t i)
{
    return &plan->items[plan->first + i];
}

/* Takes item `i` out. */
static struct delivery_item remove_at(struct delivery_plan *plan, size_t i)
{
    struct delivery_item item = *at(plan, i);

    if (i == 0)
        plan->first++;
    else
        memmove(at(plan, i), at(plan, i) + 1, (plan->count - i - 1) * sizeof(item));
    plan->count--;
    plan->suspects -= item.suspect ? 1 : 0;
    if (item.parcel) {
        plan->parcels--;
        plan->parcel_bytes -= delivery_parcel_bytes(item.parcel);
    }
    return item;
}

static void lose(struct delivery_plan *plan, struct delivery_item *item, enum delivery_loss why)
{
    if (plan->lose)
        plan->lose(plan->ctx, item, why);
    delivery_parcel_drop(item->parcel);
}

static void lose_at(struct delivery_plan *plan, size_t i, enum delivery_loss why)
{
    struct delivery_item item = remove_at(plan, i);

    lose(plan, &item, why);
}

static bool make_room(struct delivery_plan *plan)
{
    size_t capacity = plan->capacity;
    struct delivery_item *items;

    if (plan->first + plan->count < capacity)
        return true;
    if (plan->first > capacity / 2) {
        memmove(plan->items, at(plan, 0), plan->count * sizeof(plan->items[0]));
        plan->first = 0;
        return true;
    }
    capacity = capacity > 0 ? capacity + capacity / 2 : 32;
    items = realloc(plan->items, capacity * sizeof(items[0]));
    if (!items)
        return false;
    plan->items = items;
    plan->capacity = capacity;
    return true;
}

static void lose_oldest_in_memory(struct delivery_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (at(plan, i)->parcel) {
            lose_at(plan, i, DELIVERY_LOST_FULL);
            return;
        }
    }
}

/* Puts an item into its place; it keeps its memory within bounds. */
static void insert(struct delivery_plan *plan, struct delivery_item *item)
{
    size_t i = plan->count;
    size_t bytes = item->parcel ? delivery_parcel_bytes(item->parcel) : 0;

    if (bytes > plan->limits.queue_bytes || !make_room(plan)) {
        lose(plan, item, DELIVERY_LOST_FULL);
        return;
    }
    while (i > 0 && at(plan, i - 1)->order > item->order)
        i--;
    memmove(at(plan, i) + 1, at(plan, i), (plan->count - i) * sizeof(*item));
    *at(plan, i) = *item;
    plan->count++;
    plan->suspects += item->suspect ? 1 : 0;
    plan->parcels += item->parcel ? 1 : 0;
    plan->parcel_bytes += bytes;
    while (plan->parcels > plan->limits.queue_profiles ||
           plan->parcel_bytes > plan->limits.queue_bytes)
        lose_oldest_in_memory(plan);
}

void delivery_plan_add(struct delivery_plan *plan, const struct delivery_item *item)
{
    struct delivery_item copy = *item;

    plan->puts += item->put_ns > 0 ? 1 : 0;
    insert(plan, &copy);
}

void delivery_plan_gone(struct delivery_plan *plan, uint64_t order)
{
    if (order > plan->gone)
        plan->gone = order;
}

/* True if it is no use to try it; `why` then says it. */
static bool is_over(const struct delivery_plan *plan, const struct delivery_item *item,
                    uint64_t now_ns, enum delivery_loss *why)
{
    const struct delivery_limits *limits = &plan->limits;
    bool tried_long = item->first_ns > 0 && now_ns - item->first_ns >= limits->retry_ns;

    *why = DELIVERY_LOST_OLD;
    if (item->suspect && tried_long && item->tries >= SUSPECT_TRIES)
        return true;
    if (item->parcel && tried_long)
        return true;
    if (limits->max_age_ns > 0 && (int64_t)now_ns - item->born_ns > (int64_t)limits->max_age_ns)
        return true;
    *why = DELIVERY_LOST_GONE;
    return !item->parcel && item->order <= plan->gone;
}

/* Loses the oldest ones that are over: age comes from that end. */
static void drop_over(struct delivery_plan *plan, uint64_t now_ns)
{
    enum delivery_loss why;

    for (size_t i = 0; i < plan->count && (at(plan, i)->suspect || i == 0);) {
        if (is_over(plan, at(plan, i), now_ns, &why))
            lose_at(plan, i, why);
        else
            i++;
    }
}

/* The n-th that is no suspect, from the oldest; count: there are not so many. */
static size_t find_regular(const struct delivery_plan *plan, size_t n)
{
    size_t i = 0;

    for (; i < plan->count; i++) {
        if (!at(plan, i)->suspect && n-- == 0)
            break;
    }
    return i;
}

static size_t find_suspect(const struct delivery_plan *plan, uint64_t now_ns, uint64_t *due_ns)
{
    size_t left = plan->suspects;

    for (size_t i = 0; left > 0 && i < plan->count; i++) {
        const struct delivery_item *item = at(plan, i);

        if (!item->suspect)
            continue;
        left--;
        if (plan->hurried || item->not_before_ns <= now_ns)
            return i;
        if (item->not_before_ns < *due_ns)
            *due_ns = item->not_before_ns;
    }
    return plan->count;
}

static bool is_backlog(const struct delivery_item *item, uint64_t now_ns)
{
    return item->put_ns == 0 || now_ns - item->put_ns > BACKLOG_NS;
}

/* When an item that is no suspect may go, for the sake of the server that many share. */
static uint64_t due_of(const struct delivery_plan *plan, const struct delivery_item *item,
                       uint64_t now_ns)
{
    if (plan->hurried || item->first_ns > 0)
        return 0;
    return is_backlog(item, now_ns) ? plan->backlog_ns : item->put_ns + plan->phase_ns;
}

/* How long to wait between two of a backlog. */
static uint64_t pace_ns(const struct delivery_plan *plan, uint64_t now_ns)
{
    uint64_t gap = plan->puts > 0 ? (now_ns - plan->began_ns) / plan->puts / PACE : PACE_NS;

    return gap < PACE_NS ? gap : PACE_NS;
}

/* Which item it is the turn of; count: of none before *due_ns. */
static size_t choose(struct delivery_plan *plan, uint64_t now_ns, uint64_t *due_ns)
{
    size_t regular = plan->count - plan->suspects;
    size_t i = plan->count;

    *due_ns = UINT64_MAX;
    if (plan->count == 0)
        return i;
    if (now_ns < plan->not_before_ns) {
        *due_ns = plan->not_before_ns;
        return i;
    }
    plan->probing = plan->probing && regular > 1;
    if (plan->probing)
        return find_regular(plan, 1 + plan->probes % (regular - 1));
    i = find_regular(plan, 0);
    if (i < plan->count)
        *due_ns = due_of(plan, at(plan, i), now_ns);
    if (i < plan->count && *due_ns <= now_ns)
        return i;
    return plan->failures == 0 || regular == 0 ? find_suspect(plan, now_ns, due_ns) : plan->count;
}

bool delivery_plan_take(struct delivery_plan *plan, uint64_t now_ns, struct delivery_item *out,
                        uint64_t *due_ns)
{
    enum delivery_loss why;
    size_t i;

    drop_over(plan, now_ns);
    for (;;) {
        i = choose(plan, now_ns, due_ns);
        if (i == plan->count)
            return false;
        if (!is_over(plan, at(plan, i), now_ns, &why))
            break;
        lose_at(plan, i, why);
    }
    *out = remove_at(plan, i);
    if (!plan->hurried && is_backlog(out, now_ns))
        plan->backlog_ns = now_ns + below(plan, 2 * pace_ns(plan, now_ns) + 1);
    return true;
}

/* Full jitter: anything from nothing to the doubled pause, so that agents do not come in step. */
static uint64_t pause_ns(struct delivery_plan *plan, unsigned failures)
{
    unsigned doublings = failures - 1 < DOUBLINGS_MAX ? failures - 1 : DOUBLINGS_MAX;
    uint64_t most = plan->limits.backoff_min_ns;

    for (; doublings > 0 && most < plan->limits.backoff_max_ns; doublings--)
        most *= 2;
    if (most > plan->limits.backoff_max_ns)
        most = plan->limits.backoff_max_ns;
    return below(plan, most + 1);
}

/* A new secret is some person's work: up to minutes, and never at once. */
static uint64_t denied_pause_ns(struct delivery_plan *plan)
{
    unsigned doublings = plan->denials < DOUBLINGS_MAX ? plan->denials : DOUBLINGS_MAX;
    uint64_t most = plan->limits.backoff_min_ns;

    for (; doublings > 0 && most < plan->limits.denied_max_ns; doublings--)
        most *= 2;
    if (most > plan->limits.denied_max_ns)
        most = plan->limits.denied_max_ns;
    return most / 2 + below(plan, most / 2 + 1);
}

/* What the server asked for, within bounds, and a little more. */
static uint64_t asked_pause_ns(struct delivery_plan *plan, const struct exporter_answer *answer)
{
    uint64_t asked = answer->retry_after_ns;

    if (asked > RETRY_AFTER_NS)
        asked = RETRY_AFTER_NS;
    return asked + below(plan, asked / RETRY_AFTER_SHARE + 1);
}

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The profile that failed while the probe got through. */
static void suspect(struct delivery_plan *plan, uint64_t now_ns)
{
    size_t i = find_regular(plan, 0);
    struct delivery_item *item;

    if (i == plan->count || at(plan, i)->order != plan->failing)
        return;
    item = at(plan, i);
    item->suspect = true;
    item->tries = 1;
    item->seen = plan->successes;
    item->not_before_ns = now_ns + pause_ns(plan, plan->failing_tries);
    plan->suspects++;
    for (i = 0; plan->suspects > SUSPECTS_MAX && i < plan->count; i++) {
        if (at(plan, i)->suspect)
            lose_at(plan, i, DELIVERY_LOST_OLD);
    }
}

static void settle_done(struct delivery_plan *plan, struct delivery_item *item, uint64_t now_ns)
{
    if (plan->failing > 0 && plan->failing != item->order)
        suspect(plan, now_ns);
    plan->successes++;
    plan->failures = 0;
    plan->denials = 0;
    plan->failing = 0;
    plan->probing = false;
    plan->not_before_ns = 0;
    delivery_parcel_drop(item->parcel);
}

static void settle_suspect(struct delivery_plan *plan, struct delivery_item *item, uint64_t now_ns)
{
    if (plan->successes > item->seen)
        item->tries++;
    item->seen = plan->successes;
    item->not_before_ns = now_ns + pause_ns(plan, item->tries);
}

/* One of those that should get through: either nothing does, or this one is poison. */
static void settle_regular(struct delivery_plan *plan, const struct delivery_item *item,
                           uint64_t asked_ns, uint64_t now_ns)
{
    bool was_probe = plan->probing;

    plan->failures++;
    plan->probing = false;
    plan->not_before_ns = now_ns + longer(asked_ns, pause_ns(plan, plan->failures));
    if (was_probe) {
        plan->probes++;
        return;
    }
    plan->failing_tries = plan->failing == item->order ? plan->failing_tries + 1 : 1;
    plan->failing = item->order;
    if (plan->failing_tries < PROBE_AFTER || (plan->failing_tries - PROBE_AFTER) % 2 != 0)
        return;
    plan->probing = true;
    plan->not_before_ns = now_ns + asked_ns; /* at once, so that one answer bears on the other */
}

/* No server was reached, which no profile is to blame for. */
static void settle_outage(struct delivery_plan *plan, uint64_t now_ns)
{
    plan->failures++;
    plan->probing = false;
    plan->not_before_ns = now_ns + pause_ns(plan, plan->failures);
}

static void settle_retry(struct delivery_plan *plan, struct delivery_item *item,
                         const struct exporter_answer *answer, uint64_t now_ns)
{
    uint64_t asked_ns = asked_pause_ns(plan, answer);
    enum delivery_loss why;

    if (answer->denied) {
        plan->denials++;
        plan->probing = false;
        plan->not_before_ns = now_ns + longer(asked_ns, denied_pause_ns(plan));
        item->first_ns = 0; /* it has not been judged */
    } else {
        if (item->first_ns == 0)
            item->first_ns = now_ns;
        if (item->suspect)
            settle_suspect(plan, item, now_ns);
        else if (answer->unsent)
            settle_outage(plan, now_ns);
        else
            settle_regular(plan, item, asked_ns, now_ns);
        plan->not_before_ns = longer(plan->not_before_ns, asked_ns > 0 ? now_ns + asked_ns : 0);
    }
    if (is_over(plan, item, now_ns, &why))
        lose(plan, item, why);
    else
        insert(plan, item);
}

void delivery_plan_settle(struct delivery_plan *plan, struct delivery_item *item,
                          enum exporter_rc rc, const struct exporter_answer *answer,
                          uint64_t now_ns)
{
    if (rc == EXPORTER_OK || rc == EXPORTER_REFUSED)
        settle_done(plan, item, now_ns);
    else
        settle_retry(plan, item, answer, now_ns);
}

void delivery_plan_put_off(struct delivery_plan *plan, struct delivery_item *item, uint64_t now_ns,
                           uint64_t pause)
{
    if (plan->probing) { /* the next probe is another one */
        plan->probes++;
        plan->probing = false;
        plan->failing_tries -= plan->failing_tries > 0 ? 1 : 0;
    }
    plan->not_before_ns = now_ns + pause;
    insert(plan, item);
}

void delivery_plan_put_aside(struct delivery_plan *plan, struct delivery_item *item,
                             uint64_t now_ns, uint64_t pause)
{
    item->suspect = true;
    item->seen = plan->successes;
    item->not_before_ns = now_ns + pause;
    delivery_plan_put_off(plan, item, now_ns, 0);
}

void delivery_plan_hurry(struct delivery_plan *plan)
{
    plan->hurried = true;
    plan->not_before_ns = 0;
}

size_t delivery_plan_clear(struct delivery_plan *plan)
{
    size_t dropped = 0;

    for (size_t i = 0; i < plan->count;) {
        if (at(plan, i)->parcel) {
            delivery_parcel_drop(remove_at(plan, i).parcel);
            dropped++;
        } else {
            i++;
        }
    }
    return dropped;
}

bool delivery_plan_pop(struct delivery_plan *plan, struct delivery_item *out)
{
    if (plan->count == 0)
        return false;
    *out = remove_at(plan, 0);
    return true;
}

void delivery_plan_finish(struct delivery_plan *plan)
{
    (void)delivery_plan_clear(plan);
    free(plan->items);
    plan->items = NULL;
    plan->count = 0;
    plan->capacity = 0;
}

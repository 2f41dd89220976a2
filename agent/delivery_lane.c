/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_lane.c - knows when to try, when to pause and when to give up. */
#include "agent/delivery_lane.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "agent/delivery_talk.h"

enum { DOUBLINGS_MAX = 20 };

#define S_NS        UINT64_C(1000000000)
#define WAIT_MAX_NS (3600 * S_NS)

enum lane_mode {
    LANE_RUNNING,
    LANE_HURRIED, /* ends when the queue is empty */
    LANE_STOPPED  /* ends at once, and uses nothing that is not its own any more */
};

struct lane {
    char *name; /* owned */
    enum exporter_form form;
    struct delivery_sink sink; /* owned */
    struct delivery_limits limits;
    struct delivery_world world;
    pthread_t thread;
    struct delivery_talk talk; /* the lane's thread only */
    uint64_t random;           /* state; the lane's thread only */

    pthread_mutex_t lock; /* guards all below; never held while sending or logging */
    pthread_cond_t changed, over;
    enum lane_mode mode;
    bool ended;     /* the thread is about to return */
    bool abandoned; /* nobody waits for it: it ends the lane itself */
    struct delivery_queue queue;
    size_t under_way_bytes; /* of the item that is being sent; 0: none */
    unsigned failures;      /* since the last answer that was not "not now" */
    uint64_t not_before_ns;
    struct delivery_stats stats;
};

static uint64_t now(const struct lane *lane)
{
    return lane->world.now_ns(lane->world.ctx);
}

/* xorshift64*, Vigna 2016: pauses need to differ, not to be secret. */
static uint64_t next_random(struct lane *lane)
{
    lane->random ^= lane->random >> 12;
    lane->random ^= lane->random << 25;
    lane->random ^= lane->random >> 27;
    return lane->random * UINT64_C(2685821657736338717);
}

/* Full jitter: anything from nothing to the doubled pause, so that agents do not come in step. */
static uint64_t pause_ns(struct lane *lane, unsigned failures)
{
    unsigned doublings = failures - 1 < DOUBLINGS_MAX ? failures - 1 : DOUBLINGS_MAX;
    uint64_t most = lane->limits.backoff_min_ns;

    for (; doublings > 0 && most < lane->limits.backoff_max_ns; doublings--)
        most *= 2;
    if (most > lane->limits.backoff_max_ns)
        most = lane->limits.backoff_max_ns;
    return next_random(lane) % (most + 1);
}

/* Waits for `cond` until `deadline_ns` of the lane's clock, of which CLOCK_MONOTONIC has the pace.
 */
static void wait_until(struct lane *lane, pthread_cond_t *cond, uint64_t deadline_ns)
{
    uint64_t now_ns = now(lane);
    uint64_t left = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    struct timespec until;
    uint64_t ns;

    if (left > WAIT_MAX_NS)
        left = WAIT_MAX_NS;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    ns = (uint64_t)until.tv_nsec + left;
    until.tv_sec += (time_t)(ns / S_NS);
    until.tv_nsec = (long)(ns % S_NS);
    (void)pthread_cond_timedwait(cond, &lane->lock, &until);
}

struct over_check {
    const struct lane *lane;
    uint64_t now_ns;
    int64_t utc_ns;
};

static bool is_over(const struct delivery_item *item, const void *ctx)
{
    const struct over_check *check = ctx;
    const struct delivery_limits *limits = &check->lane->limits;
    int64_t start_ns = delivery_parcel_profile(item->parcel)->start_ns;

    if (item->tries > 0 && check->now_ns - item->first_ns >= limits->retry_ns)
        return true;
    return limits->max_age_ns > 0 && check->utc_ns > start_ns &&
           (uint64_t)check->utc_ns - (uint64_t)start_ns > limits->max_age_ns;
}

static struct over_check over_check(const struct lane *lane)
{
    return (struct over_check){lane, now(lane), lane->world.utc_ns(lane->world.ctx)};
}

/* Gives: the next item to try, when it is time; NULL: the lane is to end. Called with the lock. */
static struct delivery_item *next_item(struct lane *lane)
{
    while (lane->mode != LANE_STOPPED) {
        struct over_check check = over_check(lane);
        struct delivery_item *item = NULL;
        uint64_t due_ns = lane->not_before_ns;

        lane->stats.dropped_old += delivery_queue_drop(&lane->queue, is_over, &check);
        if (lane->queue.count == 0 && lane->mode == LANE_HURRIED)
            return NULL;
        if (lane->queue.count == 0)
            due_ns = UINT64_MAX;
        else if (due_ns <= check.now_ns)
            item = delivery_queue_take(&lane->queue, check.now_ns, &due_ns);
        if (item)
            return item;
        wait_until(lane, &lane->changed, due_ns);
    }
    return NULL;
}

/* "Not now": the item goes back to its place, or has been tried for long enough. */
static void put_back(struct lane *lane, struct delivery_item *item)
{
    struct over_check check = over_check(lane);

    lane->failures++;
    lane->not_before_ns = check.now_ns + pause_ns(lane, lane->failures);
    item->tries++;
    item->not_before_ns = check.now_ns + pause_ns(lane, item->tries);
    if (is_over(item, &check)) {
        lane->stats.dropped_old++;
        delivery_item_free(item);
        return;
    }
    lane->stats.retried++;
    lane->stats.dropped_full += delivery_queue_add(&lane->queue, item);
}

/* Takes account of an answer. Called with the lock. */
static void settle(struct lane *lane, struct delivery_item *item, enum exporter_rc rc,
                   const struct err *err)
{
    if (rc != EXPORTER_OK)
        lane->stats.last_error = *err;
    if (rc != EXPORTER_OK && rc != EXPORTER_REFUSED) {
        put_back(lane, item);
        return;
    }
    lane->failures = 0;
    lane->not_before_ns = 0;
    if (rc == EXPORTER_OK) {
        lane->stats.sent++;
        lane->stats.sent_bytes += delivery_parcel_profile(item->parcel)->size;
    } else {
        lane->stats.refused++;
    }
    delivery_item_free(item);
}

static void snapshot(const struct lane *lane, struct delivery_stats *out)
{
    *out = lane->stats;
    out->queued = lane->queue.count + (lane->under_way_bytes > 0 ? 1 : 0);
    out->queued_bytes = lane->queue.bytes + lane->under_way_bytes;
}

/* Sends one item. Called with the lock, which it gives up meanwhile. False: stopped. */
static bool try_item(struct lane *lane, struct delivery_item *item)
{
    struct delivery_stats stats;
    struct exporter_answer answer = {0};
    enum exporter_rc rc;

    lane->under_way_bytes = item->bytes;
    (void)pthread_mutex_unlock(&lane->lock);
    if (item->tries == 0)
        item->first_ns = now(lane);
    rc = lane->sink.send(lane->sink.ctx, delivery_parcel_profile(item->parcel),
                         lane->world.utc_ns(lane->world.ctx), &answer);
    (void)pthread_mutex_lock(&lane->lock);
    lane->under_way_bytes = 0;
    if (lane->mode == LANE_STOPPED && rc != EXPORTER_OK && rc != EXPORTER_REFUSED) {
        lane->stats.dropped_stop++;
        delivery_item_free(item);
        return false;
    }
    settle(lane, item, rc, &answer.err);
    if (lane->mode == LANE_STOPPED)
        return false;
    snapshot(lane, &stats);
    (void)pthread_mutex_unlock(&lane->lock);
    if (answer.note.text[0])
        delivery_note(&lane->talk, answer.note.text);
    delivery_tell(&lane->talk, rc, now(lane), &stats);
    (void)pthread_mutex_lock(&lane->lock);
    return true;
}

/* Frees a lane that has no thread any more, or whose thread calls this last of all. */
static void release(struct lane *lane)
{
    lane->sink.close(lane->sink.ctx);
    (void)delivery_queue_clear(&lane->queue);
    (void)pthread_cond_destroy(&lane->over);
    (void)pthread_cond_destroy(&lane->changed);
    (void)pthread_mutex_destroy(&lane->lock);
    free(lane->name);
    free(lane);
}

static void *run(void *ctx)
{
    struct lane *lane = ctx;
    struct delivery_item *item;
    bool abandoned;

    (void)pthread_mutex_lock(&lane->lock);
    while ((item = next_item(lane)) && try_item(lane, item))
        ;
    lane->ended = true;
    abandoned = lane->abandoned;
    (void)pthread_cond_broadcast(&lane->over);
    (void)pthread_mutex_unlock(&lane->lock);
    if (abandoned)
        release(lane);
    return NULL;
}

/* Signals are the main thread's; libcurl's name server threads inherit the mask, too. */
static bool start(struct lane *lane)
{
    sigset_t all, before;
    char title[16];
    int failed;

    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    failed = pthread_create(&lane->thread, NULL, run, lane);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return false;
    (void)snprintf(title, sizeof(title), "send %.10s", lane->name);
    (void)pthread_setname_np(lane->thread, title);
    return true;
}

static bool init_locks(struct lane *lane)
{
    pthread_condattr_t attr;
    bool made = pthread_condattr_init(&attr) == 0;

    made = made && pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0;
    made = made && pthread_mutex_init(&lane->lock, NULL) == 0;
    made = made && pthread_cond_init(&lane->changed, &attr) == 0;
    made = made && pthread_cond_init(&lane->over, &attr) == 0;
    return made; /* on Linux they own nothing that would have to be given back */
}

bool lane_new(const struct lane_settings *settings, struct lane **out)
{
    struct lane *lane = calloc(1, sizeof(*lane));

    if (!lane)
        return false;
    lane->form = settings->form;
    lane->sink = settings->sink;
    lane->limits = settings->limits;
    lane->world = settings->world;
    lane->queue.count_max = settings->limits.queue_profiles;
    lane->queue.bytes_max = settings->limits.queue_bytes;
    lane->name = strdup(settings->name);
    if (getrandom(&lane->random, sizeof(lane->random), GRND_NONBLOCK) < 0)
        lane->random = now(lane);
    lane->random |= 1; /* xorshift never leaves 0 */
    delivery_talk_init(&lane->talk, lane->name, &lane->world, lane->limits.log_every_ns);
    if (lane->name && init_locks(lane) && start(lane)) {
        *out = lane;
        return true;
    }
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

void lane_stats(struct lane *lane, struct delivery_stats *out)
{
    (void)pthread_mutex_lock(&lane->lock);
    snapshot(lane, out);
    (void)pthread_mutex_unlock(&lane->lock);
}

void lane_put(struct lane *lane, struct delivery_parcel *parcel, uint64_t order)
{
    struct delivery_item *item = delivery_item_new(parcel, order);

    (void)pthread_mutex_lock(&lane->lock);
    if (!item) {
        lane->stats.dropped_full++;
    } else if (lane->mode != LANE_RUNNING) {
        lane->stats.dropped_stop++;
        delivery_item_free(item);
    } else {
        lane->stats.dropped_full += delivery_queue_add(&lane->queue, item);
    }
    (void)pthread_cond_signal(&lane->changed);
    (void)pthread_mutex_unlock(&lane->lock);
}

void lane_count_lost(struct lane *lane)
{
    (void)pthread_mutex_lock(&lane->lock);
    lane->stats.dropped_full++;
    (void)pthread_mutex_unlock(&lane->lock);
}

void lane_hurry(struct lane *lane)
{
    (void)pthread_mutex_lock(&lane->lock);
    lane->mode = LANE_HURRIED;
    lane->not_before_ns = 0;
    delivery_queue_hurry(&lane->queue);
    (void)pthread_cond_signal(&lane->changed);
    (void)pthread_mutex_unlock(&lane->lock);
}

void lane_stop(struct lane *lane)
{
    (void)pthread_mutex_lock(&lane->lock);
    lane->mode = LANE_STOPPED;
    lane->stats.dropped_stop += delivery_queue_clear(&lane->queue);
    (void)pthread_cond_signal(&lane->changed);
    (void)pthread_mutex_unlock(&lane->lock);
    lane->sink.cancel(lane->sink.ctx);
}

bool lane_wait(struct lane *lane, uint64_t deadline_ns)
{
    bool ended;

    (void)pthread_mutex_lock(&lane->lock);
    while (!lane->ended && now(lane) < deadline_ns)
        wait_until(lane, &lane->over, deadline_ns);
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

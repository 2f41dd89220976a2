/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_fixture.h - a delivery whose clock the test sets, and exporters that do as it says.
 *
 * Shape:   delivery_fixture_new, fixture_add for each exporter, fixture_start, fixture_interval;
 * then fixture_advance and fixture_wait; fixture_free. Time:    stands still until the test moves
 * it on. Threads look at it again each millisecond, so no result depends on how fast the machine
 * is.
 */
#ifndef TESTS_UNIT_DELIVERY_DELIVERY_FIXTURE_H
#define TESTS_UNIT_DELIVERY_DELIVERY_FIXTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/delivery/delivery.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

#define SECOND UINT64_C(1000000000)

enum { FAKE_TEXT_MAX = 8192, FAKE_IN_FLIGHT_MAX = 16, FIXTURE_EXPORTERS_MAX = 4 };

/* What an exporter of the test does with a batch; it fills in the answer. */
typedef enum exporter_rc fake_judge(void *ctx, const struct batch *batch,
                                    struct exporter_answer *answer);

struct fake {
    pthread_mutex_t lock;
    _Atomic(fake_judge *) judge; /* NULL: takes all */
    void *ctx;                   /* of `judge` */
    atomic_int rc;               /* without a judge */
    atomic_bool hold;            /* nothing ends until this is false */
    atomic_bool deaf;            /* nor by a cancel */
    atomic_bool canceled, closed;
    const struct batch *flying[FAKE_IN_FLIGHT_MAX];
    void *tags[FAKE_IN_FLIGHT_MAX];
    atomic_size_t flying_count, flying_most, starts;
    char got[FAKE_TEXT_MAX];   /* the services taken, in order, a blank behind each */
    char sizes[FAKE_TEXT_MAX]; /* how many profiles each try had */
};

struct fixture {
    struct delivery *delivery;
    struct delivery_world world;
    atomic_uint_fast64_t now_ns;
    atomic_int_fast64_t utc_ns;
    struct fake fakes[FIXTURE_EXPORTERS_MAX];
    size_t count;
    pthread_mutex_t log_lock;
    char log[FAKE_TEXT_MAX * 4];
    uint64_t interval_ns;
    bool limited; /* exporters that are added have a server's limits */
};

static inline uint64_t fixture_now(void *ctx)
{
    struct fixture *fix = ctx;

    return atomic_load(&fix->now_ns);
}

static inline int64_t fixture_utc(void *ctx)
{
    struct fixture *fix = ctx;

    return atomic_load(&fix->utc_ns);
}

static inline void fixture_log(void *ctx, enum delivery_level level, const char *line)
{
    struct fixture *fix = ctx;
    size_t used;

    (void)pthread_mutex_lock(&fix->log_lock);
    used = strlen(fix->log);
    (void)snprintf(fix->log + used, sizeof(fix->log) - used, "%s %s\n",
                   level == DELIVERY_WARNING ? "W" : "I", line);
    (void)pthread_mutex_unlock(&fix->log_lock);
}

static inline void fixture_wait(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock,
                                uint64_t until_ns)
{
    struct timespec until;

    (void)ctx;
    (void)until_ns;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &until);
}

static inline void fake_start(void *ctx, const struct batch *batch, int64_t now_ns, void *tag)
{
    struct fake *fake = ctx;
    size_t used;

    (void)now_ns;
    (void)pthread_mutex_lock(&fake->lock);
    assert_true(fake->flying_count < FAKE_IN_FLIGHT_MAX);
    used = strlen(fake->sizes);
    (void)snprintf(fake->sizes + used, sizeof(fake->sizes) - used, "%zu ", batch->count);
    fake->flying[fake->flying_count] = batch;
    fake->tags[fake->flying_count] = tag;
    fake->flying_count++;
    fake->starts++; /* last: a test looks at it */
    if (fake->flying_count > fake->flying_most)
        fake->flying_most = (size_t)fake->flying_count;
    (void)pthread_mutex_unlock(&fake->lock);
}

/* Notes the profiles that were taken. */
static inline void fake_note(struct fake *fake, const struct batch *batch, enum exporter_rc rc,
                             const struct exporter_answer *answer)
{
    for (size_t i = 0; i < batch->count; i++) {
        size_t used = strlen(fake->got);

        if (rc != EXPORTER_OK && (answer->failed_count == 0 || batch_set_has(&answer->failed, i)))
            continue;
        (void)snprintf(fake->got + used, sizeof(fake->got) - used, "%s ",
                       batch->profiles[i].service);
    }
}

/* Ends the first batch under way. */
static inline bool fake_end_one(struct fake *fake, struct exporter_result *out)
{
    const struct batch *batch = fake->flying[0];
    bool canceled = fake->canceled && !fake->deaf;
    fake_judge *judge = fake->judge;

    if (fake->flying_count == 0 || (fake->hold && !canceled))
        return false;
    *out = (struct exporter_result){.ctx = fake->tags[0], .rc = (enum exporter_rc)fake->rc};
    if (canceled && fake->hold)
        out->rc = EXPORTER_RETRY;
    else if (judge)
        out->rc = judge(fake->ctx, batch, &out->answer);
    if (out->rc != EXPORTER_OK && !out->answer.err.text[0])
        err_set(&out->answer.err, "the fake gives %d", (int)out->rc);
    fake_note(fake, batch, out->rc, &out->answer);
    fake->flying_count--;
    memmove(fake->flying, fake->flying + 1, sizeof(fake->flying) - sizeof(fake->flying[0]));
    memmove(fake->tags, fake->tags + 1, sizeof(fake->tags) - sizeof(fake->tags[0]));
    return true;
}

static inline bool fake_wait(void *ctx, unsigned timeout_ms, struct exporter_result *out)
{
    struct fake *fake = ctx;
    bool ended;

    (void)timeout_ms;
    (void)pthread_mutex_lock(&fake->lock);
    ended = fake_end_one(fake, out);
    (void)pthread_mutex_unlock(&fake->lock);
    if (!ended)
        (void)usleep(500);
    return ended;
}

static inline void fake_wake(void *ctx)
{
    (void)ctx;
}

static inline void fake_cancel(void *ctx)
{
    struct fake *fake = ctx;

    fake->canceled = true;
}

static inline void fake_close(void *ctx)
{
    struct fake *fake = ctx;

    atomic_store(&fake->closed, true);
}

/* With a spool unless `spool` is NULL. */
static inline struct fixture *delivery_fixture_new(const struct delivery_spool *spool)
{
    struct fixture *fix = calloc(1, sizeof(*fix));
    struct err err = {""};

    assert_non_null(fix);
    (void)pthread_mutex_init(&fix->log_lock, NULL);
    atomic_store(&fix->now_ns, 1000 * SECOND);
    atomic_store(&fix->utc_ns, 1700000000 * (int64_t)SECOND);
    fix->interval_ns = 15 * SECOND;
    fix->world = (struct delivery_world){fixture_now, fixture_utc, fixture_log, fixture_wait, fix};
    if (!delivery_new(&fix->world, spool, &fix->delivery, &err))
        fail_msg("%s", err.text);
    hang_limit_begin();
    return fix;
}

/* Adds an exporter; 0 among the limits: the default. */
static inline struct fake *fixture_add(struct fixture *fix, const char *name,
                                       const struct export_limits *limits)
{
    struct fake *fake = &fix->fakes[fix->count++];
    const struct delivery_sink sink = {.start = fake_start,
                                       .wait = fake_wait,
                                       .wake = fake_wake,
                                       .cancel = fake_cancel,
                                       .close = fake_close,
                                       .in_flight_max = 4,
                                       .profiles_max = BATCH_PROFILES_MAX,
                                       .ctx = fake};

    (void)pthread_mutex_init(&fake->lock, NULL);
    assert_true(delivery_add(fix->delivery, name,
                             fix->limited ? EXPORTER_PER_TYPE_LIMITED : EXPORTER_PER_TYPE, &sink,
                             limits));
    return fake;
}

static inline void fixture_start(struct fixture *fix)
{
    assert_true(delivery_start(fix->delivery));
}

/* Ends it as if the process ended. False: a thread was left behind. */
static inline bool fixture_free(struct fixture *fix)
{
    bool whole = delivery_free(fix->delivery);

    hang_limit_end();
    if (whole) /* else a thread still uses it */
        free(fix);
    return whole;
}

static inline void fixture_advance(struct fixture *fix, uint64_t ns)
{
    (void)atomic_fetch_add(&fix->now_ns, ns);
    (void)atomic_fetch_add(&fix->utc_ns, (int64_t)ns);
}

/* For pthread_create: moves time on by 10 s within 200 ms, for deadlines that a call waits for. */
static inline void *fixture_pass_time(void *ctx)
{
    struct fixture *fix = ctx;

    for (int i = 0; i < 100; i++) {
        (void)usleep(2000);
        fixture_advance(fix, SECOND / 10);
    }
    return NULL;
}

/* A profile of `size` bytes that begins now. */
static inline void fixture_put_sized(struct fixture *fix, const char *service, size_t size)
{
    int64_t end_ns = atomic_load(&fix->utc_ns);
    char *bytes = calloc(1, size + 1);
    struct exporter_profile profile = {.service = service,
                                       .type = "cpu",
                                       .start_ns = end_ns - (int64_t)fix->interval_ns,
                                       .end_ns = end_ns,
                                       .bytes = bytes,
                                       .size = size};

    assert_non_null(bytes);
    delivery_put(fix->delivery, EXPORTER_PER_TYPE, &profile);
    free(bytes);
}

/* An interval with a profile for each of the services, named by one letter each. */
static inline void fixture_interval(struct fixture *fix, const char *services)
{
    for (const char *at = services; *at; at++)
        fixture_put_sized(fix, (char[]){*at, '\0'}, 10);
    delivery_end_interval(fix->delivery);
    fixture_advance(fix, fix->interval_ns);
}

static inline void fixture_stats(struct fixture *fix, size_t i, struct delivery_stats *out)
{
    (void)delivery_stats(fix->delivery, i, out);
}

/* Waits until `stats`, those of the first exporter, are as they are to be; moves time on meanwhile.
 */
#define FIXTURE_UNTIL(fix, condition, advance_ns) \
    do {                                          \
        for (;;) {                                \
            fixture_stats(fix, 0, &stats);        \
            if (condition)                        \
                break;                            \
            fixture_advance(fix, advance_ns);     \
            (void)usleep(1000);                   \
        }                                         \
    } while (0)

static inline size_t fixture_lines(struct fixture *fix, const char *part)
{
    size_t count = 0;

    (void)pthread_mutex_lock(&fix->log_lock);
    for (const char *at = fix->log; (at = strstr(at, part)); at++)
        count++;
    (void)pthread_mutex_unlock(&fix->log_lock);
    return count;
}

#endif

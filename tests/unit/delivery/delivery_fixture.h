/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_fixture.h - a delivery on a stepped clock, with servers that do as they are told.
 *
 * Shape: fixture_make in a test's setup; the settings and servers as the test likes; fixture_open;
 *        profiles by fixture_put, time by fixture_pass and EVENTUALLY; fixture_end in the teardown.
 */
#ifndef TESTS_UNIT_DELIVERY_DELIVERY_FIXTURE_H
#define TESTS_UNIT_DELIVERY_DELIVERY_FIXTURE_H

#include "agent/delivery/delivery.h"
#include "exporters/spool.h"
#include "tests/unit/delivery/stepped_clock.h"
#include "tests/unit/temp_tree.h"

enum { SERVERS = 4, GOT_MAX = 4096, LOG_SIZE = 16 * 1024 };

/* A server; each exporter that sends to it has one of its own. All may be changed at any time. */
struct server {
    struct stepped_clock *clock;
    atomic_int rc;              /* what a send gives */
    atomic_bool denies, absent; /* a send is denied, or reaches nobody */
    atomic_int poison;          /* the number of a profile that is never taken; -1: none */
    atomic_bool block;          /* a send waits until it is canceled */
    atomic_bool deaf;           /* ... or until it blocks no more */
    atomic_bool hangs;          /* one send waits until `released`, whoever cancels it */
    atomic_bool released;
    atomic_uint_fast64_t pause_ns; /* how long a send takes */
    atomic_int sends, canceled, closed;
    pthread_mutex_t lock; /* guards the rest */
    int got[GOT_MAX];     /* the numbers of the profiles that were taken, in order */
    size_t count;
    int64_t utc_ns;    /* the time that the last send was given */
    bool seen_on_disk; /* every profile had its file while it was sent */
};

struct fixture {
    struct delivery *delivery;
    struct stepped_clock clock;
    atomic_int_fast64_t utc_offset_ns; /* of the UTC clock to the stepped one */
    struct delivery_spool spool;       /* path NULL: without a spool */
    struct delivery_limits limits;
    struct server servers[SERVERS];
    size_t profile_size; /* bytes of a profile */
    pthread_mutex_t lock;
    char log[LOG_SIZE]; /* lines that begin with "W " or "I " */
    atomic_int lines;
    char path[128]; /* the spool's */
};

static inline uint64_t fixture_now(void *ctx)
{
    return clock_now(&((struct fixture *)ctx)->clock);
}

static inline int64_t fixture_utc(void *ctx)
{
    struct fixture *fix = ctx;

    return (int64_t)clock_now(&fix->clock) + atomic_load(&fix->utc_offset_ns);
}

static inline void fixture_wait(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock,
                                uint64_t deadline_ns)
{
    clock_wait(&((struct fixture *)ctx)->clock, cond, lock, deadline_ns);
}

static inline void fixture_pass(struct fixture *fix, uint64_t ns)
{
    clock_pass(&fix->clock, ns);
}

static inline void fixture_log(void *ctx, enum delivery_level level, const char *line)
{
    struct fixture *fix = ctx;

    (void)pthread_mutex_lock(&fix->lock);
    if (strlen(fix->log) + strlen(line) + 4 < LOG_SIZE) {
        (void)strncat(fix->log, level == DELIVERY_WARNING ? "W " : "I ", 3);
        (void)strncat(fix->log, line, LOG_SIZE - strlen(fix->log) - 2);
        (void)strncat(fix->log, "\n", 2);
    }
    (void)pthread_mutex_unlock(&fix->lock);
    (void)atomic_fetch_add(&fix->lines, 1);
}

/* How often the log has a text. */
static inline size_t fixture_log_count(struct fixture *fix, const char *text)
{
    size_t count = 0;

    (void)pthread_mutex_lock(&fix->lock);
    for (const char *at = fix->log; (at = strstr(at, text)); at++)
        count++;
    (void)pthread_mutex_unlock(&fix->lock);
    return count;
}

/* The entries in a folder of the test's directory. */
static inline size_t files_in(const char *name)
{
    char path[128];
    const struct dirent *item;
    struct spool_name entry;
    size_t count = 0;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "%s/%s", tree, name); /* in several threads at once */
    dir = opendir(path);
    while (dir && (item = readdir(dir)))
        count += spool_name_read(item->d_name, &entry) ? 1 : 0;
    if (dir)
        (void)closedir(dir);
    return count;
}

/* A send takes its time, or waits for as long as the test likes. */
static inline void server_wait(struct server *server)
{
    const uint64_t end_ns = clock_now(server->clock) + atomic_load(&server->pause_ns);
    const bool hangs = atomic_exchange(&server->hangs, false);

    while (clock_now(server->clock) < end_ns)
        clock_idle(server->clock, end_ns);
    while ((hangs && !atomic_load(&server->released)) ||
           (atomic_load(&server->block) &&
            (atomic_load(&server->canceled) == 0 || atomic_load(&server->deaf))))
        clock_idle(server->clock, UINT64_MAX);
}

static inline enum exporter_rc server_send(void *ctx, const struct exporter_profile *profile,
                                           int64_t utc_ns, struct exporter_answer *answer)
{
    const int number = (int)strtol(profile->service, NULL, 10);
    struct server *server = ctx;
    enum exporter_rc rc;

    (void)atomic_fetch_add(&server->sends, 1);
    server_wait(server);
    answer->denied = atomic_load(&server->denies);
    answer->unsent = atomic_load(&server->absent);
    rc = (enum exporter_rc)atomic_load(&server->rc);
    if (answer->denied || answer->unsent || number == atomic_load(&server->poison) ||
        (atomic_load(&server->canceled) > 0 && !atomic_load(&server->deaf)))
        rc = EXPORTER_RETRY;
    err_set(&answer->err, "the server says %s", exporter_rc_label(rc));
    (void)pthread_mutex_lock(&server->lock);
    server->utc_ns = utc_ns;
    if (files_in("spool") == 0)
        server->seen_on_disk = false;
    if (rc == EXPORTER_OK && server->count < GOT_MAX)
        server->got[server->count++] = number;
    (void)pthread_mutex_unlock(&server->lock);
    return rc;
}

static inline void server_cancel(void *ctx)
{
    (void)atomic_fetch_add(&((struct server *)ctx)->canceled, 1);
}

static inline void server_close(void *ctx)
{
    (void)atomic_fetch_add(&((struct server *)ctx)->closed, 1);
}

static inline struct delivery_sink server_sink(struct fixture *fix, size_t server)
{
    return (struct delivery_sink){server_send, server_cancel, server_close, &fix->servers[server]};
}

/* For a test's setup: a fixture with the default settings, and a spool if it is wanted. */
static inline int fixture_make(void **state, bool spooled)
{
    struct fixture *fix = calloc(1, sizeof(*fix));

    assert_non_null(fix);
    assert_int_equal(tree_make(state), 0);
    (void)snprintf(fix->path, sizeof(fix->path), "%s", tree_path("spool"));
    fix->spool.path = spooled ? fix->path : NULL;
    fix->profile_size = 10;
    clock_init(&fix->clock, 1000 * NS_PER_S);
    (void)pthread_mutex_init(&fix->lock, NULL);
    for (size_t i = 0; i < SERVERS; i++) {
        fix->servers[i].clock = &fix->clock;
        atomic_store(&fix->servers[i].poison, -1);
        (void)pthread_mutex_init(&fix->servers[i].lock, NULL);
        fix->servers[i].seen_on_disk = true;
    }
    hang_limit_begin();
    *state = fix;
    return 0;
}

static inline struct delivery_world fixture_world(struct fixture *fix)
{
    return (struct delivery_world){fixture_now, fixture_utc, fixture_log, fix, fixture_wait};
}

/* A delivery with exporters "a" to server 0, "b" to server 1 and so on. */
static inline void fixture_open(struct fixture *fix, size_t exporters)
{
    static const char *const names[] = {"a", "b"};
    const struct delivery_world world = fixture_world(fix);
    struct err err = {""};

    if (!delivery_new(&world, fix->spool.path ? &fix->spool : NULL, &fix->delivery, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < exporters; i++) {
        struct delivery_sink sink = server_sink(fix, i);

        atomic_store(&fix->servers[i].canceled, 0);
        assert_true(delivery_add(fix->delivery, names[i], EXPORTER_WHOLE, &sink, &fix->limits));
    }
    assert_true(delivery_start(fix->delivery));
}

static inline bool fixture_flush(struct fixture *fix, uint64_t within_ns)
{
    return delivery_flush(fix->delivery, fixture_now(fix) + within_ns);
}

/* Ends the delivery, not before all has been tried once more. */
static inline void fixture_close(struct fixture *fix)
{
    (void)fixture_flush(fix, 3600 * NS_PER_S);
    assert_true(delivery_free(fix->delivery));
    fix->delivery = NULL;
}

/* For its teardown. No thread of the delivery may be left that uses the fixture. */
static inline int fixture_end(void **state)
{
    struct fixture *fix = *state;

    for (size_t i = 0; i < SERVERS; i++)
        atomic_store(&fix->servers[i].block, false);
    assert_true(delivery_free(fix->delivery));
    hang_limit_end();
    free(fix);
    return tree_remove(state);
}

/* A profile whose service is a number. */
static inline void fixture_put_at(struct fixture *fix, int number, int64_t start_ns)
{
    static const char bytes[20000];
    char service[16];
    const struct exporter_profile profile = {.service = service,
                                             .start_ns = start_ns,
                                             .end_ns = fixture_utc(fix),
                                             .bytes = bytes,
                                             .size = fix->profile_size};

    assert_true(fix->profile_size <= sizeof(bytes));
    (void)snprintf(service, sizeof(service), "%d", number);
    delivery_put(fix->delivery, EXPORTER_WHOLE, &profile);
}

static inline void fixture_put(struct fixture *fix, int first, int count)
{
    for (int i = 0; i < count; i++)
        fixture_put_at(fix, first + i, fixture_utc(fix));
}

static inline struct delivery_stats fixture_stats(struct fixture *fix, size_t i)
{
    struct delivery_stats got;

    (void)delivery_stats(fix->delivery, i, &got);
    return got;
}

static inline struct delivery_spool_stats fixture_spool_stats(struct fixture *fix)
{
    struct delivery_spool_stats got;

    delivery_spool_stats(fix->delivery, &got);
    return got;
}

/*
 * The server has each profile from `first` on once, and in order but for `back` of them: where it
 * recovers just as a probe is sent, that goes ahead, and the one that had failed is tried later.
 */
static inline void assert_got_but(struct server *server, int first, size_t count, size_t back)
{
    bool seen[GOT_MAX] = {false};
    size_t backward = 0;

    (void)pthread_mutex_lock(&server->lock);
    assert_int_equal(server->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(server->got[i] - first, 0, count - 1);
        assert_false(seen[server->got[i] - first]);
        seen[server->got[i] - first] = true;
        backward += i > 0 && server->got[i] < server->got[i - 1];
    }
    assert_true(backward <= back);
    (void)pthread_mutex_unlock(&server->lock);
}

static inline void assert_got(struct server *server, int first, size_t count)
{
    assert_got_but(server, first, count, 0);
}

#endif

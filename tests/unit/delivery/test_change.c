/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_change.c - other exporters for a delivery that runs: nothing is lost, nothing comes
 * twice, and those that stay do not notice. All of it without and with a spool.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "agent/delivery/change.h"
#include "agent/proc/proc.h"
#include "exporters/spool.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

enum { GOT_MAX = 4096, LOG_SIZE = 16 * 1024, SERVERS = 4, ROUNDS = 150 };

/* A server; each exporter that sends to it has one of its own. */
struct server {
    atomic_int rc;
    atomic_bool block;    /* a send waits until it is canceled */
    atomic_bool deaf;     /* ... or until it blocks no more */
    atomic_uint pause_ms; /* a send takes so long */
    atomic_int sends, canceled, closed;
    pthread_mutex_t lock;
    int got[GOT_MAX];
    size_t count;
};

struct fixture {
    struct delivery *delivery;
    struct delivery_spool spool;
    struct delivery_limits limits;
    struct server servers[SERVERS];
    pthread_mutex_t lock;
    char log[LOG_SIZE];
    char path[128];
};

static uint64_t now_ns(void *ctx)
{
    struct timespec now;

    (void)ctx;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return timespec_to_ns(now);
}

static int64_t utc_ns(void *ctx)
{
    return (int64_t)now_ns(ctx);
}

static void add_line(void *ctx, enum delivery_level level, const char *line)
{
    struct fixture *fix = ctx;

    (void)level;
    (void)pthread_mutex_lock(&fix->lock);
    if (strlen(fix->log) + strlen(line) + 2 < LOG_SIZE) {
        (void)strncat(fix->log, line, LOG_SIZE - strlen(fix->log) - 2);
        (void)strncat(fix->log, "\n", 2);
    }
    (void)pthread_mutex_unlock(&fix->lock);
}

static enum exporter_rc serve(void *ctx, const struct exporter_profile *profile, int64_t now,
                              struct exporter_answer *answer)
{
    struct server *server = ctx;
    enum exporter_rc rc;

    (void)now;
    (void)atomic_fetch_add(&server->sends, 1);
    (void)usleep(atomic_load(&server->pause_ms) * 1000);
    while (atomic_load(&server->block) &&
           (atomic_load(&server->canceled) == 0 || atomic_load(&server->deaf)))
        (void)usleep(500);
    rc = (enum exporter_rc)atomic_load(&server->rc);
    if (atomic_load(&server->canceled) > 0 && !atomic_load(&server->deaf))
        rc = EXPORTER_RETRY;
    err_set(&answer->err, "the server says %s", exporter_rc_label(rc));
    (void)pthread_mutex_lock(&server->lock);
    if (rc == EXPORTER_OK && server->count < GOT_MAX)
        server->got[server->count++] = (int)strtol(profile->service, NULL, 10);
    (void)pthread_mutex_unlock(&server->lock);
    return rc;
}

static void cancel(void *ctx)
{
    (void)atomic_fetch_add(&((struct server *)ctx)->canceled, 1);
}

static void close_server(void *ctx)
{
    (void)atomic_fetch_add(&((struct server *)ctx)->closed, 1);
}

static struct delivery_sink sink_to(struct fixture *fix, size_t server)
{
    return (struct delivery_sink){serve, cancel, close_server, &fix->servers[server]};
}

static int make(void **state, bool spooled)
{
    struct fixture *fix = calloc(1, sizeof(*fix));

    assert_non_null(fix);
    if (tree_make(state) != 0) {
        free(fix);
        return -1;
    }
    (void)snprintf(fix->path, sizeof(fix->path), "%s", tree_path("spool"));
    fix->spool.path = spooled ? fix->path : NULL;
    fix->limits = (struct delivery_limits){.queue_profiles = 1000,
                                           .retry_ns = 3600 * NS_PER_S,
                                           .backoff_min_ns = 1 * NS_PER_MS,
                                           .backoff_max_ns = 4 * NS_PER_MS};
    (void)pthread_mutex_init(&fix->lock, NULL);
    for (size_t i = 0; i < SERVERS; i++)
        (void)pthread_mutex_init(&fix->servers[i].lock, NULL);
    *state = fix;
    return 0;
}

static int setup(void **state)
{
    return make(state, false);
}

static int setup_spooled(void **state)
{
    return make(state, true);
}

static void close_delivery(struct fixture *fix)
{
    (void)delivery_flush(fix->delivery, now_ns(NULL) + HANG_LIMIT_NS);
    assert_true(delivery_free(fix->delivery));
    fix->delivery = NULL;
}

static int teardown(void **state)
{
    struct fixture *fix = *state;

    for (size_t i = 0; i < SERVERS; i++)
        atomic_store(&fix->servers[i].block, false);
    if (fix->delivery)
        close_delivery(fix);
    free(fix);
    return tree_remove(state);
}

/* Exporter "a" sends to server 0, "b" to server 1. */
static void open_two(struct fixture *fix)
{
    static const char *const names[] = {"a", "b"};
    const struct delivery_world world = {now_ns, utc_ns, add_line, fix, 0};
    struct err err = {""};

    if (!delivery_new(&world, fix->spool.path ? &fix->spool : NULL, &fix->delivery, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < 2; i++) {
        struct delivery_sink sink = sink_to(fix, i);

        assert_true(delivery_add(fix->delivery, names[i], EXPORTER_WHOLE, &sink, &fix->limits));
    }
    assert_true(delivery_start(fix->delivery));
}

static void put_many(struct fixture *fix, int first, int count)
{
    char service[16];

    for (int i = 0; i < count; i++) {
        const struct exporter_profile profile = {.service = service,
                                                 .start_ns = utc_ns(fix),
                                                 .end_ns = utc_ns(fix),
                                                 .bytes = "0123456789",
                                                 .size = 10};

        (void)snprintf(service, sizeof(service), "%d", first + i);
        delivery_put(fix->delivery, EXPORTER_WHOLE, &profile);
    }
}

static struct delivery_stats stats(struct fixture *fix, size_t i)
{
    struct delivery_stats got;

    (void)delivery_stats(fix->delivery, i, &got);
    return got;
}

static size_t files(const struct fixture *fix)
{
    const struct dirent *item;
    struct spool_name entry;
    size_t count = 0;
    DIR *dir = opendir(fix->path);

    while (dir && (item = readdir(dir)))
        count += spool_name_read(item->d_name, &entry) ? 1 : 0;
    if (dir)
        (void)closedir(dir);
    return count;
}

/* A change that keeps exporter `keep`, and adds one of that name that sends to `server`. */
static struct delivery_change *begin(struct fixture *fix, size_t keep, const char *name,
                                     size_t server)
{
    struct delivery_change *change = delivery_change_new(fix->delivery, 2);
    struct delivery_sink sink = sink_to(fix, server);

    assert_non_null(change);
    delivery_change_reuse(change, keep);
    assert_true(delivery_change_add(change, name, EXPORTER_WHOLE, &sink, &fix->limits));
    return change;
}

static void apply(struct delivery_change *change, uint64_t within_ns, uint64_t end_ns)
{
    struct delivery_left *left = delivery_change_apply(change, now_ns(NULL) + within_ns);

    assert_true(delivery_left_end(left, now_ns(NULL) + end_ns));
}

/* A change that is applied by a thread of its own. */
struct applier {
    struct delivery_change *change;
    atomic_int tid; /* 0: it has not begun */
};

static void *apply_beside(void *ctx)
{
    struct applier *applier = ctx;

    atomic_store(&applier->tid, (int)syscall(SYS_gettid));
    apply(applier->change, HANG_LIMIT_NS, HANG_LIMIT_NS);
    return NULL;
}

/* Waits until it sleeps: it waits for the send that is under way then. */
static void await_asleep(struct applier *applier)
{
    char state = '\0';

    AWAIT(atomic_load(&applier->tid) != 0);
    AWAIT(proc_thread_state(getpid(), atomic_load(&applier->tid), &state) && state == 'S');
}

/* Each of them once. */
static void assert_got(struct server *server, int first, size_t count)
{
    bool seen[GOT_MAX] = {false};

    (void)pthread_mutex_lock(&server->lock);
    assert_int_equal(server->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(server->got[i] - first, 0, count - 1);
        assert_false(seen[server->got[i] - first]);
        seen[server->got[i] - first] = true;
    }
    (void)pthread_mutex_unlock(&server->lock);
}

static void keeps_an_exporter_with_its_queue_and_counters(void **state)
{
    struct fixture *fix = *state;

    open_two(fix);
    put_many(fix, 0, 3);
    AWAIT(stats(fix, 1).sent == 3);
    atomic_store(&fix->servers[1].rc, EXPORTER_RETRY);
    put_many(fix, 3, 4);
    AWAIT(stats(fix, 0).sent == 7 && stats(fix, 1).queued == 4);

    apply(begin(fix, 1, "c", 2), 0, HANG_LIMIT_NS);

    assert_int_equal(delivery_count(fix->delivery), 2);
    assert_int_equal(stats(fix, 0).sent, 3); /* "b" is the first now */
    assert_int_equal(stats(fix, 0).queued, 4);
    assert_int_equal(fix->servers[0].closed, 1);
    assert_int_equal(fix->servers[1].canceled, 0);
    put_many(fix, 7, 2);
    atomic_store(&fix->servers[1].rc, EXPORTER_OK);
    AWAIT(stats(fix, 0).sent == 9 && stats(fix, 1).sent == 2);
    close_delivery(fix);
    assert_int_equal(files(fix), 0);
    assert_got(&fix->servers[0], 0, 7);
    assert_got(&fix->servers[1], 0, 9);
    assert_got(&fix->servers[2], 7, 2);
}

static void gives_the_queue_to_the_next_of_that_name(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    open_two(fix);
    put_many(fix, 0, 20);
    AWAIT(stats(fix, 1).sent == 20 && stats(fix, 0).queued == 20);

    apply(begin(fix, 1, "a", 2), HANG_LIMIT_NS, HANG_LIMIT_NS);

    AWAIT(stats(fix, 1).sent == 20);
    close_delivery(fix);
    assert_int_equal(files(fix), 0);
    assert_int_equal(fix->servers[0].closed, 1);
    assert_got(&fix->servers[1], 0, 20);
    assert_got(&fix->servers[2], 0, 20);
    assert_string_equal(strstr(fix->log, "could not be delivered") ? "lost" : "", "");
}

static void gives_on_what_is_under_way_for_too_long(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].block, true);
    open_two(fix);
    put_many(fix, 0, 3);
    AWAIT(fix->servers[0].sends == 1 && stats(fix, 0).queued == 3);

    apply(begin(fix, 1, "a", 2), 20 * NS_PER_MS, HANG_LIMIT_NS);

    AWAIT(stats(fix, 1).sent == 3);
    close_delivery(fix);
    assert_int_equal(files(fix), 0);
    assert_int_equal(fix->servers[0].count, 0);
    assert_got(&fix->servers[2], 0, 3);
}

static void sends_nothing_twice_that_is_taken_meanwhile(void **state)
{
    struct fixture *fix = *state;

    struct applier applier = {.change = NULL};
    pthread_t thread;

    atomic_store(&fix->servers[0].block, true);
    open_two(fix);
    put_many(fix, 0, 3);
    AWAIT(fix->servers[0].sends == 1 && stats(fix, 0).queued == 3);

    applier.change = begin(fix, 1, "a", 2);
    assert_int_equal(pthread_create(&thread, NULL, apply_beside, &applier), 0);
    await_asleep(&applier);
    atomic_store(&fix->servers[0].block, false); /* now the send is taken after all */
    assert_int_equal(pthread_join(thread, NULL), 0);

    AWAIT(stats(fix, 1).sent == 2);
    close_delivery(fix);
    assert_int_equal(files(fix), 0);
    assert_got(&fix->servers[0], 0, 1);
    assert_got(&fix->servers[2], 1, 2);
}

/* The spool tells the next one that it need not send what the one before has got through after all.
 */
static void hears_of_a_send_that_no_cancel_could_end(void **state)
{
    struct fixture *fix = *state;
    struct delivery_left *left;

    atomic_store(&fix->servers[0].block, true);
    atomic_store(&fix->servers[0].deaf, true);
    open_two(fix);
    put_many(fix, 0, 3);
    AWAIT(fix->servers[0].sends == 1 && stats(fix, 0).queued == 3);

    left = delivery_change_apply(begin(fix, 1, "a", 2), 0);
    AWAIT(fix->servers[2].sends == 2);
    atomic_store(&fix->servers[0].block, false);
    assert_true(delivery_left_end(left, now_ns(NULL) + HANG_LIMIT_NS));

    AWAIT(files(fix) == 0 && stats(fix, 1).queued == 0);
    close_delivery(fix);
    assert_got(&fix->servers[0], 0, 1);
    assert_got(&fix->servers[2], 1, 2);
}

static void tries_once_more_what_an_exporter_has_that_goes(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    open_two(fix);
    put_many(fix, 0, 5);
    AWAIT(stats(fix, 1).sent == 5 && stats(fix, 0).retried > 0);
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);

    apply(begin(fix, 1, "c", 2), 0, HANG_LIMIT_NS);

    close_delivery(fix);
    assert_int_equal(files(fix), 0);
    assert_got(&fix->servers[0], 0, 5);
    assert_int_equal(fix->servers[2].count, 0);
}

static void drops_what_an_exporter_that_goes_cannot_deliver(void **state)
{
    struct fixture *fix = *state;
    struct delivery_spool_stats spool;
    struct delivery_left *left;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    open_two(fix);
    put_many(fix, 0, 5);
    AWAIT(stats(fix, 1).sent == 5 && stats(fix, 0).retried > 0);

    left = delivery_change_apply(begin(fix, 1, "c", 2), now_ns(NULL));
    (void)delivery_left_end(left, now_ns(NULL) + 50 * NS_PER_MS);
    AWAIT(fix->servers[0].closed == 1); /* where there was no CPU for its thread, that is late */

    assert_non_null(strstr(fix->log, "exporter a: 5 profiles could not be delivered"));
    AWAIT(files(fix) == 0);
    delivery_spool_stats(fix->delivery, &spool);
    assert_int_equal(spool.dropped_unknown, fix->spool.path ? 5 : 0);
    put_many(fix, 5, 1);
    AWAIT(stats(fix, 0).sent == 6 && stats(fix, 1).sent == 1);
}

static void leaves_all_as_it_is_if_abandoned(void **state)
{
    struct fixture *fix = *state;

    open_two(fix);
    delivery_change_abandon(begin(fix, 0, "b", 2));
    delivery_change_abandon(NULL);

    put_many(fix, 0, 3);
    AWAIT(stats(fix, 0).sent == 3 && stats(fix, 1).sent == 3);
    assert_int_equal(fix->servers[2].closed, 1);
    assert_int_equal(fix->servers[2].sends, 0);
    assert_int_equal(fix->servers[0].closed + fix->servers[1].closed, 0);
}

static void loses_nothing_in_many_changes_under_way(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[1].pause_ms, 1);
    open_two(fix);
    for (int i = 0; i < ROUNDS; i++) {
        put_many(fix, i * 4, 4);
        /* The one that is new now is kept the next time. */
        apply(begin(fix, 1, i % 2 == 0 ? "a" : "b", i % 2 == 0 ? 0 : 1), HANG_LIMIT_NS,
              HANG_LIMIT_NS);
        atomic_store(&fix->servers[0].canceled, 0);
        atomic_store(&fix->servers[1].canceled, 0);
    }
    close_delivery(fix);
    assert_int_equal(files(fix), 0);
    assert_got(&fix->servers[0], 0, ROUNDS * (size_t)4);
    assert_got(&fix->servers[1], 0, ROUNDS * (size_t)4);
}

#define BOTH(test)                                          \
    cmocka_unit_test_setup_teardown(test, setup, teardown), \
        cmocka_unit_test_setup_teardown(test, setup_spooled, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(keeps_an_exporter_with_its_queue_and_counters),
        BOTH(gives_the_queue_to_the_next_of_that_name),
        BOTH(gives_on_what_is_under_way_for_too_long),
        BOTH(sends_nothing_twice_that_is_taken_meanwhile),
        cmocka_unit_test_setup_teardown(hears_of_a_send_that_no_cancel_could_end, setup_spooled,
                                        teardown),
        BOTH(tries_once_more_what_an_exporter_has_that_goes),
        BOTH(drops_what_an_exporter_that_goes_cannot_deliver),
        BOTH(leaves_all_as_it_is_if_abandoned),
        BOTH(loses_nothing_in_many_changes_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spooler.c - what is put arrives, in order and once, whatever the server and the disk
 * do.
 *
 * Time runs a thousand times faster here, so that an hour is over in seconds.
 */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "agent/delivery/delivery.h"
#include "exporters/spool.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

enum { SPEED = 1000, GOT_MAX = 4096, LOG_SIZE = 16 * 1024 };

/* A server that keeps what it took: the number in each profile's service. */
struct server {
    atomic_int rc;
    atomic_bool denies, absent;
    atomic_bool hangs, released; /* the next send waits, whoever cancels it */
    atomic_int poison;           /* the number of a profile that is always told to come again */
    atomic_int sends, closes;
    pthread_mutex_t lock;
    int got[GOT_MAX];
    size_t count;
    bool seen_on_disk; /* every profile had its file while it was sent */
};

struct fixture {
    struct delivery *delivery;
    struct delivery_spool spool;
    struct delivery_limits limits;
    struct server servers[2];
    pthread_mutex_t lock;
    char log[LOG_SIZE];
    atomic_int_fast64_t utc_offset_ns;
    char path[128];
};

static uint64_t now_ns(void *ctx)
{
    struct timespec now;

    (void)ctx;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (timespec_to_ns(now)) % (NS_PER_S << 20) * SPEED + 1;
}

static int64_t utc_ns(void *ctx)
{
    struct fixture *fix = ctx;

    return (int64_t)now_ns(ctx) + atomic_load(&fix->utc_offset_ns);
}

static void add_line(void *ctx, enum delivery_level level, const char *line)
{
    struct fixture *fix = ctx;

    (void)pthread_mutex_lock(&fix->lock);
    if (strlen(fix->log) + strlen(line) + 4 < LOG_SIZE) {
        (void)strncat(fix->log, level == DELIVERY_WARNING ? "W " : "I ", 3);
        (void)strncat(fix->log, line, LOG_SIZE - strlen(fix->log) - 2);
        (void)strncat(fix->log, "\n", 2);
    }
    (void)pthread_mutex_unlock(&fix->lock);
}

static bool log_has(struct fixture *fix, const char *text)
{
    bool has;

    (void)pthread_mutex_lock(&fix->lock);
    has = strstr(fix->log, text) != NULL;
    (void)pthread_mutex_unlock(&fix->lock);
    return has;
}

static size_t files_in(const char *name)
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

static enum exporter_rc serve(void *ctx, const struct exporter_profile *profile, int64_t now,
                              struct exporter_answer *answer)
{
    struct server *server = ctx;
    int number = (int)strtol(profile->service, NULL, 10);
    enum exporter_rc rc = (enum exporter_rc)atomic_load(&server->rc);

    (void)now;
    (void)atomic_fetch_add(&server->sends, 1);
    if (atomic_exchange(&server->hangs, false)) {
        while (!atomic_load(&server->released))
            (void)usleep(1000);
    }
    if (number == atomic_load(&server->poison))
        rc = EXPORTER_RETRY;
    if (atomic_load(&server->denies)) {
        rc = EXPORTER_RETRY;
        answer->denied = true;
    }
    if (atomic_load(&server->absent)) {
        rc = EXPORTER_RETRY;
        answer->unsent = true;
    }
    err_set(&answer->err, "the server says %s", exporter_rc_label(rc));
    (void)pthread_mutex_lock(&server->lock);
    if (files_in("spool") == 0)
        server->seen_on_disk = false;
    if (rc == EXPORTER_OK && server->count < GOT_MAX)
        server->got[server->count++] = number;
    (void)pthread_mutex_unlock(&server->lock);
    return rc;
}

static void nothing(void *ctx)
{
    (void)ctx;
}

static void close_server(void *ctx)
{
    struct server *server = ctx;

    (void)atomic_fetch_add(&server->closes, 1);
}

static void open_delivery(struct fixture *fix, size_t exporters)
{
    static const char *const names[] = {"first", "second"};
    const struct delivery_world world = {now_ns, utc_ns, add_line, fix, SPEED};
    struct err err = {""};

    if (!delivery_new(&world, fix->spool.path ? &fix->spool : NULL, &fix->delivery, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < exporters; i++) {
        struct delivery_sink sink = {serve, nothing, close_server, &fix->servers[i]};

        assert_true(delivery_add(fix->delivery, names[i], EXPORTER_WHOLE, &sink, &fix->limits));
    }
    assert_true(delivery_start(fix->delivery));
}

static void close_delivery(struct fixture *fix)
{
    (void)delivery_flush(fix->delivery, now_ns(NULL) + SPEED * HANG_LIMIT_NS);
    assert_true(delivery_free(fix->delivery));
    fix->delivery = NULL;
}

static int setup(void **state)
{
    struct fixture *fix = calloc(1, sizeof(*fix));

    assert_non_null(fix);
    if (tree_make(state) != 0) {
        free(fix);
        return -1;
    }
    (void)snprintf(fix->path, sizeof(fix->path), "%s", tree_path("spool"));
    fix->spool.path = fix->path;
    fix->spool.patience_ns = SPEED * HANG_LIMIT_NS;
    (void)pthread_mutex_init(&fix->lock, NULL);
    for (size_t i = 0; i < 2; i++) {
        (void)pthread_mutex_init(&fix->servers[i].lock, NULL);
        atomic_store(&fix->servers[i].poison, -1);
        fix->servers[i].seen_on_disk = true;
    }
    *state = fix;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fix = *state;

    if (fix->delivery)
        close_delivery(fix); /* no thread of it may be left, that uses the fixture */
    free(fix);
    return tree_remove(state);
}

static void put(struct fixture *fix, int number)
{
    static const char payload[20000];
    char service[16];
    const struct exporter_profile profile = {
        .service = service,
        .start_ns = utc_ns(fix),
        .end_ns = utc_ns(fix),
        .bytes = payload,
        .size = sizeof(payload),
    };

    (void)snprintf(service, sizeof(service), "%d", number);
    delivery_put(fix->delivery, EXPORTER_WHOLE, &profile);
}

static void put_many(struct fixture *fix, int first, int count)
{
    for (int i = 0; i < count; i++)
        put(fix, first + i);
}

static struct delivery_spool_stats spool_stats(struct fixture *fix)
{
    struct delivery_spool_stats got;

    delivery_spool_stats(fix->delivery, &got);
    return got;
}

static struct delivery_stats stats(struct fixture *fix, size_t i)
{
    struct delivery_stats got;

    (void)delivery_stats(fix->delivery, i, &got);
    return got;
}

static void assert_got(struct server *server, int first, size_t count)
{
    (void)pthread_mutex_lock(&server->lock);
    assert_int_equal(server->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(server->got[i], first + (int)i);
    (void)pthread_mutex_unlock(&server->lock);
}

/*
 * Each once, and in order but for two: where a server recovers just as a probe is sent, that goes
 * ahead, and the one that had failed is tried again later.
 */
static void assert_got_beside_a_probe(struct server *server, int first, size_t count)
{
    bool seen[GOT_MAX] = {false};
    unsigned back = 0;

    (void)pthread_mutex_lock(&server->lock);
    assert_int_equal(server->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(server->got[i] - first, 0, count - 1);
        assert_false(seen[server->got[i] - first]);
        seen[server->got[i] - first] = true;
        back += i > 0 && server->got[i] < server->got[i - 1];
    }
    assert_true(back <= 2);
    (void)pthread_mutex_unlock(&server->lock);
}

static void puts_on_disk_before_it_sends_and_removes_after(void **state)
{
    struct fixture *fix = *state;

    open_delivery(fix, 1);
    put_many(fix, 0, 5);
    AWAIT(stats(fix, 0).sent == 5 && files_in("spool") == 0);
    assert_int_equal(spool_stats(fix).written, 5);
    assert_int_equal(spool_stats(fix).in_memory, 0);
    close_delivery(fix);
    assert_got(&fix->servers[0], 0, 5);
    assert_true(fix->servers[0].seen_on_disk);
}

static void keeps_a_profile_until_the_last_exporter_has_it(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[1].rc, EXPORTER_RETRY);
    open_delivery(fix, 2);
    put_many(fix, 0, 3);
    AWAIT(stats(fix, 0).sent == 3);
    AWAIT(access(tree_path("spool/0000000000000001-0002.profile"), F_OK) == 0);
    assert_int_equal(files_in("spool"), 3);
    close_delivery(fix);
    atomic_store(&fix->servers[1].rc, EXPORTER_OK);
    open_delivery(fix, 2);
    AWAIT(stats(fix, 1).sent == 3 && files_in("spool") == 0);
    close_delivery(fix);
    assert_got(&fix->servers[0], 0, 3);
    assert_got_beside_a_probe(&fix->servers[1], 0, 3);
}

static void goes_on_after_a_restart_in_order(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    for (int run = 0; run < 3; run++) {
        open_delivery(fix, 1);
        put_many(fix, run * 10, 10);
        close_delivery(fix);
        assert_int_equal(files_in("spool"), (run + 1) * 10);
    }
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    open_delivery(fix, 1);
    AWAIT(stats(fix, 0).sent == 30);
    assert_int_equal(spool_stats(fix).found, 30);
    put_many(fix, 30, 1);
    AWAIT(stats(fix, 0).sent == 31 && files_in("spool") == 0);
    close_delivery(fix);
    assert_got(&fix->servers[0], 0, 31);
    assert_true(log_has(fix, "I spool: goes on with 30 profiles of an earlier run"));
}

/* An hour at two profiles each quarter of a minute. */
static void loses_nothing_in_an_hour_without_a_server(void **state)
{
    struct fixture *fix = *state;
    size_t before, after;

    fix->limits.retry_ns = 5 * 60 * NS_PER_S;
    atomic_store(&fix->servers[0].absent, true);
    open_delivery(fix, 1);
    put_many(fix, 0, 2);
    AWAIT(stats(fix, 0).retried > 0);
    before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 1; i < 240; i++) {
        put_many(fix, 2 * i, 2);
        (void)usleep(15 * 1000000 / SPEED);
    }
    AWAIT(spool_stats(fix).written == 480);
    after = mallinfo2().uordblks + mallinfo2().hblkhd;
    assert_true(after < before + (2 << 20));
    assert_int_equal(stats(fix, 0).queued, 480);
    atomic_store(&fix->servers[0].absent, false);
    AWAIT(stats(fix, 0).sent == 480 && files_in("spool") == 0);
    assert_int_equal(stats(fix, 0).dropped_old + stats(fix, 0).dropped_full, 0);
    close_delivery(fix);
    assert_got(&fix->servers[0], 0, 480);
}

static void lets_no_poison_hold_up_the_others_and_gives_it_up(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].poison, 3);
    open_delivery(fix, 1);
    put_many(fix, 0, 20);
    AWAIT(stats(fix, 0).sent == 19);
    for (int i = 20; stats(fix, 0).dropped_old == 0 && i < GOT_MAX; i++) {
        put(fix, i);
        (void)usleep(15 * 1000000 / SPEED);
    }
    assert_int_equal(stats(fix, 0).dropped_old, 1);
    AWAIT(files_in("spool") == 0);
    assert_int_equal(stats(fix, 0).refused, 0);
}

static void keeps_what_is_denied_and_asks_ever_more_seldom(void **state)
{
    struct fixture *fix = *state;

    uint64_t began_ns, before, tries;

    atomic_store(&fix->servers[0].denies, true);
    open_delivery(fix, 1);
    put_many(fix, 0, 3);
    AWAIT(stats(fix, 0).denied >= 8);
    began_ns = now_ns(NULL);
    before = stats(fix, 0).denied;
    (void)usleep(1000 * 1000); /* a quarter of an hour, and more on a busy machine */
    tries = stats(fix, 0).denied - before;
    /* The ninth pause is 64 s or longer, and the next ones are no shorter. */
    assert_in_range(tries, 0, 1 + (now_ns(NULL) - began_ns) / (64 * NS_PER_S));
    assert_int_equal(stats(fix, 0).queued, 3);
    atomic_store(&fix->servers[0].denies, false);
    AWAIT(stats(fix, 0).sent == 3);
    assert_got(&fix->servers[0], 0, 3);
}

static void drops_the_oldest_when_the_spool_is_full(void **state)
{
    struct fixture *fix = *state;
    struct server *server = &fix->servers[0];

    fix->spool.max_size_bytes = 280 * 1024; /* 14 entries of 20 KiB */
    atomic_store(&server->rc, EXPORTER_RETRY);
    open_delivery(fix, 1);
    for (int i = 0; i < 50; i++) {
        put(fix, i);
        AWAIT(spool_stats(fix).written == (uint64_t)i + 1);
        assert_true(spool_stats(fix).bytes <= fix->spool.max_size_bytes);
        assert_true(files_in("spool") <= 14);
    }
    assert_int_equal(spool_stats(fix).dropped_size, 50 - spool_stats(fix).entries);
    atomic_store(&server->rc, EXPORTER_OK);
    AWAIT(files_in("spool") == 0);
    close_delivery(fix);
    assert_int_equal(server->got[server->count - 1], 49);
    assert_got_beside_a_probe(server, 50 - (int)server->count, server->count);
    assert_true(log_has(fix, "for spool_max_size"));
}

static void leaves_the_disk_what_it_is_told_to(void **state)
{
    struct fixture *fix = *state;

    fix->spool.min_free_bytes = UINT64_C(1) << 60;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    open_delivery(fix, 1);
    put_many(fix, 0, 3);
    AWAIT(spool_stats(fix).in_memory == 3);
    assert_int_equal(files_in("spool"), 0);
    assert_true(
        log_has(fix, "the disk has less than spool_min_free left; profiles wait in memory"));
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    AWAIT(stats(fix, 0).sent == 3);
    assert_got_beside_a_probe(&fix->servers[0], 0, 3);
}

static void drops_what_is_too_old(void **state)
{
    struct fixture *fix = *state;

    fix->spool.max_age_ns = 600 * NS_PER_S;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    open_delivery(fix, 1);
    put_many(fix, 0, 3);
    AWAIT(spool_stats(fix).dropped_age == 3);
    AWAIT(files_in("spool") == 0);
    AWAIT(stats(fix, 0).queued == 0);
    assert_int_equal(stats(fix, 0).dropped_full, 3);
}

static void drops_what_the_server_would_not_take_any_more(void **state)
{
    struct fixture *fix = *state;

    fix->limits.max_age_ns = 600 * NS_PER_S;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    open_delivery(fix, 1);
    put_many(fix, 0, 3);
    AWAIT(stats(fix, 0).dropped_old == 3);
    AWAIT(files_in("spool") == 0);
    assert_int_equal(spool_stats(fix).dropped_age, 0);
}

/* A day ahead, two back, and so on: clocks are set while profiles wait. */
static void drops_nothing_because_a_clock_was_set(void **state)
{
    static const int64_t days[] = {1000, -1000, 0, 365, -1, 20000, -20000, 2};
    struct fixture *fix = *state;
    size_t count = sizeof(days) / sizeof(days[0]);

    fix->spool.max_age_ns = 24 * 3600 * NS_PER_S;
    fix->limits.max_age_ns = exporter_types[EXPORTER_PYROSCOPE].max_age_ns;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    open_delivery(fix, 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t retried = stats(fix, 0).retried;

        put_many(fix, (int)i * 5, 5);
        AWAIT(spool_stats(fix).written == (i + 1) * 5);
        atomic_store(&fix->utc_offset_ns, days[i] * 86400 * (int64_t)NS_PER_S);
        AWAIT(stats(fix, 0).retried > retried + 1);
    }
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    AWAIT(stats(fix, 0).queued == 0);
    assert_int_equal(spool_stats(fix).dropped_age, 0);
    assert_int_equal(stats(fix, 0).dropped_old, 0);
    close_delivery(fix);
    assert_got_beside_a_probe(&fix->servers[0], 0, count * 5);
}

/* A host whose clock starts in 1970, until it hears of the time. */
static void keeps_what_an_earlier_run_left_while_the_clock_is_behind(void **state)
{
    struct fixture *fix = *state;

    fix->spool.max_age_ns = 24 * 3600 * NS_PER_S;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    atomic_store(&fix->utc_offset_ns, 20000 * 86400 * (int64_t)NS_PER_S);
    open_delivery(fix, 1);
    put_many(fix, 0, 5);
    close_delivery(fix);
    atomic_store(&fix->utc_offset_ns, 0);
    open_delivery(fix, 1);
    AWAIT(spool_stats(fix).found == 5 && stats(fix, 0).retried > 0);
    put_many(fix, 5, 5);
    AWAIT(spool_stats(fix).written == 5);
    atomic_store(&fix->utc_offset_ns, 20000 * 86400 * (int64_t)NS_PER_S);
    AWAIT(stats(fix, 0).retried > 4);
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    AWAIT(stats(fix, 0).sent == 10);
    assert_int_equal(spool_stats(fix).dropped_age, 0);
    assert_got_beside_a_probe(&fix->servers[0], 0, 10);
}

static void drops_what_is_for_an_exporter_that_is_gone(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    atomic_store(&fix->servers[1].rc, EXPORTER_RETRY);
    open_delivery(fix, 2);
    put_many(fix, 0, 3);
    close_delivery(fix);
    fix->delivery = NULL;
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    open_delivery(fix, 1);
    AWAIT(stats(fix, 0).sent == 3 && files_in("spool") == 0);
    assert_int_equal(spool_stats(fix).dropped_unknown, 0); /* the other one still wanted them */
    close_delivery(fix);
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    open_delivery(fix, 1);
    put_many(fix, 3, 2);
    close_delivery(fix);
    open_delivery(fix, 0);
    AWAIT(spool_stats(fix).dropped_unknown == 2 && files_in("spool") == 0);
    AWAIT(log_has(fix, "2 profiles were dropped: their exporters are not configured any more"));
}

static void passes_by_what_is_no_profile(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    open_delivery(fix, 1);
    put_many(fix, 0, 4);
    close_delivery(fix);
    tree_write_text("spool/0000000000000001-0001.profile", "rubbish"); /* the whole file */
    assert_int_equal(truncate(tree_path("spool/0000000000000002-0001.profile"), 9000), 0);
    tree_write_text("spool/000000000000002a-0001.profile", ""); /* foreign */
    {
        int fd = open(tree_path("spool/0000000000000003-0001.profile"), O_RDWR | O_CLOEXEC);

        assert_int_equal(pwrite(fd, "x", 1, 15000), 1); /* found when it is read as a whole */
        (void)close(fd);
    }
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    open_delivery(fix, 1);
    AWAIT(stats(fix, 0).sent == 1 && spool_stats(fix).bad == 4 && files_in("spool") == 0);
    assert_int_equal(files_in("spool/bad"), 4);
    close_delivery(fix);
    assert_got(&fix->servers[0], 3, 1);
}

static void goes_without_a_disk_and_back_to_it(void **state)
{
    struct fixture *fix = *state;

    tree_write_text("spool", "a file is in the way");
    open_delivery(fix, 1);
    put_many(fix, 0, 3);
    AWAIT(stats(fix, 0).sent == 3);
    assert_true(spool_stats(fix).failing);
    AWAIT(log_has(fix, "W spool: "));
    assert_int_equal(unlink(tree_path("spool")), 0);
    AWAIT((put(fix, 3), usleep(10000), spool_stats(fix).written > 0));
    assert_true(log_has(fix, "I spool: works again"));
    assert_false(spool_stats(fix).failing);
}

static size_t count_in_log(struct fixture *fix, const char *text)
{
    size_t count = 0;

    (void)pthread_mutex_lock(&fix->lock);
    for (const char *at = fix->log; (at = strstr(at, text)); at++)
        count++;
    (void)pthread_mutex_unlock(&fix->lock);
    return count;
}

/* Ten minutes without a disk and without a server. */
static void keeps_a_bounded_queue_and_warns_once_a_minute_without_a_disk(void **state)
{
    struct fixture *fix = *state;
    uint64_t began_ns = now_ns(NULL);
    size_t warnings;

    fix->limits.queue_profiles = 8;
    fix->limits.retry_ns = 3600 * NS_PER_S;
    atomic_store(&fix->servers[0].absent, true);
    tree_write_text("spool", "a file is in the way");
    open_delivery(fix, 1);
    for (int i = 0; i < 40; i++) {
        put(fix, i);
        (void)usleep(15 * 1000000 / SPEED);
    }
    AWAIT(spool_stats(fix).in_memory == 40);
    AWAIT(stats(fix, 0).queued + stats(fix, 0).dropped_full == 40);
    assert_in_range(stats(fix, 0).queued, 8, 9); /* and the one under way */
    warnings = count_in_log(fix, "W spool: ");   /* before the clock is read for the limit */
    assert_in_range(warnings, 2, 1 + (now_ns(NULL) - began_ns) / (60 * NS_PER_S));
    assert_int_equal(unlink(tree_path("spool")), 0);
    put(fix, 40);
    AWAIT((put(fix, 41), usleep(10000), spool_stats(fix).written > 0));
    atomic_store(&fix->servers[0].absent, false);
    AWAIT(stats(fix, 0).queued == 0);
}

static void says_who_else_has_the_spool(void **state)
{
    const struct delivery_world world = {now_ns, utc_ns, add_line, *state, SPEED};
    struct fixture *fix = *state;
    struct delivery *other = NULL;
    struct err err = {""};

    open_delivery(fix, 1);
    assert_false(delivery_new(&world, &fix->spool, &other, &err));
    assert_non_null(strstr(err.text, "another agent uses this spool"));
}

static bool can_be_had(const char *path)
{
    struct spool *spool = NULL;
    struct err err;
    bool good = spool_open(path, true, &spool, &err) == SPOOL_OK;

    spool_close(spool);
    return good;
}

static void leaves_the_spool_to_the_next_one_when_an_exporter_hangs(void **state)
{
    struct fixture *fix = *state;
    struct server *server = &fix->servers[0];

    atomic_store(&server->hangs, true);
    open_delivery(fix, 1);
    put_many(fix, 0, 3);
    AWAIT(spool_stats(fix).written == 3 && atomic_load(&server->sends) == 1);
    (void)delivery_flush(fix->delivery, 0);
    assert_false(delivery_free(fix->delivery));
    AWAIT(can_be_had(fix->path));
    open_delivery(fix, 1);
    AWAIT(stats(fix, 0).sent == 3 && files_in("spool") == 0);
    atomic_store(&server->released, true);
    AWAIT(atomic_load(&server->closes) == 1); /* of the one that was left behind */
}

static void lets_others_remove_and_send_beside_it(void **state)
{
    struct fixture *fix = *state;
    struct spool *beside;
    struct spool_name name = {2, 1};
    enum spool_rc rc = SPOOL_BUSY;
    struct spool_held held;
    struct err err;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    open_delivery(fix, 1);
    put_many(fix, 0, 4);
    AWAIT(files_in("spool") == 4);
    assert_int_equal(spool_open(fix->path, false, &beside, &err), SPOOL_OK);
    for (int i = 0; i < 10000 && rc != SPOOL_OK; i++) { /* it may just be sent */
        rc = spool_take(beside, &name, true, &held, &err);
        (void)usleep(1000);
    }
    assert_int_equal(rc, SPOOL_OK);
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    AWAIT(stats(fix, 0).sent >= 1); /* the second one is held by another process */
    assert_int_equal(spool_set_owed(beside, &name, 0, &err), SPOOL_OK);
    spool_let_go(&held);
    spool_close(beside);
    AWAIT(stats(fix, 0).sent == 3 && stats(fix, 0).queued == 0);
    close_delivery(fix);
    assert_int_equal(fix->servers[0].got[1], 2);
}

int main(void)
{
#define WITH_SPOOL(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_SPOOL(puts_on_disk_before_it_sends_and_removes_after),
        WITH_SPOOL(keeps_a_profile_until_the_last_exporter_has_it),
        WITH_SPOOL(goes_on_after_a_restart_in_order),
        WITH_SPOOL(loses_nothing_in_an_hour_without_a_server),
        WITH_SPOOL(lets_no_poison_hold_up_the_others_and_gives_it_up),
        WITH_SPOOL(keeps_what_is_denied_and_asks_ever_more_seldom),
        WITH_SPOOL(drops_the_oldest_when_the_spool_is_full),
        WITH_SPOOL(leaves_the_disk_what_it_is_told_to),
        WITH_SPOOL(drops_what_is_too_old),
        WITH_SPOOL(drops_what_the_server_would_not_take_any_more),
        WITH_SPOOL(drops_nothing_because_a_clock_was_set),
        WITH_SPOOL(keeps_what_an_earlier_run_left_while_the_clock_is_behind),
        WITH_SPOOL(drops_what_is_for_an_exporter_that_is_gone),
        WITH_SPOOL(passes_by_what_is_no_profile),
        WITH_SPOOL(goes_without_a_disk_and_back_to_it),
        WITH_SPOOL(keeps_a_bounded_queue_and_warns_once_a_minute_without_a_disk),
        WITH_SPOOL(says_who_else_has_the_spool),
        WITH_SPOOL(leaves_the_spool_to_the_next_one_when_an_exporter_hangs),
        WITH_SPOOL(lets_others_remove_and_send_beside_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

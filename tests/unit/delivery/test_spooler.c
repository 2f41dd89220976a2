/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spooler.c - what is put arrives, in order and once, whatever the server and the disk
 * do.
 *
 * Time is stepped, so that an hour is over in seconds.
 */
#include <malloc.h>

#include "tests/unit/delivery/delivery_fixture.h"

/* With a spool, and profiles that are large enough to fill it. */
static int setup(void **state)
{
    struct fixture *fix;

    (void)fixture_make(state, true);
    fix = *state;
    fix->profile_size = 20000;
    return 0;
}

/* Where a server recovers just as a probe is sent, two are out of order. */
static void assert_got_beside_a_probe(struct server *server, int first, size_t count)
{
    assert_got_but(server, first, count, 2);
}

static void puts_on_disk_before_it_sends_and_removes_after(void **state)
{
    struct fixture *fix = *state;

    fixture_open(fix, 1);
    fixture_put(fix, 0, 5);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 5 && files_in("spool") == 0);
    assert_int_equal(fixture_spool_stats(fix).written, 5);
    assert_int_equal(fixture_spool_stats(fix).in_memory, 0);
    fixture_close(fix);
    assert_got(&fix->servers[0], 0, 5);
    assert_true(fix->servers[0].seen_on_disk);
}

static void keeps_a_profile_until_the_last_exporter_has_it(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[1].rc, EXPORTER_RETRY);
    fixture_open(fix, 2);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 3);
    EVENTUALLY(fix, access(tree_path("spool/0000000000000001-0002.profile"), F_OK) == 0);
    assert_int_equal(files_in("spool"), 3);
    fixture_close(fix);
    atomic_store(&fix->servers[1].rc, EXPORTER_OK);
    fixture_open(fix, 2);
    EVENTUALLY(fix, fixture_stats(fix, 1).sent == 3 && files_in("spool") == 0);
    fixture_close(fix);
    assert_got(&fix->servers[0], 0, 3);
    assert_got_beside_a_probe(&fix->servers[1], 0, 3);
}

static void goes_on_after_a_restart_in_order(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    for (int run = 0; run < 3; run++) {
        fixture_open(fix, 1);
        fixture_put(fix, run * 10, 10);
        fixture_close(fix);
        assert_int_equal(files_in("spool"), (run + 1) * 10);
    }
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    fixture_open(fix, 1);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 30);
    assert_int_equal(fixture_spool_stats(fix).found, 30);
    fixture_put(fix, 30, 1);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 31 && files_in("spool") == 0);
    fixture_close(fix);
    assert_got(&fix->servers[0], 0, 31);
    assert_true(fixture_log_count(fix, "I spool: goes on with 30 profiles of an earlier run"));
}

/* An hour at two profiles each quarter of a minute. */
static void loses_nothing_in_an_hour_without_a_server(void **state)
{
    struct fixture *fix = *state;
    size_t before, after;

    fix->limits.retry_ns = 5 * 60 * NS_PER_S;
    atomic_store(&fix->servers[0].absent, true);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 2);
    EVENTUALLY(fix, fixture_stats(fix, 0).retried > 0);
    before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 1; i < 240; i++) {
        fixture_put(fix, 2 * i, 2);
        fixture_pass(fix, 15 * NS_PER_S);
    }
    EVENTUALLY(fix, fixture_spool_stats(fix).written == 480);
    after = mallinfo2().uordblks + mallinfo2().hblkhd;
    assert_true(after < before + (2 << 20));
    assert_int_equal(fixture_stats(fix, 0).queued, 480);
    atomic_store(&fix->servers[0].absent, false);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 480 && files_in("spool") == 0);
    assert_int_equal(fixture_stats(fix, 0).dropped_old + fixture_stats(fix, 0).dropped_full, 0);
    fixture_close(fix);
    assert_got(&fix->servers[0], 0, 480);
}

static void lets_no_poison_hold_up_the_others_and_gives_it_up(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].poison, 3);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 20);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 19);
    for (int i = 20; fixture_stats(fix, 0).dropped_old == 0 && i < GOT_MAX; i++) {
        fixture_put(fix, i, 1);
        fixture_pass(fix, 15 * NS_PER_S);
    }
    assert_int_equal(fixture_stats(fix, 0).dropped_old, 1);
    EVENTUALLY(fix, files_in("spool") == 0);
    assert_int_equal(fixture_stats(fix, 0).refused, 0);
}

static void keeps_what_is_denied_and_asks_ever_more_seldom(void **state)
{
    struct fixture *fix = *state;

    uint64_t before;

    atomic_store(&fix->servers[0].denies, true);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fixture_stats(fix, 0).denied >= 8);
    before = fixture_stats(fix, 0).denied;
    fixture_pass(fix, 1000 * NS_PER_S);
    /* The ninth pause is 64 s or longer, and the next ones are no shorter. */
    assert_in_range(fixture_stats(fix, 0).denied - before, 1, 1 + 1000 / 64);
    assert_int_equal(fixture_stats(fix, 0).queued, 3);
    atomic_store(&fix->servers[0].denies, false);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 3);
    assert_got(&fix->servers[0], 0, 3);
}

static void drops_the_oldest_when_the_spool_is_full(void **state)
{
    struct fixture *fix = *state;
    struct server *server = &fix->servers[0];

    fix->spool.max_size_bytes = 280 * 1024; /* 14 entries of 20 KiB */
    atomic_store(&server->rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    for (int i = 0; i < 50; i++) {
        fixture_put(fix, i, 1);
        EVENTUALLY(fix, fixture_spool_stats(fix).written == (uint64_t)i + 1);
        assert_true(fixture_spool_stats(fix).bytes <= fix->spool.max_size_bytes);
        assert_true(files_in("spool") <= 14);
    }
    assert_int_equal(fixture_spool_stats(fix).dropped_size, 50 - fixture_spool_stats(fix).entries);
    atomic_store(&server->rc, EXPORTER_OK);
    EVENTUALLY(fix, files_in("spool") == 0);
    fixture_close(fix);
    assert_int_equal(server->got[server->count - 1], 49);
    assert_got_beside_a_probe(server, 50 - (int)server->count, server->count);
    assert_true(fixture_log_count(fix, "for spool_max_size"));
}

static void leaves_the_disk_what_it_is_told_to(void **state)
{
    struct fixture *fix = *state;

    fix->spool.min_free_bytes = UINT64_C(1) << 60;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fixture_spool_stats(fix).in_memory == 3);
    assert_int_equal(files_in("spool"), 0);
    assert_true(fixture_log_count(
        fix, "the disk has less than spool_min_free left; profiles wait in memory"));
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 3);
    assert_got_beside_a_probe(&fix->servers[0], 0, 3);
}

static void drops_what_is_too_old(void **state)
{
    struct fixture *fix = *state;

    fix->spool.max_age_ns = 600 * NS_PER_S;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fixture_spool_stats(fix).dropped_age == 3);
    EVENTUALLY(fix, files_in("spool") == 0);
    EVENTUALLY(fix, fixture_stats(fix, 0).queued == 0);
    assert_int_equal(fixture_stats(fix, 0).dropped_full, 3);
}

static void drops_what_the_server_would_not_take_any_more(void **state)
{
    struct fixture *fix = *state;

    fix->limits.max_age_ns = 600 * NS_PER_S;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fixture_stats(fix, 0).dropped_old == 3);
    EVENTUALLY(fix, files_in("spool") == 0);
    assert_int_equal(fixture_spool_stats(fix).dropped_age, 0);
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
    fixture_open(fix, 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t retried = fixture_stats(fix, 0).retried;

        fixture_put(fix, (int)i * 5, 5);
        EVENTUALLY(fix, fixture_spool_stats(fix).written == (i + 1) * 5);
        atomic_store(&fix->utc_offset_ns, days[i] * 86400 * (int64_t)NS_PER_S);
        EVENTUALLY(fix, fixture_stats(fix, 0).retried > retried + 1);
    }
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    EVENTUALLY(fix, fixture_stats(fix, 0).queued == 0);
    assert_int_equal(fixture_spool_stats(fix).dropped_age, 0);
    assert_int_equal(fixture_stats(fix, 0).dropped_old, 0);
    fixture_close(fix);
    assert_got_beside_a_probe(&fix->servers[0], 0, count * 5);
}

/* A host whose clock starts in 1970, until it hears of the time. */
static void keeps_what_an_earlier_run_left_while_the_clock_is_behind(void **state)
{
    struct fixture *fix = *state;

    fix->spool.max_age_ns = 24 * 3600 * NS_PER_S;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    atomic_store(&fix->utc_offset_ns, 20000 * 86400 * (int64_t)NS_PER_S);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 5);
    fixture_close(fix);
    atomic_store(&fix->utc_offset_ns, 0);
    fixture_open(fix, 1);
    EVENTUALLY(fix, fixture_spool_stats(fix).found == 5 && fixture_stats(fix, 0).retried > 0);
    fixture_put(fix, 5, 5);
    EVENTUALLY(fix, fixture_spool_stats(fix).written == 5);
    atomic_store(&fix->utc_offset_ns, 20000 * 86400 * (int64_t)NS_PER_S);
    EVENTUALLY(fix, fixture_stats(fix, 0).retried > 4);
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 10);
    assert_int_equal(fixture_spool_stats(fix).dropped_age, 0);
    assert_got_beside_a_probe(&fix->servers[0], 0, 10);
}

static void drops_what_is_for_an_exporter_that_is_gone(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    atomic_store(&fix->servers[1].rc, EXPORTER_RETRY);
    fixture_open(fix, 2);
    fixture_put(fix, 0, 3);
    fixture_close(fix);
    fix->delivery = NULL;
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    fixture_open(fix, 1);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 3 && files_in("spool") == 0);
    assert_int_equal(fixture_spool_stats(fix).dropped_unknown,
                     0); /* the other one still wanted them */
    fixture_close(fix);
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 3, 2);
    fixture_close(fix);
    fixture_open(fix, 0);
    EVENTUALLY(fix, fixture_spool_stats(fix).dropped_unknown == 2 && files_in("spool") == 0);
    EVENTUALLY(fix,
               fixture_log_count(
                   fix, "2 profiles were dropped: their exporters are not configured any more"));
}

static void passes_by_what_is_no_profile(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 4);
    fixture_close(fix);
    tree_write_text("spool/0000000000000001-0001.profile", "rubbish"); /* the whole file */
    assert_int_equal(truncate(tree_path("spool/0000000000000002-0001.profile"), 9000), 0);
    tree_write_text("spool/000000000000002a-0001.profile", ""); /* foreign */
    {
        int fd = open(tree_path("spool/0000000000000003-0001.profile"), O_RDWR | O_CLOEXEC);

        assert_int_equal(pwrite(fd, "x", 1, 15000), 1); /* found when it is read as a whole */
        (void)close(fd);
    }
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    fixture_open(fix, 1);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 1 && fixture_spool_stats(fix).bad == 4 &&
                        files_in("spool") == 0);
    assert_int_equal(files_in("spool/bad"), 4);
    fixture_close(fix);
    assert_got(&fix->servers[0], 3, 1);
}

static void goes_without_a_disk_and_back_to_it(void **state)
{
    struct fixture *fix = *state;

    tree_write_text("spool", "a file is in the way");
    fixture_open(fix, 1);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 3);
    assert_true(fixture_spool_stats(fix).failing);
    EVENTUALLY(fix, fixture_log_count(fix, "W spool: "));
    assert_int_equal(unlink(tree_path("spool")), 0);
    EVENTUALLY(fix, (fixture_put(fix, 3, 1), clock_settle(&fix->clock),
                     fixture_spool_stats(fix).written > 0));
    assert_true(fixture_log_count(fix, "I spool: works again"));
    assert_false(fixture_spool_stats(fix).failing);
}

/* Ten minutes without a disk and without a server. */
static void keeps_a_bounded_queue_and_warns_once_a_minute_without_a_disk(void **state)
{
    struct fixture *fix = *state;
    uint64_t began_ns = fixture_now(fix);
    size_t warnings;

    fix->limits.queue_profiles = 8;
    fix->limits.retry_ns = 3600 * NS_PER_S;
    atomic_store(&fix->servers[0].absent, true);
    tree_write_text("spool", "a file is in the way");
    fixture_open(fix, 1);
    for (int i = 0; i < 40; i++) {
        fixture_put(fix, i, 1);
        fixture_pass(fix, 15 * NS_PER_S);
    }
    EVENTUALLY(fix, fixture_spool_stats(fix).in_memory == 40);
    EVENTUALLY(fix, fixture_stats(fix, 0).queued + fixture_stats(fix, 0).dropped_full == 40);
    assert_in_range(fixture_stats(fix, 0).queued, 8, 9); /* and the one under way */
    warnings = fixture_log_count(fix, "W spool: "); /* before the clock is read for the limit */
    assert_in_range(warnings, 2, 1 + (fixture_now(fix) - began_ns) / (60 * NS_PER_S));
    assert_int_equal(unlink(tree_path("spool")), 0);
    fixture_put(fix, 40, 1);
    EVENTUALLY(fix, (fixture_put(fix, 41, 1), clock_settle(&fix->clock),
                     fixture_spool_stats(fix).written > 0));
    atomic_store(&fix->servers[0].absent, false);
    EVENTUALLY(fix, fixture_stats(fix, 0).queued == 0);
}

static void says_who_else_has_the_spool(void **state)
{
    struct fixture *fix = *state;
    const struct delivery_world world = fixture_world(fix);
    struct delivery *other = NULL;
    struct err err = {""};

    fixture_open(fix, 1);
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
    fixture_open(fix, 1);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fixture_spool_stats(fix).written == 3 && atomic_load(&server->sends) == 1);
    (void)delivery_flush(fix->delivery, 0);
    assert_false(delivery_free(fix->delivery));
    EVENTUALLY(fix, can_be_had(fix->path));
    fixture_open(fix, 1);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 3 && files_in("spool") == 0);
    atomic_store(&server->released, true);
    EVENTUALLY(fix, atomic_load(&server->closed) == 1); /* of the one that was left behind */
}

static void lets_others_remove_and_send_beside_it(void **state)
{
    struct fixture *fix = *state;
    struct spool *beside;
    struct spool_name name = {2, 1};
    struct spool_held held;
    struct err err;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 4);
    EVENTUALLY(fix, files_in("spool") == 4);
    assert_int_equal(spool_open(fix->path, false, &beside, &err), SPOOL_OK);
    assert_int_equal(spool_take(beside, &name, true, &held, &err), SPOOL_OK);
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    EVENTUALLY(fix,
               fixture_stats(fix, 0).sent >= 1); /* the second one is held by another process */
    assert_int_equal(spool_set_owed(beside, &name, 0, &err), SPOOL_OK);
    spool_let_go(&held);
    spool_close(beside);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 3 && fixture_stats(fix, 0).queued == 0);
    fixture_close(fix);
    assert_int_equal(fix->servers[0].got[1], 2);
}

int main(void)
{
#define WITH_SPOOL(test) cmocka_unit_test_setup_teardown(test, setup, fixture_end)
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_change.c - other exporters for a delivery that runs: nothing is lost, nothing comes
 * twice, and those that stay do not notice. All of it without and with a spool.
 */
#include "agent/delivery/change.h"
#include "tests/unit/delivery/delivery_fixture.h"

enum { ROUNDS = 150 };

static int make(void **state, bool spooled)
{
    struct fixture *fix;

    (void)fixture_make(state, spooled);
    fix = *state;
    fix->limits = (struct delivery_limits){.queue_profiles = 1000,
                                           .retry_ns = 3600 * NS_PER_S,
                                           .backoff_min_ns = 1 * NS_PER_MS,
                                           .backoff_max_ns = 4 * NS_PER_MS};
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

/* A change that keeps exporter `keep`, and adds one of that name that sends to `server`. */
static struct delivery_change *begin(struct fixture *fix, size_t keep, const char *name,
                                     size_t server)
{
    struct delivery_change *change = delivery_change_new(fix->delivery, 2);
    struct delivery_sink sink = server_sink(fix, server);

    assert_non_null(change);
    delivery_change_reuse(change, keep);
    assert_true(delivery_change_add(change, name, EXPORTER_WHOLE, &sink, &fix->limits));
    return change;
}

static void apply(struct fixture *fix, struct delivery_change *change, uint64_t within_ns)
{
    struct delivery_left *left = delivery_change_apply(change, fixture_now(fix) + within_ns);

    assert_true(delivery_left_end(left, fixture_now(fix) + 3600 * NS_PER_S));
}

/* A change that is applied by a thread of its own. */
struct applier {
    struct fixture *fix;
    struct delivery_change *change;
    atomic_int tid; /* 0: it has not begun */
    atomic_bool ended;
};

static void *apply_beside(void *ctx)
{
    struct applier *applier = ctx;

    atomic_store(&applier->tid, (int)syscall(SYS_gettid));
    apply(applier->fix, applier->change, 3600 * NS_PER_S);
    atomic_store(&applier->ended, true);
    return NULL;
}

static void assert_got_in_any_order(struct server *server, int first, size_t count)
{
    assert_got_but(server, first, count, count);
}

static void keeps_an_exporter_with_its_queue_and_counters(void **state)
{
    struct fixture *fix = *state;

    fixture_open(fix, 2);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fixture_stats(fix, 1).sent == 3);
    atomic_store(&fix->servers[1].rc, EXPORTER_RETRY);
    fixture_put(fix, 3, 4);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 7 && fixture_stats(fix, 1).queued == 4);

    apply(fix, begin(fix, 1, "c", 2), 0);

    assert_int_equal(delivery_count(fix->delivery), 2);
    assert_int_equal(fixture_stats(fix, 0).sent, 3); /* "b" is the first now */
    assert_int_equal(fixture_stats(fix, 0).queued, 4);
    assert_int_equal(fix->servers[0].closed, 1);
    assert_int_equal(fix->servers[1].canceled, 0);
    fixture_put(fix, 7, 2);
    atomic_store(&fix->servers[1].rc, EXPORTER_OK);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 9 && fixture_stats(fix, 1).sent == 2);
    fixture_close(fix);
    assert_int_equal(files_in("spool"), 0);
    assert_got_in_any_order(&fix->servers[0], 0, 7);
    assert_got_in_any_order(&fix->servers[1], 0, 9);
    assert_got_in_any_order(&fix->servers[2], 7, 2);
}

static void gives_the_queue_to_the_next_of_that_name(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 2);
    fixture_put(fix, 0, 20);
    EVENTUALLY(fix, fixture_stats(fix, 1).sent == 20 && fixture_stats(fix, 0).queued == 20);

    apply(fix, begin(fix, 1, "a", 2), 3600 * NS_PER_S);

    EVENTUALLY(fix, fixture_stats(fix, 1).sent == 20);
    fixture_close(fix);
    assert_int_equal(files_in("spool"), 0);
    assert_int_equal(fix->servers[0].closed, 1);
    assert_got_in_any_order(&fix->servers[1], 0, 20);
    assert_got_in_any_order(&fix->servers[2], 0, 20);
    assert_string_equal(strstr(fix->log, "could not be delivered") ? "lost" : "", "");
}

static void gives_on_what_is_under_way_for_too_long(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].block, true);
    fixture_open(fix, 2);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fix->servers[0].sends == 1 && fixture_stats(fix, 0).queued == 3);

    apply(fix, begin(fix, 1, "a", 2), 20 * NS_PER_MS);

    EVENTUALLY(fix, fixture_stats(fix, 1).sent == 3);
    fixture_close(fix);
    assert_int_equal(files_in("spool"), 0);
    assert_int_equal(fix->servers[0].count, 0);
    assert_got_in_any_order(&fix->servers[2], 0, 3);
}

static void sends_nothing_twice_that_is_taken_meanwhile(void **state)
{
    struct fixture *fix = *state;

    struct applier applier = {.fix = fix};
    pthread_t thread;

    atomic_store(&fix->servers[0].block, true);
    fixture_open(fix, 2);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fix->servers[0].sends == 1 && fixture_stats(fix, 0).queued == 3);

    applier.change = begin(fix, 1, "a", 2);
    assert_int_equal(pthread_create(&thread, NULL, apply_beside, &applier), 0);
    AWAIT(clock_is_waited_on(&fix->clock, atomic_load(&applier.tid))); /* for the send under way */
    atomic_store(&fix->servers[0].block, false); /* now the send is taken after all */
    EVENTUALLY(fix, atomic_load(&applier.ended));
    assert_int_equal(pthread_join(thread, NULL), 0);

    EVENTUALLY(fix, fixture_stats(fix, 1).sent == 2);
    fixture_close(fix);
    assert_int_equal(files_in("spool"), 0);
    assert_got_in_any_order(&fix->servers[0], 0, 1);
    assert_got_in_any_order(&fix->servers[2], 1, 2);
}

/* The spool tells the next one that it need not send what the one before has got through after all.
 */
static void hears_of_a_send_that_no_cancel_could_end(void **state)
{
    struct fixture *fix = *state;
    struct delivery_left *left;

    atomic_store(&fix->servers[0].block, true);
    atomic_store(&fix->servers[0].deaf, true);
    fixture_open(fix, 2);
    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fix->servers[0].sends == 1 && fixture_stats(fix, 0).queued == 3);

    left = delivery_change_apply(begin(fix, 1, "a", 2), 0);
    EVENTUALLY(fix, fix->servers[2].sends == 2);
    atomic_store(&fix->servers[0].block, false);
    assert_true(delivery_left_end(left, fixture_now(fix) + 3600 * NS_PER_S));

    EVENTUALLY(fix, files_in("spool") == 0 && fixture_stats(fix, 1).queued == 0);
    fixture_close(fix);
    assert_got_in_any_order(&fix->servers[0], 0, 1);
    assert_got_in_any_order(&fix->servers[2], 1, 2);
}

static void tries_once_more_what_an_exporter_has_that_goes(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 2);
    fixture_put(fix, 0, 5);
    EVENTUALLY(fix, fixture_stats(fix, 1).sent == 5 && fixture_stats(fix, 0).retried > 0);
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);

    apply(fix, begin(fix, 1, "c", 2), 0);

    fixture_close(fix);
    assert_int_equal(files_in("spool"), 0);
    assert_got_in_any_order(&fix->servers[0], 0, 5);
    assert_int_equal(fix->servers[2].count, 0);
}

static void drops_what_an_exporter_that_goes_cannot_deliver(void **state)
{
    struct fixture *fix = *state;
    struct delivery_spool_stats spool;
    struct delivery_left *left;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 2);
    fixture_put(fix, 0, 5);
    EVENTUALLY(fix, fixture_stats(fix, 1).sent == 5 && fixture_stats(fix, 0).retried > 0);

    left = delivery_change_apply(begin(fix, 1, "c", 2), fixture_now(fix));
    (void)delivery_left_end(left, fixture_now(fix) + 50 * NS_PER_MS);
    EVENTUALLY(fix, fix->servers[0].closed ==
                        1); /* where there was no CPU for its thread, that is late */

    assert_non_null(strstr(fix->log, "exporter a: 5 profiles could not be delivered"));
    EVENTUALLY(fix, files_in("spool") == 0);
    delivery_spool_stats(fix->delivery, &spool);
    assert_int_equal(spool.dropped_unknown, fix->spool.path ? 5 : 0);
    fixture_put(fix, 5, 1);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 6 && fixture_stats(fix, 1).sent == 1);
}

static void leaves_all_as_it_is_if_abandoned(void **state)
{
    struct fixture *fix = *state;

    fixture_open(fix, 2);
    delivery_change_abandon(begin(fix, 0, "b", 2));
    delivery_change_abandon(NULL);

    fixture_put(fix, 0, 3);
    EVENTUALLY(fix, fixture_stats(fix, 0).sent == 3 && fixture_stats(fix, 1).sent == 3);
    assert_int_equal(fix->servers[2].closed, 1);
    assert_int_equal(fix->servers[2].sends, 0);
    assert_int_equal(fix->servers[0].closed + fix->servers[1].closed, 0);
}

static void loses_nothing_in_many_changes_under_way(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[1].pause_ns, 1 * NS_PER_MS);
    fixture_open(fix, 2);
    for (int i = 0; i < ROUNDS; i++) {
        fixture_put(fix, i * 4, 4);
        /* The one that is new now is kept the next time. */
        apply(fix, begin(fix, 1, i % 2 == 0 ? "a" : "b", i % 2 == 0 ? 0 : 1), 3600 * NS_PER_S);
        atomic_store(&fix->servers[0].canceled, 0);
        atomic_store(&fix->servers[1].canceled, 0);
    }
    fixture_close(fix);
    assert_int_equal(files_in("spool"), 0);
    assert_got_in_any_order(&fix->servers[0], 0, ROUNDS * (size_t)4);
    assert_got_in_any_order(&fix->servers[1], 0, ROUNDS * (size_t)4);
}

#define BOTH(test)                                             \
    cmocka_unit_test_setup_teardown(test, setup, fixture_end), \
        cmocka_unit_test_setup_teardown(test, setup_spooled, fixture_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(keeps_an_exporter_with_its_queue_and_counters),
        BOTH(gives_the_queue_to_the_next_of_that_name),
        BOTH(gives_on_what_is_under_way_for_too_long),
        BOTH(sends_nothing_twice_that_is_taken_meanwhile),
        cmocka_unit_test_setup_teardown(hears_of_a_send_that_no_cancel_could_end, setup_spooled,
                                        fixture_end),
        BOTH(tries_once_more_what_an_exporter_has_that_goes),
        BOTH(drops_what_an_exporter_that_goes_cannot_deliver),
        BOTH(leaves_all_as_it_is_if_abandoned),
        BOTH(loses_nothing_in_many_changes_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

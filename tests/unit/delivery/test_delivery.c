/* SPDX-License-Identifier: Apache-2.0 */
/* test_delivery.c - no profile is lost uncounted, and nobody is ever held up by a server. */
#include <signal.h>

#include "tests/unit/delivery/delivery_fixture.h"

/* Without a spool, and with short pauses. */
static int setup(void **state)
{
    struct fixture *fix;

    (void)fixture_make(state, false);
    fix = *state;
    fix->limits.backoff_min_ns = 1 * NS_PER_MS;
    fix->limits.backoff_max_ns = 4 * NS_PER_MS;
    return 0;
}

static struct delivery_stats stats(struct fixture *fix)
{
    return fixture_stats(fix, 0);
}

static void delivers_in_order(void **state)
{
    struct fixture *fix = *state;

    fixture_open(fix, 1);
    fixture_put(fix, 0, 3);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));

    assert_got(&fix->servers[0], 0, 3);
    assert_int_equal(stats(fix).sent, 3);
    assert_int_equal(stats(fix).sent_bytes, 30);
    assert_int_equal(stats(fix).queued, 0);
    assert_int_equal(fix->servers[0].utc_ns, 1000 * (int64_t)NS_PER_S);
    assert_string_equal(fix->log, "");
}

static void copies_what_it_is_given(void **state)
{
    struct fixture *fix = *state;
    char service[] = "7", bytes[] = "bytes";
    const struct exporter_profile profile = {.service = service, .bytes = bytes, .size = 5};

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    delivery_put(fix->delivery, EXPORTER_WHOLE, &profile);
    memset(service, 'X', 1);
    memset(bytes, 'X', 5);
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));

    assert_got(&fix->servers[0], 7, 1);
}

static void gives_each_exporter_its_form_only(void **state)
{
    struct fixture *fix = *state;

    fixture_open(fix, 1);
    assert_int_equal(delivery_wanted(fix->delivery, EXPORTER_WHOLE), 1);
    assert_int_equal(delivery_wanted(fix->delivery, EXPORTER_PER_TYPE), 0);
    delivery_put(fix->delivery, EXPORTER_PER_TYPE, &(struct exporter_profile){.service = "x"});
    fixture_put(fix, 0, 1);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));

    assert_got(&fix->servers[0], 0, 1);
}

static void tries_again_until_it_is_taken(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 1);
    EVENTUALLY(fix, stats(fix).retried >= 5);
    assert_int_equal(stats(fix).queued, 1);
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    EVENTUALLY(fix, stats(fix).sent == 1);

    assert_int_equal(stats(fix).queued, 0);
    assert_string_equal(stats(fix).last_error.text, "the server says retry");
}

static void pauses_longer_after_each_failure(void **state)
{
    struct fixture *fix = *state;

    fix->limits.backoff_min_ns = 10 * NS_PER_MS;
    fix->limits.backoff_max_ns = 20 * NS_PER_S;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 1);
    EVENTUALLY(fix, atomic_load(&fix->servers[0].sends) >= 2);
    fixture_pass(fix, 400 * NS_PER_MS);

    /* Without a doubling there would be about 60 tries, as the mean pause is 5 ms and more. */
    assert_in_range(atomic_load(&fix->servers[0].sends), 2, 20);
}

static void does_not_try_again_what_is_refused(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_REFUSED);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 2);
    EVENTUALLY(fix, stats(fix).refused == 2);

    assert_int_equal(atomic_load(&fix->servers[0].sends), 2);
    assert_int_equal(stats(fix).queued, 0);
}

static void lets_no_profile_hold_up_the_others(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].poison, 99);
    fixture_open(fix, 1);
    fixture_put(fix, 99, 1);
    fixture_put(fix, 0, 10);
    EVENTUALLY(fix, stats(fix).sent == 10);

    assert_int_equal(stats(fix).queued, 1);
    assert_int_equal(stats(fix).dropped_old, 0);
}

static void gives_a_profile_up_after_a_while(void **state)
{
    struct fixture *fix = *state;

    fix->limits.retry_ns = 60 * NS_PER_S;
    fix->limits.backoff_max_ns = 10 * NS_PER_S;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 1);
    EVENTUALLY(fix, stats(fix).dropped_old == 1);

    assert_int_equal(stats(fix).queued, 0);
    assert_true(atomic_load(&fix->servers[0].sends) > 1);
}

static void drops_what_a_server_would_not_take_any_more(void **state)
{
    struct fixture *fix = *state;

    fix->limits.max_age_ns = exporter_types[EXPORTER_PYROSCOPE].max_age_ns;
    atomic_store(&fix->utc_offset_ns, 9000 * (int64_t)NS_PER_S);
    fixture_open(fix, 1);
    fixture_put_at(fix, 0, fixture_utc(fix) - 3001 * (int64_t)NS_PER_S);
    fixture_put_at(fix, 1, fixture_utc(fix) - 2999 * (int64_t)NS_PER_S);
    fixture_put_at(fix, 2, 20000 * (int64_t)NS_PER_S);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));

    assert_got(&fix->servers[0], 1, 2);
    assert_int_equal(stats(fix).dropped_old, 1);
}

static void drops_the_oldest_when_the_queue_is_full(void **state)
{
    struct fixture *fix = *state;

    fix->limits.queue_profiles = 3;
    atomic_store(&fix->servers[0].block, true);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 1); /* under way */
    EVENTUALLY(fix, atomic_load(&fix->servers[0].sends) == 1);
    fixture_put(fix, 1, 5);
    assert_int_equal(stats(fix).dropped_full, 2);
    assert_int_equal(stats(fix).queued, 4);
    atomic_store(&fix->servers[0].block, false);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));

    assert_int_equal(fix->servers[0].count, 4);
    assert_memory_equal(fix->servers[0].got, ((const int[]){0, 3, 4, 5}), 4 * sizeof(int));
    assert_non_null(strstr(fix->log, "W exporter a: 2 profiles were dropped"));
}

static void drops_by_bytes_too(void **state)
{
    struct fixture *fix = *state;

    fix->limits.queue_bytes = 8000;
    atomic_store(&fix->servers[0].block, true);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 1);
    EVENTUALLY(fix, atomic_load(&fix->servers[0].sends) == 1);
    fix->profile_size = 3000;
    fixture_put(fix, 1, 4);

    assert_int_equal(stats(fix).dropped_full, 2);
    assert_true(stats(fix).queued_bytes < 8000 + 1000);
}

static void drops_only_itself_when_it_is_too_large_for_any_queue(void **state)
{
    struct fixture *fix = *state;

    fix->limits.queue_bytes = 8000;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 1, 1);
    fix->profile_size = 9000;
    fixture_put(fix, 2, 1);
    assert_int_equal(stats(fix).dropped_full, 1);
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));

    assert_got(&fix->servers[0], 1, 1);
}

static void holds_up_no_caller(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].block, true);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 1);
    EVENTUALLY(fix, atomic_load(&fix->servers[0].sends) == 1);
    fixture_put(fix, 1, 1000); /* whoever waited for the server here would never return */

    assert_int_equal(stats(fix).dropped_full, 1000 - 32);
}

static void lets_no_exporter_hold_up_another(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].block, true);
    fixture_open(fix, 2);
    fixture_put(fix, 0, 2);
    EVENTUALLY(fix, fixture_stats(fix, 1).sent == 2);
    assert_int_equal(stats(fix).sent, 0);
    assert_int_equal(delivery_count(fix->delivery), 2);
    assert_false(fixture_flush(fix, 0));
    assert_true(delivery_free(fix->delivery));
    fix->delivery = NULL;

    assert_true(atomic_load(&fix->servers[1].closed));
    assert_true(atomic_load(&fix->servers[0].closed));
}

static void tries_all_that_waits_at_the_end(void **state)
{
    struct fixture *fix = *state;

    fix->limits.backoff_min_ns = 100 * NS_PER_S; /* they would wait far longer */
    fix->limits.backoff_max_ns = 100 * NS_PER_S;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 2);
    EVENTUALLY(fix, stats(fix).retried >= 1);
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));

    assert_int_equal(stats(fix).sent, 2);
}

static void ends_soon_when_all_is_done(void **state)
{
    struct fixture *fix = *state;

    fixture_open(fix, 1);
    fixture_put(fix, 0, 1);
    assert_true(fixture_flush(fix, 10 * HANG_LIMIT_NS)); /* whoever waits that long hangs */
}

static void cancels_at_the_deadline_and_counts_the_rest(void **state)
{
    struct fixture *fix = *state;
    uint64_t before;

    atomic_store(&fix->servers[0].block, true);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 3);
    before = fixture_now(fix);
    assert_false(fixture_flush(fix, 100 * NS_PER_MS));

    assert_true(fixture_now(fix) - before >= 100 * NS_PER_MS);
    assert_true(atomic_load(&fix->servers[0].canceled)); /* else the server would block for ever */
    assert_int_equal(stats(fix).dropped_stop, 3);
    assert_int_equal(stats(fix).queued, 0);
    assert_string_equal(fix->log,
                        "W exporter a: 3 profiles could not be delivered before the end\n");
}

static void leaves_behind_a_thread_that_hears_nothing(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].block, true);
    atomic_store(&fix->servers[0].deaf, true);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 1);
    EVENTUALLY(fix, atomic_load(&fix->servers[0].sends) == 1);
    assert_false(
        fixture_flush(fix, 50 * NS_PER_MS)); /* and returns, although the thread does not */

    assert_false(delivery_free(fix->delivery));
    fix->delivery = NULL;
    assert_false(atomic_load(&fix->servers[0].closed)); /* it is in use */
    atomic_store(&fix->servers[0].block, false);        /* now it comes to its end */
    AWAIT(atomic_load(&fix->servers[0].closed));
    assert_string_equal(fix->log,
                        "W exporter a: 1 profiles could not be delivered before the end\n");
}

static void takes_nothing_after_the_end(void **state)
{
    struct fixture *fix = *state;

    fixture_open(fix, 1);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));
    fixture_put(fix, 0, 1);

    assert_int_equal(stats(fix).dropped_stop, 1);
    assert_int_equal(atomic_load(&fix->servers[0].sends), 0);
}

static void says_once_that_it_fails_and_once_that_it_works_again(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 1);
    EVENTUALLY(fix, stats(fix).retried >= 10);
    assert_string_equal(fix->log, "W exporter a: the server says retry; it will be tried again\n");
    atomic_store(&fix->servers[0].rc, EXPORTER_OK);
    EVENTUALLY(fix, stats(fix).sent == 1);
    EVENTUALLY(fix, atomic_load(&fix->lines) == 2);

    assert_non_null(strstr(fix->log, "\nI exporter a: works again, after "));
}

static void says_now_and_then_that_it_still_fails(void **state)
{
    struct fixture *fix = *state;

    fix->limits.log_every_ns = 50 * NS_PER_MS;
    atomic_store(&fix->servers[0].rc, EXPORTER_RETRY);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 1);
    EVENTUALLY(fix, atomic_load(&fix->lines) >= 3);

    assert_true(atomic_load(&fix->servers[0].sends) >= 6); /* most of them in silence */
    assert_non_null(strstr(fix->log, "W exporter a: still fails ("));
    assert_non_null(strstr(fix->log, "1 profiles wait): the server says retry"));
}

static void says_seldom_that_profiles_are_refused(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->servers[0].rc, EXPORTER_REFUSED);
    fixture_open(fix, 1);
    fixture_put(fix, 0, 20);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));

    assert_string_equal(
        fix->log, "W exporter a: a profile was refused (1 so far): the server says refused\n");
}

static atomic_int caught;

static void catch (int number)
{
    (void)number;
    (void)atomic_fetch_add(&caught, 1);
}

/* The server asks the mask of the delivery's thread. */
static enum exporter_rc mask_send(void *ctx, const struct exporter_profile *profile, int64_t now,
                                  struct exporter_answer *answer)
{
    sigset_t mask;

    (void)profile;
    (void)now;
    (void)answer;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
    atomic_store((atomic_int *)ctx, sigismember(&mask, SIGTERM) && sigismember(&mask, SIGPIPE));
    (void)raise(SIGPIPE);
    return EXPORTER_OK;
}

static void mask_nothing(void *ctx)
{
    (void)ctx;
}

static void leaves_signals_to_the_other_threads(void **state)
{
    struct fixture *fix = *state;
    atomic_int blocked = 0;
    struct delivery_sink sink = {mask_send, mask_nothing, mask_nothing, &blocked};

    (void)signal(SIGPIPE, catch);
    fixture_open(fix, 0);
    assert_true(delivery_add(fix->delivery, "a", EXPORTER_WHOLE, &sink, &fix->limits));
    fixture_put(fix, 0, 1);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));
    (void)signal(SIGPIPE, SIG_DFL);

    assert_int_equal(atomic_load(&blocked), 1);
    assert_int_equal(atomic_load(&caught), 0);
}

static void *put_many(void *ctx)
{
    fixture_put(ctx, 0, 2000);
    return NULL;
}

static void counts_every_profile_of_many_threads(void **state)
{
    struct fixture *fix = *state;
    struct delivery_stats end;
    pthread_t threads[4];

    fix->limits.queue_profiles = 8;
    fixture_open(fix, 1);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, fix), 0);
    for (size_t i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
    assert_true(fixture_flush(fix, 3600 * NS_PER_S));

    end = stats(fix);
    assert_int_equal(end.sent + end.dropped_full, 8000);
    assert_int_equal(end.queued_bytes, 0);
}

int main(void)
{
#define WITH_DELIVERY(test) cmocka_unit_test_setup_teardown(test, setup, fixture_end)
    const struct CMUnitTest tests[] = {
        WITH_DELIVERY(delivers_in_order),
        WITH_DELIVERY(copies_what_it_is_given),
        WITH_DELIVERY(gives_each_exporter_its_form_only),
        WITH_DELIVERY(tries_again_until_it_is_taken),
        WITH_DELIVERY(pauses_longer_after_each_failure),
        WITH_DELIVERY(does_not_try_again_what_is_refused),
        WITH_DELIVERY(lets_no_profile_hold_up_the_others),
        WITH_DELIVERY(gives_a_profile_up_after_a_while),
        WITH_DELIVERY(drops_what_a_server_would_not_take_any_more),
        WITH_DELIVERY(drops_the_oldest_when_the_queue_is_full),
        WITH_DELIVERY(drops_by_bytes_too),
        WITH_DELIVERY(drops_only_itself_when_it_is_too_large_for_any_queue),
        WITH_DELIVERY(holds_up_no_caller),
        WITH_DELIVERY(lets_no_exporter_hold_up_another),
        WITH_DELIVERY(tries_all_that_waits_at_the_end),
        WITH_DELIVERY(ends_soon_when_all_is_done),
        WITH_DELIVERY(cancels_at_the_deadline_and_counts_the_rest),
        WITH_DELIVERY(leaves_behind_a_thread_that_hears_nothing),
        WITH_DELIVERY(takes_nothing_after_the_end),
        WITH_DELIVERY(says_once_that_it_fails_and_once_that_it_works_again),
        WITH_DELIVERY(says_now_and_then_that_it_still_fails),
        WITH_DELIVERY(says_seldom_that_profiles_are_refused),
        WITH_DELIVERY(leaves_signals_to_the_other_threads),
        WITH_DELIVERY(counts_every_profile_of_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

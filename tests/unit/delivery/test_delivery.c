/* SPDX-License-Identifier: Apache-2.0 */
/* test_delivery.c - no profile is lost uncounted, and nobody is ever held up by a server. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/delivery/delivery.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

enum { SERVICES_MAX = 512, LOG_SIZE = 16 * 1024 };

/* A server as the test wants it; `rc` and `block` may be changed at any time. */
struct fake {
    atomic_int rc;     /* what each send gives */
    atomic_bool block; /* a send waits until it is canceled */
    atomic_bool deaf;  /* a blocked send does not hear of a cancel */
    atomic_bool canceled, closed;
    atomic_int sends;
    const char *poison; /* a service that is always told to come again */
    pthread_mutex_t lock;
    char got[SERVICES_MAX]; /* the first letters of the services taken, in order */
    size_t got_count;
    int64_t utc_ns;
};

struct fixture {
    struct delivery *delivery;
    struct fake fake;
    struct delivery_limits limits;
    pthread_mutex_t lock;
    char log[LOG_SIZE];
    atomic_int lines;
    atomic_int_fast64_t utc_ns;
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
    struct fixture *fix = ctx;

    return atomic_load(&fix->utc_ns);
}

static void add_line(void *ctx, enum delivery_level level, const char *line)
{
    struct fixture *fix = ctx;

    (void)pthread_mutex_lock(&fix->lock);
    (void)strncat(fix->log, level == DELIVERY_WARNING ? "W " : "I ", 3);
    (void)strncat(fix->log, line, LOG_SIZE - strlen(fix->log) - 2);
    (void)strncat(fix->log, "\n", 2);
    (void)pthread_mutex_unlock(&fix->lock);
    (void)atomic_fetch_add(&fix->lines, 1);
}

static enum exporter_rc fake_send(void *ctx, const struct exporter_profile *profile, int64_t now,
                                  struct exporter_answer *answer)
{
    struct fake *fake = ctx;
    enum exporter_rc rc;

    (void)atomic_fetch_add(&fake->sends, 1);
    while (atomic_load(&fake->block) && (!atomic_load(&fake->canceled) || atomic_load(&fake->deaf)))
        (void)usleep(500);
    rc = (enum exporter_rc)atomic_load(&fake->rc);
    if (fake->poison && strcmp(profile->service, fake->poison) == 0)
        rc = EXPORTER_RETRY;
    if (atomic_load(&fake->canceled))
        rc = EXPORTER_RETRY;
    err_set(&answer->err, "the fake says %s", exporter_rc_label(rc));
    (void)pthread_mutex_lock(&fake->lock);
    if (rc == EXPORTER_OK && fake->got_count < SERVICES_MAX - 1)
        fake->got[fake->got_count++] = profile->service[0];
    fake->utc_ns = now;
    (void)pthread_mutex_unlock(&fake->lock);
    return rc;
}

static void fake_cancel(void *ctx)
{
    struct fake *fake = ctx;

    atomic_store(&fake->canceled, true);
}

static void fake_close(void *ctx)
{
    struct fake *fake = ctx;

    atomic_store(&fake->closed, true);
}

static int setup(void **state)
{
    struct fixture *fix = calloc(1, sizeof(*fix));
    struct delivery_world world = {now_ns, utc_ns, add_line, fix, 0};

    assert_non_null(fix);
    (void)pthread_mutex_init(&fix->lock, NULL);
    (void)pthread_mutex_init(&fix->fake.lock, NULL);
    atomic_store(&fix->utc_ns, 1000 * (int64_t)NS_PER_S);
    fix->limits.backoff_min_ns = 1 * NS_PER_MS;
    fix->limits.backoff_max_ns = 4 * NS_PER_MS;
    assert_true(delivery_new(&world, NULL, &fix->delivery, NULL));
    hang_limit_begin();
    *state = fix;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fix = *state;
    bool whole = delivery_free(fix->delivery);

    hang_limit_end();
    if (whole) /* else a thread still uses it */
        free(fix);
    return 0;
}

static void add(struct fixture *fix)
{
    struct delivery_sink sink = {fake_send, fake_cancel, fake_close, &fix->fake};

    assert_true(delivery_add(fix->delivery, "fake", EXPORTER_WHOLE, &sink, &fix->limits));
}

static void put_at(struct fixture *fix, const char *service, int64_t start_ns)
{
    struct exporter_profile profile = {
        .service = service,
        .start_ns = start_ns,
        .end_ns = atomic_load(&fix->utc_ns),
        .bytes = "0123456789",
        .size = 10,
    };

    delivery_put(fix->delivery, EXPORTER_WHOLE, &profile);
}

static void put(struct fixture *fix, const char *service)
{
    put_at(fix, service, atomic_load(&fix->utc_ns));
}

static struct delivery_stats stats(struct fixture *fix)
{
    struct delivery_stats got;

    assert_string_equal(delivery_stats(fix->delivery, 0, &got), "fake");
    return got;
}

static bool flush_within(struct fixture *fix, uint64_t ns)
{
    return delivery_flush(fix->delivery, now_ns(NULL) + ns);
}

/* Waits for a condition on `fix` and `got`. */
#define EVENTUALLY(condition)                   \
    do {                                        \
        struct delivery_stats got;              \
                                                \
        AWAIT((got = stats(fix), (condition))); \
        (void)got;                              \
    } while (0)

static void delivers_in_order(void **state)
{
    struct fixture *fix = *state;

    add(fix);
    put(fix, "a");
    put(fix, "b");
    put(fix, "c");
    assert_true(flush_within(fix, HANG_LIMIT_NS));

    assert_string_equal(fix->fake.got, "abc");
    assert_int_equal(stats(fix).sent, 3);
    assert_int_equal(stats(fix).sent_bytes, 30);
    assert_int_equal(stats(fix).queued, 0);
    assert_int_equal(fix->fake.utc_ns, 1000 * (int64_t)NS_PER_S);
    assert_string_equal(fix->log, "");
}

static void copies_what_it_is_given(void **state)
{
    struct fixture *fix = *state;
    char service[] = "a";

    atomic_store(&fix->fake.rc, EXPORTER_RETRY);
    add(fix);
    put(fix, service);
    memset(service, 'X', 1);
    atomic_store(&fix->fake.rc, EXPORTER_OK);
    assert_true(flush_within(fix, HANG_LIMIT_NS));

    assert_string_equal(fix->fake.got, "a");
}

static void gives_each_exporter_its_form_only(void **state)
{
    struct fixture *fix = *state;

    add(fix);
    assert_int_equal(delivery_wanted(fix->delivery, EXPORTER_WHOLE), 1);
    assert_int_equal(delivery_wanted(fix->delivery, EXPORTER_PER_TYPE), 0);
    delivery_put(fix->delivery, EXPORTER_PER_TYPE, &(struct exporter_profile){.service = "x"});
    put(fix, "a");
    assert_true(flush_within(fix, HANG_LIMIT_NS));

    assert_string_equal(fix->fake.got, "a");
}

static void tries_again_until_it_is_taken(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->fake.rc, EXPORTER_RETRY);
    add(fix);
    put(fix, "a");
    EVENTUALLY(got.retried >= 5);
    assert_int_equal(stats(fix).queued, 1);
    atomic_store(&fix->fake.rc, EXPORTER_OK);
    EVENTUALLY(got.sent == 1);

    assert_int_equal(stats(fix).queued, 0);
    assert_string_equal(stats(fix).last_error.text, "the fake says retry");
}

static void pauses_longer_after_each_failure(void **state)
{
    struct fixture *fix = *state;

    fix->limits.backoff_min_ns = 10 * NS_PER_MS;
    fix->limits.backoff_max_ns = 20 * NS_PER_S;
    atomic_store(&fix->fake.rc, EXPORTER_RETRY);
    add(fix);
    put(fix, "a");
    EVENTUALLY(atomic_load(&fix->fake.sends) >= 2);
    (void)usleep(400 * 1000);

    /* Without a doubling there would be about 60 tries, as the mean pause is 5 ms and more. */
    assert_in_range(atomic_load(&fix->fake.sends), 2, 20);
}

static void does_not_try_again_what_is_refused(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->fake.rc, EXPORTER_REFUSED);
    add(fix);
    put(fix, "a");
    put(fix, "b");
    EVENTUALLY(got.refused == 2);

    assert_int_equal(atomic_load(&fix->fake.sends), 2);
    assert_int_equal(stats(fix).queued, 0);
}

static void lets_no_profile_hold_up_the_others(void **state)
{
    struct fixture *fix = *state;

    fix->fake.poison = "poison";
    add(fix);
    put(fix, "poison");
    for (int i = 0; i < 10; i++)
        put(fix, "a");
    EVENTUALLY(got.sent == 10);

    assert_int_equal(stats(fix).queued, 1);
    assert_int_equal(stats(fix).dropped_old, 0);
}

static void gives_a_profile_up_after_a_while(void **state)
{
    struct fixture *fix = *state;

    fix->limits.retry_ns = 2 * NS_PER_S;
    atomic_store(&fix->fake.rc, EXPORTER_RETRY);
    add(fix);
    put(fix, "a");
    EVENTUALLY(got.dropped_old == 1);

    assert_int_equal(stats(fix).queued, 0);
    assert_true(atomic_load(&fix->fake.sends) > 1);
}

static void drops_what_a_server_would_not_take_any_more(void **state)
{
    struct fixture *fix = *state;

    fix->limits.max_age_ns = exporter_types[EXPORTER_PYROSCOPE].max_age_ns;
    atomic_store(&fix->utc_ns, 10000 * (int64_t)NS_PER_S);
    add(fix);
    put_at(fix, "old", 10000 * (int64_t)NS_PER_S - 3001 * (int64_t)NS_PER_S);
    put_at(fix, "young", 10000 * (int64_t)NS_PER_S - 2999 * (int64_t)NS_PER_S);
    put_at(fix, "future", 20000 * (int64_t)NS_PER_S);
    assert_true(flush_within(fix, HANG_LIMIT_NS));

    assert_string_equal(fix->fake.got, "yf");
    assert_int_equal(stats(fix).dropped_old, 1);
}

static void drops_the_oldest_when_the_queue_is_full(void **state)
{
    struct fixture *fix = *state;

    fix->limits.queue_profiles = 3;
    atomic_store(&fix->fake.block, true);
    add(fix);
    put(fix, "w"); /* under way */
    EVENTUALLY(atomic_load(&fix->fake.sends) == 1);
    for (const char *const *name = (const char *const[]){"a", "b", "c", "d", "e", NULL}; *name;
         name++)
        put(fix, *name);
    assert_int_equal(stats(fix).dropped_full, 2);
    assert_int_equal(stats(fix).queued, 4);
    atomic_store(&fix->fake.block, false);
    assert_true(flush_within(fix, HANG_LIMIT_NS));

    assert_string_equal(fix->fake.got, "wcde");
    assert_non_null(strstr(fix->log, "W exporter fake: 2 profiles were dropped"));
}

static void drops_by_bytes_too(void **state)
{
    struct fixture *fix = *state;
    static char bytes[3000];
    struct exporter_profile profile = {.service = "a", .bytes = bytes, .size = 3000};

    fix->limits.queue_bytes = 8000;
    atomic_store(&fix->fake.block, true);
    add(fix);
    put(fix, "w");
    EVENTUALLY(atomic_load(&fix->fake.sends) == 1);
    for (int i = 0; i < 4; i++)
        delivery_put(fix->delivery, EXPORTER_WHOLE, &profile);

    assert_int_equal(stats(fix).dropped_full, 2);
    assert_true(stats(fix).queued_bytes < 8000 + 1000);
}

static void drops_only_itself_when_it_is_too_large_for_any_queue(void **state)
{
    struct fixture *fix = *state;
    static char bytes[9000];
    struct exporter_profile profile = {.service = "a", .bytes = bytes, .size = 9000};

    fix->limits.queue_bytes = 8000;
    atomic_store(&fix->fake.rc, EXPORTER_RETRY);
    add(fix);
    put(fix, "b");
    delivery_put(fix->delivery, EXPORTER_WHOLE, &profile);
    assert_int_equal(stats(fix).dropped_full, 1);
    atomic_store(&fix->fake.rc, EXPORTER_OK);
    assert_true(flush_within(fix, HANG_LIMIT_NS));

    assert_string_equal(fix->fake.got, "b");
}

static void holds_up_no_caller(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->fake.block, true);
    add(fix);
    put(fix, "w");
    EVENTUALLY(atomic_load(&fix->fake.sends) == 1);
    for (int i = 0; i < 1000; i++)
        put(fix, "a"); /* whoever waited for the server here would never return */

    assert_int_equal(stats(fix).dropped_full, 1000 - 32);
}

static void lets_no_exporter_hold_up_another(void **state)
{
    struct fixture *fix = *state;
    struct fake other = {.canceled = false};
    struct delivery_sink sink = {fake_send, fake_cancel, fake_close, &other};
    struct delivery_stats got_other = {0};

    (void)pthread_mutex_init(&other.lock, NULL);
    atomic_store(&fix->fake.block, true);
    add(fix);
    assert_true(delivery_add(fix->delivery, "other", EXPORTER_WHOLE, &sink, &fix->limits));
    put(fix, "a");
    put(fix, "b");
    EVENTUALLY((delivery_stats(fix->delivery, 1, &got_other), got_other.sent == 2));
    assert_int_equal(stats(fix).sent, 0);
    assert_int_equal(delivery_count(fix->delivery), 2);
    assert_false(flush_within(fix, 0));
    assert_true(delivery_free(fix->delivery));
    fix->delivery = NULL;

    assert_true(atomic_load(&other.closed));
    assert_true(atomic_load(&fix->fake.closed));
}

static void tries_all_that_waits_at_the_end(void **state)
{
    struct fixture *fix = *state;

    fix->limits.backoff_min_ns = 100 * NS_PER_S; /* they would wait far longer */
    fix->limits.backoff_max_ns = 100 * NS_PER_S;
    atomic_store(&fix->fake.rc, EXPORTER_RETRY);
    add(fix);
    put(fix, "a");
    put(fix, "b");
    EVENTUALLY(got.retried >= 1);
    atomic_store(&fix->fake.rc, EXPORTER_OK);
    assert_true(flush_within(fix, HANG_LIMIT_NS));

    assert_int_equal(stats(fix).sent, 2);
}

static void ends_soon_when_all_is_done(void **state)
{
    struct fixture *fix = *state;

    add(fix);
    put(fix, "a");
    assert_true(flush_within(fix, 10 * HANG_LIMIT_NS)); /* whoever waits that long hangs */
}

static void cancels_at_the_deadline_and_counts_the_rest(void **state)
{
    struct fixture *fix = *state;
    uint64_t before;

    atomic_store(&fix->fake.block, true);
    add(fix);
    put(fix, "a");
    put(fix, "b");
    put(fix, "c");
    before = now_ns(NULL);
    assert_false(flush_within(fix, 100 * NS_PER_MS));

    assert_true(now_ns(NULL) - before >= 100 * NS_PER_MS);
    assert_true(atomic_load(&fix->fake.canceled)); /* else the server would block for ever */
    assert_int_equal(stats(fix).dropped_stop, 3);
    assert_int_equal(stats(fix).queued, 0);
    assert_string_equal(fix->log,
                        "W exporter fake: 3 profiles could not be delivered before the end\n");
}

static void leaves_behind_a_thread_that_hears_nothing(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->fake.block, true);
    atomic_store(&fix->fake.deaf, true);
    add(fix);
    put(fix, "a");
    EVENTUALLY(atomic_load(&fix->fake.sends) == 1);
    assert_false(flush_within(fix, 50 * NS_PER_MS)); /* and returns, although the thread does not */

    assert_false(delivery_free(fix->delivery));
    fix->delivery = NULL;
    assert_false(atomic_load(&fix->fake.closed)); /* it is in use */
    atomic_store(&fix->fake.block, false);        /* now it comes to its end */
    AWAIT(atomic_load(&fix->fake.closed));
    assert_string_equal(fix->log,
                        "W exporter fake: 1 profiles could not be delivered before the end\n");
}

static void takes_nothing_after_the_end(void **state)
{
    struct fixture *fix = *state;

    add(fix);
    assert_true(flush_within(fix, HANG_LIMIT_NS));
    put(fix, "a");

    assert_int_equal(stats(fix).dropped_stop, 1);
    assert_int_equal(atomic_load(&fix->fake.sends), 0);
}

static void says_once_that_it_fails_and_once_that_it_works_again(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->fake.rc, EXPORTER_RETRY);
    add(fix);
    put(fix, "a");
    EVENTUALLY(got.retried >= 10);
    assert_string_equal(fix->log, "W exporter fake: the fake says retry; it will be tried again\n");
    atomic_store(&fix->fake.rc, EXPORTER_OK);
    EVENTUALLY(got.sent == 1);
    EVENTUALLY(atomic_load(&fix->lines) == 2);

    assert_non_null(strstr(fix->log, "\nI exporter fake: works again, after "));
}

static void says_now_and_then_that_it_still_fails(void **state)
{
    struct fixture *fix = *state;

    fix->limits.log_every_ns = 50 * NS_PER_MS;
    atomic_store(&fix->fake.rc, EXPORTER_RETRY);
    add(fix);
    put(fix, "a");
    EVENTUALLY(atomic_load(&fix->lines) >= 3);

    assert_true(atomic_load(&fix->fake.sends) >= 6); /* most of them in silence */
    assert_non_null(strstr(fix->log, "W exporter fake: still fails ("));
    assert_non_null(strstr(fix->log, "1 profiles wait): the fake says retry"));
}

static void says_seldom_that_profiles_are_refused(void **state)
{
    struct fixture *fix = *state;

    atomic_store(&fix->fake.rc, EXPORTER_REFUSED);
    add(fix);
    for (int i = 0; i < 20; i++)
        put(fix, "a");
    assert_true(flush_within(fix, HANG_LIMIT_NS));

    assert_string_equal(
        fix->log, "W exporter fake: a profile was refused (1 so far): the fake says refused\n");
}

static atomic_int caught;

static void catch (int number)
{
    (void)number;
    (void)atomic_fetch_add(&caught, 1);
}

/* The fake asks the mask of the delivery's thread. */
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
    assert_true(delivery_add(fix->delivery, "fake", EXPORTER_WHOLE, &sink, &fix->limits));
    put(fix, "a");
    assert_true(flush_within(fix, HANG_LIMIT_NS));
    (void)signal(SIGPIPE, SIG_DFL);

    assert_int_equal(atomic_load(&blocked), 1);
    assert_int_equal(atomic_load(&caught), 0);
}

static void *put_many(void *ctx)
{
    for (int i = 0; i < 2000; i++)
        put(ctx, "a");
    return NULL;
}

static void counts_every_profile_of_many_threads(void **state)
{
    struct fixture *fix = *state;
    struct delivery_stats end;
    pthread_t threads[4];

    fix->limits.queue_profiles = 8;
    add(fix);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, fix), 0);
    for (size_t i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
    assert_true(flush_within(fix, HANG_LIMIT_NS));

    end = stats(fix);
    assert_int_equal(end.sent + end.dropped_full, 8000);
    assert_int_equal(end.queued_bytes, 0);
}

int main(void)
{
#define WITH_DELIVERY(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
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

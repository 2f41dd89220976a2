/* SPDX-License-Identifier: Apache-2.0 */
/* test_delivery.c - no profile is lost uncounted, and nobody is ever held up by a server. */
#include "tests/unit/delivery/delivery_fixture.h"

static const struct export_limits usual = {.in_flight = 4};

/* Takes all, and warns of a service. */
static enum exporter_rc take_and_warn(void *ctx, const struct batch *batch,
                                      struct exporter_answer *answer)
{
    (void)ctx;
    err_set(&answer->note, "the server warns of %s", batch->profiles[0].service);
    return EXPORTER_OK;
}

static void a_warning_that_comes_with_each_answer_is_logged_once(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats;

    (void)state;
    fake->judge = take_and_warn;
    fixture_start(fix);
    for (uint64_t i = 1; i <= 8; i++) { /* of 15 s each */
        fixture_interval(fix, "a");
        FIXTURE_UNTIL(fix, stats.sent == i, SECOND);
    }
    fixture_interval(fix, "b");
    FIXTURE_UNTIL(fix, fixture_lines(fix, "the server warns of b") == 1, 0);
    assert_int_equal(fixture_lines(fix, "the server warns of a"), 1);
    assert_true(fixture_free(fix));
}

static void the_profiles_of_an_interval_go_together(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats;

    (void)state;
    fixture_start(fix);
    fixture_interval(fix, "abc");
    fixture_interval(fix, "de");
    FIXTURE_UNTIL(fix, stats.sent == 5, 0);
    assert_string_equal(fake->got, "a b c d e ");
    assert_string_equal(fake->sizes, "3 2 ");
    assert_true(fixture_free(fix));
}

static void a_large_interval_is_several_batches_side_by_side(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats;

    (void)state;
    fake->hold = true;
    fixture_start(fix);
    for (int i = 0; i < 600; i++)
        fixture_put_sized(fix, "s", 10);
    delivery_end_interval(fix->delivery);
    AWAIT(fake->flying_count == 3);
    assert_string_equal(fake->sizes, "256 256 88 ");
    fake->hold = false;
    FIXTURE_UNTIL(fix, stats.sent == 600, 0);
    assert_true(fixture_free(fix));
}

static void the_next_interval_waits_for_the_one_before(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats;

    (void)state;
    fake->hold = true;
    fixture_start(fix);
    for (int i = 0; i < 4; i++)
        fixture_interval(fix, "ab");
    AWAIT(fake->starts == 1);
    fake->hold = false;
    FIXTURE_UNTIL(fix, stats.sent == 8, SECOND);
    assert_int_equal(fake->flying_most, 1);
    assert_string_equal(fake->got, "a b a b a b a b ");
    assert_true(fixture_free(fix));
}

static void each_exporter_has_a_queue_of_its_own(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *slow = fixture_add(fix, "slow", &usual),
                *quick = fixture_add(fix, "quick", &usual);
    struct delivery_stats stats;

    (void)state;
    slow->hold = true;
    fixture_start(fix);
    for (int i = 0; i < 3; i++)
        fixture_interval(fix, "ab");
    for (;;) {
        assert_string_equal(delivery_stats(fix->delivery, 1, &stats), "quick");
        if (stats.sent == 6)
            break;
        fixture_advance(fix, SECOND);
        (void)usleep(1000);
    }
    assert_string_equal(quick->got, "a b a b a b ");
    fixture_stats(fix, 0, &stats);
    assert_int_equal(stats.queued, 6);
    assert_int_equal(stats.sent, 0);
    assert_true(fixture_free(fix));
}

/* Refuses all profiles of service "b", and names them. */
static enum exporter_rc name_b(void *ctx, const struct batch *batch, struct exporter_answer *answer)
{
    const enum exporter_rc *rc = ctx;

    for (size_t i = 0; i < batch->count; i++)
        if (strcmp(batch->profiles[i].service, "b") == 0) {
            batch_set_add(&answer->failed, i);
            answer->failed_count++;
        }
    return answer->failed_count > 0 ? *rc : EXPORTER_OK;
}

static void of_a_refusal_that_names_profiles_the_others_count_as_taken(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    enum exporter_rc refused = EXPORTER_REFUSED;
    struct delivery_stats stats;

    (void)state;
    fake->judge = name_b;
    fake->ctx = &refused;
    fixture_start(fix);
    fixture_interval(fix, "abc");
    FIXTURE_UNTIL(fix, stats.sent == 2 && stats.refused == 1 && stats.queued == 0, 0);
    assert_string_equal(fake->sizes, "3 ");
    assert_int_equal(fixture_lines(fix, "W exporter a: profiles were refused (1 so far)"), 1);
    assert_true(fixture_free(fix));
}

static void only_what_failed_is_sent_again(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    enum exporter_rc again = EXPORTER_RETRY;
    struct delivery_stats stats;

    (void)state;
    fake->judge = name_b;
    fake->ctx = &again;
    fixture_start(fix);
    fixture_interval(fix, "abc");
    FIXTURE_UNTIL(fix, fake->starts >= 2, SECOND);
    fixture_interval(fix, "d"); /* the others do not wait for it */
    FIXTURE_UNTIL(fix, stats.sent == 3, SECOND);
    fake->judge = NULL;
    FIXTURE_UNTIL(fix, stats.sent == 4 && stats.queued == 0, SECOND);
    assert_memory_equal(fake->sizes, "3 1 ", 4);
    assert_memory_equal(fake->got, "a c d ", 6);
    assert_true(fixture_free(fix));
}

/* Refuses a batch with service "b" in it, and does not say why. */
static enum exporter_rc refuse_with_b(void *ctx, const struct batch *batch,
                                      struct exporter_answer *answer)
{
    (void)ctx;
    (void)answer;
    for (size_t i = 0; i < batch->count; i++)
        if (strcmp(batch->profiles[i].service, "b") == 0)
            return EXPORTER_REFUSED;
    return EXPORTER_OK;
}

static void a_refusal_that_names_none_costs_only_the_profile_at_fault(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats;

    (void)state;
    fake->judge = refuse_with_b;
    fixture_start(fix);
    fixture_interval(fix, "acdefbgh");
    FIXTURE_UNTIL(fix, stats.sent == 7 && stats.refused == 1 && stats.queued == 0, SECOND);
    assert_true(fixture_free(fix));
}

/* A server that is up, but fails for each batch with service "b" in it. */
static enum exporter_rc fail_with_b(void *ctx, const struct batch *batch,
                                    struct exporter_answer *answer)
{
    return refuse_with_b(ctx, batch, answer) == EXPORTER_OK ? EXPORTER_OK : EXPORTER_RETRY;
}

static void a_profile_that_no_server_can_take_is_given_up_alone(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats;
    uint64_t others = 3;

    (void)state;
    fake->judge = fail_with_b;
    fixture_start(fix);
    fixture_interval(fix, "abcd");
    for (int i = 0; i < 400; i++) { /* others come and get through */
        fixture_interval(fix, "x");
        others++;
        FIXTURE_UNTIL(fix, stats.queued <= 4, SECOND);
        fixture_stats(fix, 0, &stats);
        if (stats.dropped_old == 1)
            break;
    }
    FIXTURE_UNTIL(fix, stats.sent == others && stats.queued == 0, SECOND);
    fixture_stats(fix, 0, &stats);
    assert_int_equal(stats.dropped_old, 1);
    assert_true(fixture_free(fix));
}

static void an_outage_is_told_once_and_its_end(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats;

    (void)state;
    fake->rc = EXPORTER_RETRY;
    fixture_start(fix);
    fixture_interval(fix, "ab");
    FIXTURE_UNTIL(fix, stats.retried >= 3, SECOND / 4);
    fake->rc = EXPORTER_OK;
    FIXTURE_UNTIL(fix, stats.sent == 2, SECOND);
    AWAIT(fixture_lines(fix, "I exporter a: works again") == 1);
    assert_int_equal(fixture_lines(fix, "it will be tried again"), 1);
    assert_true(fixture_free(fix));
}

static void a_full_queue_loses_the_oldest_intervals_and_counts_them(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .queue_bytes = 3000};
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &limits);
    struct delivery_stats stats;

    (void)state;
    fake->hold = true;
    fixture_start(fix);
    fixture_interval(fix, "0");
    AWAIT(fake->starts == 1);
    for (const char *service = "abcdef"; *service; service++) {
        fixture_put_sized(fix, (char[]){*service, '\0'}, 800);
        delivery_end_interval(fix->delivery);
    }
    FIXTURE_UNTIL(fix, stats.dropped_full == 3 && stats.queued == 4, 0);
    fake->hold = false;
    FIXTURE_UNTIL(fix, stats.sent == 4, SECOND);
    assert_string_equal(fake->got, "0 d e f ");
    assert_true(fixture_free(fix));
}

static void one_interval_is_kept_whole_however_large(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .queue_bytes = 1000};
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &limits);
    struct delivery_stats stats;

    (void)state;
    fake->rc = EXPORTER_RETRY;
    fixture_start(fix);
    for (int i = 0; i < 4; i++)
        fixture_put_sized(fix, "s", BATCH_SIZE_FULL - 100);
    delivery_end_interval(fix->delivery);
    FIXTURE_UNTIL(fix, stats.retried > 0, SECOND);
    fake->rc = EXPORTER_OK;
    FIXTURE_UNTIL(fix, stats.sent == 4 && stats.dropped_full == 0, SECOND);
    assert_true(fixture_free(fix));
}

/* Takes one batch, and then none before it is let again. */
static enum exporter_rc take_one(void *ctx, const struct batch *batch,
                                 struct exporter_answer *answer)
{
    struct fake *fake = ctx;

    (void)batch;
    (void)answer;
    fake->hold = true;
    return EXPORTER_OK;
}

static void falling_behind_is_told_once_with_its_cure(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats = {0};

    (void)state;
    fake->hold = true;
    fake->judge = take_one;
    fake->ctx = fake;
    fixture_start(fix);
    for (int i = 0; i < 30 && !stats.behind; i++) {
        uint64_t sent;

        for (int k = 0; k < 3; k++)
            fixture_interval(fix, "ab");
        fixture_stats(fix, 0, &stats);
        sent = stats.sent;
        fake->hold = false;
        FIXTURE_UNTIL(fix, stats.sent > sent, SECOND);
        fixture_stats(fix, 0, &stats);
    }
    assert_true(stats.behind);
    assert_true(stats.in_rate > stats.out_rate);
    AWAIT(fixture_lines(fix, "falls behind") == 1);
    assert_int_equal(fixture_lines(fix, "max_in_flight"), 1);
    fake->hold = false;
    fake->judge = NULL;
    FIXTURE_UNTIL(fix, stats.queued == 0, SECOND);
    for (int i = 0; i < 10 && fixture_lines(fix, "has caught up") == 0; i++) {
        fixture_interval(fix, "a");
        fixture_advance(fix, 60 * SECOND);
        FIXTURE_UNTIL(fix, stats.queued == 0, SECOND);
    }
    AWAIT(fixture_lines(fix, "has caught up") == 1);
    assert_true(fixture_free(fix));
}

static void at_the_end_all_that_is_queued_goes_out_at_once(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .jitter_ns = 3600 * SECOND};
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &limits);

    (void)state;
    fixture_start(fix);
    fixture_interval(fix, "ab");
    fixture_put_sized(fix, "c", 10); /* of an interval that has not ended */
    assert_true(delivery_stop(fix->delivery, fixture_now(fix) + 5 * SECOND));
    assert_string_equal(fake->got, "a b c ");
    fixture_interval(fix, "d"); /* which comes too late */
    assert_true(fixture_free(fix));
}

static void what_could_not_be_delivered_before_the_end_is_named(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    struct delivery_stats stats;
    pthread_t clock;

    (void)state;
    fake->hold = true;
    fixture_start(fix);
    fixture_interval(fix, "ab");
    AWAIT(fake->starts == 1);
    assert_int_equal(pthread_create(&clock, NULL, fixture_pass_time, fix), 0);
    assert_false(delivery_stop(fix->delivery, fixture_now(fix) + 2 * SECOND));
    (void)pthread_join(clock, NULL);
    fixture_stats(fix, 0, &stats);
    assert_int_equal(stats.dropped_stop, 2);
    assert_int_equal(fixture_lines(fix, "W exporter a: 2 profiles could not be delivered"), 1);
    assert_true(fixture_free(fix));
}

static void a_thread_that_hangs_is_left_behind_with_its_exporter(void **state)
{
    struct fixture *fix = delivery_fixture_new(NULL);
    struct fake *fake = fixture_add(fix, "a", &usual);
    pthread_t clock;

    (void)state;
    fake->hold = fake->deaf = true;
    fixture_start(fix);
    fixture_interval(fix, "ab");
    AWAIT(fake->starts == 1);
    assert_int_equal(pthread_create(&clock, NULL, fixture_pass_time, fix), 0);
    assert_false(delivery_stop(fix->delivery, fixture_now(fix) + SECOND));
    (void)pthread_join(clock, NULL);
    assert_false(atomic_load(&fake->closed));
    assert_false(fixture_free(fix));
    fake->deaf = false;                /* now it comes to an end, and cleans up */
    AWAIT(atomic_load(&fake->closed)); /* the last that it does with the fixture */
    free(fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warning_that_comes_with_each_answer_is_logged_once),
        cmocka_unit_test(the_profiles_of_an_interval_go_together),
        cmocka_unit_test(a_large_interval_is_several_batches_side_by_side),
        cmocka_unit_test(the_next_interval_waits_for_the_one_before),
        cmocka_unit_test(each_exporter_has_a_queue_of_its_own),
        cmocka_unit_test(of_a_refusal_that_names_profiles_the_others_count_as_taken),
        cmocka_unit_test(only_what_failed_is_sent_again),
        cmocka_unit_test(a_refusal_that_names_none_costs_only_the_profile_at_fault),
        cmocka_unit_test(a_profile_that_no_server_can_take_is_given_up_alone),
        cmocka_unit_test(an_outage_is_told_once_and_its_end),
        cmocka_unit_test(a_full_queue_loses_the_oldest_intervals_and_counts_them),
        cmocka_unit_test(one_interval_is_kept_whole_however_large),
        cmocka_unit_test(falling_behind_is_told_once_with_its_cure),
        cmocka_unit_test(at_the_end_all_that_is_queued_goes_out_at_once),
        cmocka_unit_test(what_could_not_be_delivered_before_the_end_is_named),
        cmocka_unit_test(a_thread_that_hangs_is_left_behind_with_its_exporter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_retry_queue.c - what is tried next, and when, without any clock or thread. */
#include <stdlib.h>

#include "agent/delivery/retry_queue.h"
#include "base/time_units.h"
#include "tests/unit/unit_test.h"

enum { AGENTS = 1000, BUCKETS = 10 };

struct world {
    struct retry_queue queue;
    uint64_t now_ns;
    unsigned lost[3];
};

static const struct delivery_limits usual = {
    .queue_profiles = 32,
    .queue_bytes = 1 << 20,
    .retry_ns = 300 * NS_PER_S,
    .backoff_min_ns = 500 * NS_PER_MS,
    .backoff_max_ns = 30 * NS_PER_S,
    .denied_max_ns = 300 * NS_PER_S,
    .log_every_ns = 60 * NS_PER_S,
};

static void lose(void *ctx, const struct delivery_item *item, enum delivery_loss why)
{
    struct world *world = ctx;

    (void)item;
    world->lost[why]++;
}

static void begin(struct world *world, const struct delivery_limits *limits, uint64_t random)
{
    *world = (struct world){.now_ns = 1000 * NS_PER_S};
    retry_queue_init(&world->queue, limits, random, world->now_ns);
    world->queue.lose = lose;
    world->queue.ctx = world;
}

/* An item that is in the spool. */
static void add(struct world *world, uint64_t order, uint64_t put_ns)
{
    retry_queue_add(&world->queue, &(struct delivery_item){.order = order, .put_ns = put_ns});
}

/* Waits for the next try, gives the answer `rc`, and returns whose turn it was; 0: nobody's ever.
 */
static uint64_t answer(struct world *world, enum exporter_rc rc, const struct exporter_answer *said)
{
    struct delivery_item item;
    uint64_t due_ns = 0, order;

    while (!retry_queue_take(&world->queue, world->now_ns, &item, &due_ns)) {
        if (due_ns == UINT64_MAX)
            return 0;
        world->now_ns = due_ns > world->now_ns ? due_ns : world->now_ns + 1;
    }
    order = item.order;
    retry_queue_complete(&world->queue, &item, rc, said, world->now_ns);
    return order;
}

static uint64_t say(struct world *world, enum exporter_rc rc)
{
    return answer(world, rc, &(struct exporter_answer){.denied = false});
}

/* Else whoever holds a profile that is the probe would hold up all others. */
static void probes_with_another_where_one_is_held_by_somebody_else(void **state)
{
    struct delivery_item item;
    struct world world;
    uint64_t due_ns;

    (void)state;
    begin(&world, &usual, 3);
    for (uint64_t i = 1; i <= 3; i++)
        add(&world, i, world.now_ns);
    for (int n = 0; n < 3; n++)
        assert_int_equal(say(&world, EXPORTER_RETRY), 1);
    assert_true(retry_queue_take(&world.queue, world.now_ns, &item, &due_ns));
    assert_int_equal(item.order, 2);
    retry_queue_put_off(&world.queue, &item, world.now_ns, NS_PER_S);
    assert_int_equal(say(&world, EXPORTER_RETRY), 1);
    assert_int_equal(say(&world, EXPORTER_OK), 3);
    retry_queue_finish(&world.queue);
}

static void keeps_the_order_through_an_outage(void **state)
{
    struct world world;

    (void)state;
    begin(&world, &usual, 7);
    for (uint64_t order = 1; order <= 100; order++)
        add(&world, order, world.now_ns);
    while (world.now_ns < 4600 * NS_PER_S || world.queue.probing) /* an hour */
        assert_int_not_equal(say(&world, EXPORTER_RETRY), 0);
    for (uint64_t order = 1; order <= 100; order++)
        assert_int_equal(say(&world, EXPORTER_OK), order);
    assert_int_equal(world.queue.count, 0);
    assert_int_equal(world.lost[DELIVERY_LOST_OLD], 0);
    retry_queue_finish(&world.queue);
}

static void sends_no_probe_where_no_server_was_reached(void **state)
{
    const struct exporter_answer unsent = {.unsent = true};
    struct world world;

    (void)state;
    begin(&world, &usual, 7);
    for (uint64_t order = 1; order <= 10; order++)
        add(&world, order, world.now_ns);
    for (int i = 0; i < 50; i++)
        assert_int_equal(answer(&world, EXPORTER_RETRY, &unsent), 1);
    for (uint64_t order = 1; order <= 10; order++)
        assert_int_equal(say(&world, EXPORTER_OK), order);
    retry_queue_finish(&world.queue);
}

/* Those whose number is in `poison` fail, the others pass; until nothing is left or `tries`. */
static void run_poisoned(struct world *world, uint64_t from, uint64_t to, unsigned tries)
{
    struct delivery_item item;
    uint64_t due_ns;

    while (tries-- > 0 && world->queue.count > 0) {
        if (!retry_queue_take(&world->queue, world->now_ns, &item, &due_ns)) {
            world->now_ns = due_ns;
            continue;
        }
        retry_queue_complete(&world->queue, &item,
                             item.order >= from && item.order <= to ? EXPORTER_RETRY : EXPORTER_OK,
                             &(struct exporter_answer){.denied = false}, world->now_ns);
    }
}

static void tells_poison_from_an_outage(void **state)
{
    struct world world;
    uint64_t began;

    (void)state;
    begin(&world, &usual, 7);
    for (uint64_t order = 1; order <= 50; order++)
        add(&world, order, world.now_ns);
    began = world.now_ns;
    run_poisoned(&world, 1, 3, 130); /* three of them in a row */
    assert_int_equal(world.queue.count, 3);
    assert_int_equal(world.queue.suspects, 3);
    assert_true(world.now_ns - began < 120 * NS_PER_S);
    retry_queue_finish(&world.queue);
}

static void gives_poison_up_only_if_others_get_through(void **state)
{
    struct world world;

    (void)state;
    begin(&world, &usual, 7);
    add(&world, 1, world.now_ns);
    add(&world, 2, world.now_ns);
    run_poisoned(&world, 1, 1, 20);
    assert_int_equal(world.queue.suspects, 1);
    for (unsigned i = 0; i < 1000; i++) /* nothing comes: who knows what it is that fails */
        assert_int_equal(say(&world, EXPORTER_RETRY), 1);
    assert_int_equal(world.queue.count, 1);
    for (uint64_t order = 3; order < 50 && world.queue.count > 0; order++) {
        add(&world, order, world.now_ns);
        run_poisoned(&world, 1, 1, 4);
    }
    assert_int_equal(world.lost[DELIVERY_LOST_OLD], 1);
    retry_queue_finish(&world.queue);
}

static void does_what_a_server_asks_for_within_bounds(void **state)
{
    static const uint64_t asked[] = {1, 10, 300, 900, 3600};
    struct world world;

    (void)state;
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        const struct exporter_answer said = {.retry_after_ns = asked[i] * NS_PER_S};
        uint64_t want = asked[i] < 900 ? asked[i] : 900;

        begin(&world, &usual, i);
        add(&world, 1, world.now_ns);
        add(&world, 2, world.now_ns);
        for (int n = 0; n < 5; n++) { /* probes keep to it, too */
            uint64_t before;

            assert_int_not_equal(answer(&world, EXPORTER_RETRY, &said), 0);
            before = world.now_ns;
            assert_int_not_equal(answer(&world, EXPORTER_RETRY, &said), 0);
            assert_true(world.now_ns - before >= want * NS_PER_S);
            assert_true(world.now_ns - before <= want * NS_PER_S * 11 / 10 + 31 * NS_PER_S);
        }
        retry_queue_finish(&world.queue);
    }
}

static void waits_for_a_new_secret_up_to_minutes(void **state)
{
    const struct exporter_answer denied = {.denied = true};
    uint64_t before, pause = 0;
    struct world world;

    (void)state;
    begin(&world, &usual, 7);
    add(&world, 1, world.now_ns);
    (void)answer(&world, EXPORTER_RETRY, &denied);
    for (int i = 0; i < 100; i++) {
        before = world.now_ns;
        assert_int_equal(answer(&world, EXPORTER_RETRY, &denied), 1);
        pause = world.now_ns - before;
        assert_in_range(pause, 500 * NS_PER_MS, 300 * NS_PER_S);
    }
    assert_in_range(pause, 150 * NS_PER_S, 300 * NS_PER_S);
    assert_int_equal(say(&world, EXPORTER_OK), 1);
    retry_queue_finish(&world.queue);
}

/* A thousand agents that start at once, each with an hour's backlog. */
static void spreads_agents_that_start_together(void **state)
{
    struct delivery_limits limits = usual;
    unsigned first[BUCKETS] = {0}, fresh[BUCKETS] = {0};

    (void)state;
    limits.send_jitter_ns = 15 * NS_PER_S;
    for (uint64_t agent = 0; agent < AGENTS; agent++) {
        struct world world;
        uint64_t began;

        begin(&world, &limits, agent * UINT64_C(0x9e3779b97f4a7c15));
        began = world.now_ns;
        for (uint64_t order = 1; order <= 100; order++)
            add(&world, order, 0);
        (void)say(&world, EXPORTER_OK);
        first[(world.now_ns - began) * BUCKETS / (15 * NS_PER_S)]++;
        for (uint64_t order = 2; order <= 100; order++)
            (void)say(&world, EXPORTER_OK);
        assert_true(world.now_ns - began > 4 * NS_PER_S); /* and not all at once, either */
        assert_true(world.now_ns - began < 60 * NS_PER_S);
        began = world.now_ns;
        add(&world, 101, world.now_ns);
        (void)say(&world, EXPORTER_OK);
        fresh[(world.now_ns - began) * BUCKETS / (15 * NS_PER_S)]++;
        retry_queue_finish(&world.queue);
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        assert_in_range(first[i], AGENTS / BUCKETS / 2, AGENTS / BUCKETS * 2);
        assert_in_range(fresh[i], AGENTS / BUCKETS / 2, AGENTS / BUCKETS * 2);
    }
}

static void forgets_what_the_spool_has_dropped(void **state)
{
    struct world world;

    (void)state;
    begin(&world, &usual, 7);
    for (uint64_t order = 1; order <= 10; order++)
        add(&world, order, world.now_ns);
    retry_queue_gone(&world.queue, 4);
    assert_int_equal(say(&world, EXPORTER_OK), 5);
    assert_int_equal(world.lost[DELIVERY_LOST_GONE], 4);
    retry_queue_finish(&world.queue);
}

static void tries_all_at_once_when_it_is_to_end(void **state)
{
    struct delivery_limits limits = usual;
    struct world world;
    uint64_t began;

    (void)state;
    limits.send_jitter_ns = 15 * NS_PER_S;
    begin(&world, &limits, 7);
    began = world.now_ns;
    for (uint64_t order = 1; order <= 10; order++)
        add(&world, order, order < 5 ? 0 : world.now_ns);
    retry_queue_expedite(&world.queue);
    for (uint64_t order = 1; order <= 10; order++)
        assert_int_equal(say(&world, EXPORTER_OK), order);
    assert_int_equal(world.now_ns, began);
    retry_queue_finish(&world.queue);
}

static void takes_items_out_of_order_in_their_place(void **state)
{
    struct world world;

    (void)state;
    begin(&world, &usual, 7);
    for (uint64_t i = 0; i < 200; i++)
        add(&world, i * 77 % 200 + 1, world.now_ns);
    for (uint64_t order = 1; order <= 200; order++)
        assert_int_equal(say(&world, EXPORTER_OK), order);
    retry_queue_finish(&world.queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probes_with_another_where_one_is_held_by_somebody_else),
        cmocka_unit_test(keeps_the_order_through_an_outage),
        cmocka_unit_test(sends_no_probe_where_no_server_was_reached),
        cmocka_unit_test(tells_poison_from_an_outage),
        cmocka_unit_test(gives_poison_up_only_if_others_get_through),
        cmocka_unit_test(does_what_a_server_asks_for_within_bounds),
        cmocka_unit_test(waits_for_a_new_secret_up_to_minutes),
        cmocka_unit_test(spreads_agents_that_start_together),
        cmocka_unit_test(forgets_what_the_spool_has_dropped),
        cmocka_unit_test(tries_all_at_once_when_it_is_to_end),
        cmocka_unit_test(takes_items_out_of_order_in_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

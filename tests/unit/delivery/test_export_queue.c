/* SPDX-License-Identifier: Apache-2.0 */
/* test_export_queue.c - what is sent next, and when, without any clock or thread. */
#include <stdlib.h>
#include <string.h>

#include "agent/delivery/export_queue.h"
#include "tests/unit/batch_of_one.h"
#include "tests/unit/unit_test.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)

enum { AGENTS = 1000, BUCKETS = 10 };

struct world {
    struct export_queue queue;
    uint64_t now_ns, order;
    size_t lost[2]; /* profiles, by cause */
};

static void lose(void *ctx, struct export_entry *entry, enum export_loss why)
{
    struct world *world = ctx;

    world->lost[why] += entry->count;
    export_entry_free(entry);
}

static void begin(struct world *world, const struct export_limits *limits)
{
    *world = (struct world){.now_ns = 1000 * SECOND};
    export_queue_init(&world->queue, limits, 7, world->now_ns);
    world->queue.lose = lose;
    world->queue.ctx = world;
}

/* A batch on disk, of `count` profiles. */
static struct export_entry *add(struct world *world, uint64_t interval, size_t count)
{
    struct export_entry *entry = calloc(1, sizeof(*entry));

    assert_non_null(entry);
    entry->interval = interval;
    entry->order = ++world->order;
    entry->count = count;
    entry->put_ns = world->now_ns;
    entry->born_ns = (int64_t)world->now_ns;
    entry->file = (struct spool_file *)(void *)entry; /* which nobody looks into */
    export_queue_add(&world->queue, entry);
    return entry;
}

static void add_in_memory(struct world *world, uint64_t interval, size_t size)
{
    const struct exporter_profile profile = {.service = "a", .bytes = "", .size = 0};
    struct export_entry *entry = calloc(1, sizeof(*entry));

    assert_non_null(entry);
    *entry = (struct export_entry){
        .interval = interval, .order = ++world->order, .count = 1, .size = size};
    entry->put_ns = world->now_ns;
    entry->born_ns = (int64_t)world->now_ns;
    entry->batch = batch_of_one(EXPORTER_PER_TYPE, &profile);
    assert_non_null(entry->batch);
    export_queue_add(&world->queue, entry);
}

/* The next batch, when its time has come; NULL: never. */
static struct export_entry *next(struct world *world)
{
    struct export_entry *entry;
    uint64_t due_ns;

    while (!(entry = export_queue_next(&world->queue, world->now_ns, &due_ns))) {
        if (due_ns == UINT64_MAX)
            return NULL;
        world->now_ns = due_ns > world->now_ns ? due_ns : world->now_ns + 1;
    }
    return entry;
}

static bool has_next_now(struct world *world)
{
    struct export_entry *entry;
    uint64_t due_ns;

    entry = export_queue_next(&world->queue, world->now_ns, &due_ns);
    if (entry)
        export_queue_put_back(&world->queue, entry, world->now_ns, 0);
    return entry != NULL;
}

static void answer(struct world *world, struct export_entry *entry, enum exporter_rc rc,
                   const struct exporter_answer *said)
{
    if (export_queue_complete(&world->queue, entry, rc, said, world->now_ns) != EXPORT_WAITS)
        export_entry_free(entry);
}

/* Waits for the next try, gives the answer `rc`, and returns whose turn it was; 0: nobody's. */
static uint64_t say(struct world *world, enum exporter_rc rc)
{
    const struct exporter_answer said = {.denied = false};
    struct export_entry *entry = next(world);
    uint64_t order = entry ? entry->order : 0;

    if (entry)
        answer(world, entry, rc, &said);
    return order;
}

static void batches_of_one_interval_go_side_by_side_and_the_next_ones_after_them(void **state)
{
    const struct export_limits limits = {.in_flight = 4};
    const struct exporter_answer said = {.denied = false};
    struct export_entry *first, *second;
    struct world world;

    (void)state;
    begin(&world, &limits);
    (void)add(&world, 1, 3);
    (void)add(&world, 1, 3);
    (void)add(&world, 2, 3);
    first = next(&world);
    second = next(&world);
    assert_int_equal(first->interval, 1);
    assert_int_equal(second->interval, 1);
    assert_false(has_next_now(&world));
    answer(&world, first, EXPORTER_OK, &said);
    assert_false(has_next_now(&world)); /* one of the first interval is under way still */
    answer(&world, second, EXPORTER_OK, &said);
    assert_int_equal(say(&world, EXPORTER_OK), 3);
    export_queue_finish(&world.queue);
}

static void no_more_go_out_than_may_be_in_flight(void **state)
{
    const struct export_limits limits = {.in_flight = 2};
    struct world world;

    (void)state;
    begin(&world, &limits);
    for (int i = 0; i < 3; i++)
        (void)add(&world, 1, 1);
    assert_non_null(next(&world));
    assert_non_null(next(&world));
    assert_false(has_next_now(&world));
    export_queue_finish(&world.queue);
}

static void keeps_the_order_through_an_outage(void **state)
{
    const struct export_limits limits = {.in_flight = 4};
    struct world world;

    (void)state;
    begin(&world, &limits);
    for (uint64_t i = 1; i <= 100; i++)
        (void)add(&world, i, 1);
    while (world.now_ns < 4600 * SECOND || world.queue.probing) /* an hour */
        assert_int_not_equal(say(&world, EXPORTER_RETRY), 0);
    for (uint64_t i = 1; i <= 100; i++)
        assert_int_equal(say(&world, EXPORTER_OK), i);
    assert_int_equal(world.queue.count, 0);
    assert_int_equal(world.lost[EXPORT_LOST_OLD], 0);
    export_queue_finish(&world.queue);
}

static void one_batch_at_a_time_is_tried_while_it_fails(void **state)
{
    const struct export_limits limits = {.in_flight = 4};
    struct export_entry *entry;
    struct world world;

    (void)state;
    begin(&world, &limits);
    (void)add(&world, 1, 1);
    (void)add(&world, 1, 1);
    (void)say(&world, EXPORTER_RETRY);
    entry = next(&world);
    assert_non_null(entry);
    assert_null(next(&world));
    export_queue_finish(&world.queue);
}

static void pauses_grow_up_to_half_a_minute(void **state)
{
    const struct export_limits limits = {.in_flight = 4};
    uint64_t before, longest = 0, sum = 0;
    struct world world;

    (void)state;
    begin(&world, &limits);
    (void)add(&world, 1, 1);
    for (int i = 0; i < 200; i++) {
        before = world.now_ns;
        (void)say(&world, EXPORTER_RETRY);
        longest = world.now_ns - before > longest ? world.now_ns - before : longest;
        sum += world.now_ns - before;
    }
    assert_in_range(longest, 25 * SECOND, 30 * SECOND);
    assert_in_range(sum / 200, 10 * SECOND, 20 * SECOND); /* half of it as a mean */
    export_queue_finish(&world.queue);
}

static void one_that_fails_alone_is_put_aside_and_halved(void **state)
{
    const struct export_limits limits = {.in_flight = 4};
    struct export_entry *bad;
    struct world world;

    (void)state;
    begin(&world, &limits);
    bad = add(&world, 1, 8);
    (void)add(&world, 2, 8);
    (void)add(&world, 3, 8);
    for (int i = 0; i < 3; i++)
        assert_int_equal(say(&world, EXPORTER_RETRY), 1);
    assert_int_equal(say(&world, EXPORTER_OK), 2); /* the probe */
    assert_true(bad->aside && bad->halve);
    assert_ptr_equal(next(&world), bad); /* to be cut, beside the others */
    assert_int_equal(say(&world, EXPORTER_OK), 3);
    export_queue_finish(&world.queue);
}

static void a_profile_that_fails_on_beside_others_is_given_up(void **state)
{
    const struct export_limits limits = {.in_flight = 4};
    struct world world;
    uint64_t interval = 2;

    (void)state;
    begin(&world, &limits);
    (void)add(&world, 1, 1);
    (void)add(&world, interval++, 1);
    while (world.lost[EXPORT_LOST_OLD] == 0 && interval < 1000) {
        struct export_entry *entry = next(&world);

        assert_non_null(entry);
        answer(&world, entry, entry->order == 1 ? EXPORTER_RETRY : EXPORTER_OK,
               &(struct exporter_answer){.denied = false});
        if (world.queue.count <= 1) {
            (void)add(&world, interval++, 1);
            world.now_ns += 15 * SECOND;
        }
    }
    assert_int_equal(world.lost[EXPORT_LOST_OLD] + (world.queue.count == 0 ? 1 : 0), 1);
    assert_true(world.now_ns - 1000 * SECOND >= 300 * SECOND);
    export_queue_finish(&world.queue);
}

static void where_no_server_was_reached_no_batch_is_to_blame(void **state)
{
    const struct export_limits limits = {.in_flight = 4};
    const struct exporter_answer unsent = {.unsent = true};
    struct world world;

    (void)state;
    begin(&world, &limits);
    (void)add(&world, 1, 1);
    (void)add(&world, 2, 1);
    for (int i = 0; i < 50; i++) {
        struct export_entry *entry = next(&world);

        assert_int_equal(entry->order, 1);
        answer(&world, entry, EXPORTER_RETRY, &unsent);
    }
    export_queue_finish(&world.queue);
}

static void memory_is_bounded_but_the_newest_interval_is_kept_whole(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .queue_bytes = 100};
    struct world world;

    (void)state;
    begin(&world, &limits);
    add_in_memory(&world, 1, 40);
    add_in_memory(&world, 2, 40);
    add_in_memory(&world, 3, 40);
    assert_int_equal(world.lost[EXPORT_LOST_FULL], 1);
    add_in_memory(&world, 4, 90); /* larger than all that there is room for */
    add_in_memory(&world, 4, 90);
    assert_int_equal(world.lost[EXPORT_LOST_FULL], 3);
    assert_int_equal(world.queue.count, 2);
    assert_int_equal(world.queue.entries[0]->interval, 4);
    export_queue_finish(&world.queue);
}

/* While it was under way it took nothing of the bound, so a newer one could come. */
static void what_has_just_failed_is_not_lost_to_whoever_looks_at_it(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .queue_bytes = 100};
    const struct exporter_answer said = {.denied = false};
    struct export_entry *entry;
    struct world world;

    (void)state;
    begin(&world, &limits);
    add_in_memory(&world, 1, 60);
    entry = next(&world);
    assert_non_null(entry);
    add_in_memory(&world, 2, 60);
    assert_int_equal(
        export_queue_complete(&world.queue, entry, EXPORTER_RETRY, &said, world.now_ns),
        EXPORT_WAITS);
    assert_int_equal(world.lost[EXPORT_LOST_FULL], 0);
    assert_ptr_equal(world.queue.entries[0], entry);
    add_in_memory(&world, 2, 10);
    assert_int_equal(world.lost[EXPORT_LOST_FULL], 1);
    export_queue_finish(&world.queue);
}

static void what_is_in_memory_is_given_up_in_the_end_and_what_is_on_disk_not(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .retry_ns = 60 * SECOND};
    struct world world;

    (void)state;
    begin(&world, &limits);
    (void)add(&world, 1, 1);
    while (world.now_ns < 3000 * SECOND)
        assert_int_equal(say(&world, EXPORTER_RETRY), 1);
    export_queue_finish(&world.queue);

    begin(&world, &limits);
    add_in_memory(&world, 1, 10);
    while (world.queue.count > 0)
        (void)say(&world, EXPORTER_RETRY);
    assert_in_range(world.now_ns, 1060 * SECOND, 1100 * SECOND);
    export_queue_finish(&world.queue);
}

static void what_a_server_would_not_take_any_more_is_dropped(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .max_age_ns = 50 * 60 * SECOND};
    struct world world;

    (void)state;
    begin(&world, &limits);
    (void)add(&world, 1, 5);
    world.now_ns += 50 * 60 * SECOND + 1;
    assert_null(next(&world));
    assert_int_equal(world.lost[EXPORT_LOST_OLD], 5);
    export_queue_finish(&world.queue);
}

static void a_server_is_given_the_pause_that_it_asks_for(void **state)
{
    const struct export_limits limits = {.in_flight = 4};
    const struct exporter_answer busy = {.retry_after_ns = 20 * SECOND};
    struct world world;
    uint64_t then_ns;

    (void)state;
    begin(&world, &limits);
    (void)add(&world, 1, 1);
    answer(&world, next(&world), EXPORTER_RETRY, &busy);
    then_ns = world.now_ns;
    (void)say(&world, EXPORTER_OK);
    assert_in_range(world.now_ns - then_ns, 20 * SECOND, 22 * SECOND);
    export_queue_finish(&world.queue);
}

static void a_secret_that_is_not_accepted_pauses_for_minutes(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .retry_ns = SECOND};
    const struct exporter_answer denied = {.denied = true};
    struct world world;

    (void)state;
    begin(&world, &limits);
    add_in_memory(&world, 1, 10);
    for (int i = 0; i < 20; i++)
        answer(&world, next(&world), EXPORTER_RETRY, &denied);
    assert_int_equal(world.lost[EXPORT_LOST_OLD], 0); /* no batch is to blame */
    assert_true(world.now_ns > 1000 * SECOND + 10 * 60 * SECOND);
    export_queue_finish(&world.queue);
}

static void agents_that_start_together_do_not_send_together(void **state)
{
    size_t counts[BUCKETS] = {0};

    (void)state;
    for (uint64_t i = 0; i < AGENTS; i++) {
        const struct export_limits limits = {.in_flight = 4, .jitter_ns = 15 * SECOND};
        struct world world = {.now_ns = 1000 * SECOND};

        export_queue_init(&world.queue, &limits, i * UINT64_C(0x9e3779b97f4a7c15), world.now_ns);
        world.queue.lose = lose;
        (void)add(&world, 1, 1);
        (void)next(&world);
        counts[(world.now_ns - 1000 * SECOND) * BUCKETS / (15 * SECOND + 1)]++;
        export_queue_finish(&world.queue);
    }
    for (size_t i = 0; i < BUCKETS; i++)
        assert_in_range(counts[i], AGENTS / BUCKETS / 2, AGENTS / BUCKETS * 2);
}

static void a_backlog_is_sent_a_few_times_as_fast_as_it_came(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .jitter_ns = 15 * SECOND};
    struct world world;
    uint64_t from_ns;

    (void)state;
    begin(&world, &limits);
    for (uint64_t i = 1; i <= 40; i++)
        (void)add(&world, i, 1);
    world.now_ns += 600 * SECOND;
    from_ns = world.now_ns;
    while (world.queue.count > 0)
        (void)say(&world, EXPORTER_OK);
    assert_in_range(world.now_ns - from_ns, 60 * SECOND, 200 * SECOND); /* 40 pauses of 3 s */
    export_queue_finish(&world.queue);
}

static void a_batch_waits_for_its_file_but_not_for_ever(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .patience_ns = 5 * SECOND};
    struct world world;

    (void)state;
    begin(&world, &limits);
    add_in_memory(&world, 1, 10);
    world.queue.entries[0]->unwritten = true;
    assert_false(has_next_now(&world));
    (void)next(&world);
    assert_int_equal(world.now_ns, 1005 * SECOND);
    export_queue_finish(&world.queue);
}

static void all_is_due_at_once_when_it_is_to_end(void **state)
{
    const struct export_limits limits = {.in_flight = 4, .jitter_ns = 3600 * SECOND};
    struct world world;

    (void)state;
    begin(&world, &limits);
    (void)add(&world, 1, 1);
    export_queue_hurry(&world.queue);
    assert_non_null(next(&world));
    assert_int_equal(world.now_ns, 1000 * SECOND);
    export_queue_finish(&world.queue);
}

static void what_is_aside_is_due_at_once_when_it_is_to_end_but_pauses_after_that(void **state)
{
    const struct export_limits limits = {.in_flight = 4};
    struct export_entry *bad;
    struct world world;
    uint64_t from_ns;

    (void)state;
    begin(&world, &limits);
    bad = add(&world, 1, 1);
    (void)add(&world, 2, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(say(&world, EXPORTER_RETRY), 1);
    assert_int_equal(say(&world, EXPORTER_OK), 2);
    assert_true(bad->aside && bad->not_before_ns > world.now_ns);
    export_queue_hurry(&world.queue);
    from_ns = world.now_ns;
    assert_int_equal(say(&world, EXPORTER_RETRY), 1);
    assert_int_equal(world.now_ns, from_ns);
    assert_false(has_next_now(&world));
    assert_ptr_equal(next(&world), bad);
    assert_true(world.now_ns > from_ns);
    export_queue_put_back(&world.queue, bad, world.now_ns, SECOND);
    from_ns = world.now_ns;
    assert_ptr_equal(next(&world), bad);
    assert_int_equal(world.now_ns, from_ns + SECOND);
    export_queue_finish(&world.queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_one_interval_go_side_by_side_and_the_next_ones_after_them),
        cmocka_unit_test(no_more_go_out_than_may_be_in_flight),
        cmocka_unit_test(keeps_the_order_through_an_outage),
        cmocka_unit_test(one_batch_at_a_time_is_tried_while_it_fails),
        cmocka_unit_test(pauses_grow_up_to_half_a_minute),
        cmocka_unit_test(one_that_fails_alone_is_put_aside_and_halved),
        cmocka_unit_test(a_profile_that_fails_on_beside_others_is_given_up),
        cmocka_unit_test(where_no_server_was_reached_no_batch_is_to_blame),
        cmocka_unit_test(memory_is_bounded_but_the_newest_interval_is_kept_whole),
        cmocka_unit_test(what_has_just_failed_is_not_lost_to_whoever_looks_at_it),
        cmocka_unit_test(what_is_in_memory_is_given_up_in_the_end_and_what_is_on_disk_not),
        cmocka_unit_test(what_a_server_would_not_take_any_more_is_dropped),
        cmocka_unit_test(a_server_is_given_the_pause_that_it_asks_for),
        cmocka_unit_test(a_secret_that_is_not_accepted_pauses_for_minutes),
        cmocka_unit_test(agents_that_start_together_do_not_send_together),
        cmocka_unit_test(a_backlog_is_sent_a_few_times_as_fast_as_it_came),
        cmocka_unit_test(a_batch_waits_for_its_file_but_not_for_ever),
        cmocka_unit_test(all_is_due_at_once_when_it_is_to_end),
        cmocka_unit_test(what_is_aside_is_due_at_once_when_it_is_to_end_but_pauses_after_that),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_ticks.c - each target is sampled at its rate, spread out, whatever the clock does. */
#include <stdlib.h>

#include "agent/host/clock.h"
#include "agent/sampling/ticks.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

enum { MANY = 1000 };

#define START  (77 * NS_PER_S)
#define PERIOD (10 * NS_PER_MS)

/* Lives through `span_ns` as the engine does; gives the number of wake-ups. */
static uint64_t live(struct ticks *ticks, uint64_t *now, uint64_t span_ns, uint64_t *count)
{
    uint64_t end = *now + span_ns, wakes = 0;
    struct tick *tick;

    for (; *now < end; wakes++) {
        while ((tick = ticks_due(ticks, *now))) {
            (void)ticks_done(ticks, tick, 1, *now);
            count[(uint64_t *)tick->of - count]++;
        }
        assert_true(ticks_wake_ns(ticks, *now) > *now);
        *now = ticks_wake_ns(ticks, *now);
    }
    return wakes;
}

static void begin(struct ticks *ticks, struct tick *tick, uint64_t *count, size_t targets)
{
    ticks_init(ticks, 42);
    for (size_t i = 0; i < targets; i++) {
        count[i] = 0;
        assert_true(ticks_add(ticks, &tick[i], &count[i], PERIOD, START));
    }
}

/* Removes a tick and adds it again with another period. */
static void add_again(struct ticks *ticks, struct tick *tick, uint64_t period_ns, uint64_t now)
{
    uint64_t *count = tick->of;

    ticks_remove(ticks, tick);
    assert_true(ticks_add(ticks, tick, count, period_ns, now));
}

static void keeps_the_rate_on_average(void **state)
{
    uint64_t count[1], now = START;
    struct ticks ticks;
    struct tick tick[1];

    (void)state;
    begin(&ticks, tick, count, 1);
    (void)live(&ticks, &now, 100 * NS_PER_S, count);

    assert_in_range(count[0], 9800, 10200);
    assert_int_equal(tick[0].missed, 0);
    ticks_finish(&ticks);
}

static void misses_nothing_before_the_first_tick_is_done(void **state)
{
    struct ticks ticks;
    struct tick tick;

    (void)state;
    ticks_init(&ticks, 1);
    assert_true(ticks_add(&ticks, &tick, NULL, PERIOD, START));
    assert_int_equal(ticks_done(&ticks, &tick, 1, START + 9 * PERIOD), 0);
    assert_in_range(tick.next_ns, START + 9 * PERIOD, START + 10 * PERIOD + 1);
    assert_true(ticks_done(&ticks, &tick, 1, START + 20 * PERIOD) > 0);
    assert_true(tick.missed > 0);
    ticks_finish(&ticks);
}

static void tells_when_a_tick_is_due_after_the_next_one(void **state)
{
    struct ticks ticks;
    struct tick tick;

    (void)state;
    ticks_init(&ticks, 1);
    assert_true(ticks_add(&ticks, &tick, NULL, PERIOD, START));
    for (int i = 0; i < 1000; i++) {
        const uint64_t then = tick.next_ns, after = ticks_after_ns(&tick);

        assert_in_range(after, then, then + 2 * PERIOD);
        assert_int_equal(ticks_done(&ticks, &tick, 1, then), 0);
        assert_int_equal(tick.next_ns, after);
    }
    ticks_finish(&ticks);
}

struct steps {
    uint64_t shortest, longest, sum;
};

enum { STEPS = 10000 };

/* How far it is to the next sample, again and again, where each stands for `each` ticks. */
static struct steps take_steps(uint64_t each)
{
    struct steps steps = {.shortest = UINT64_MAX};
    struct ticks ticks;
    struct tick tick;

    ticks_init(&ticks, 1);
    assert_true(ticks_add(&ticks, &tick, NULL, PERIOD, START));
    (void)ticks_done(&ticks, &tick, 1, START);
    for (int i = 0; i < STEPS; i++) {
        uint64_t then = tick.next_ns, step;

        assert_int_equal(ticks_done(&ticks, &tick, each, then), 0);
        step = tick.next_ns - then;
        steps.shortest = step < steps.shortest ? step : steps.shortest;
        steps.longest = step > steps.longest ? step : steps.longest;
        steps.sum += step;
    }
    ticks_finish(&ticks);
    return steps;
}

static void steps_by_half_to_one_and_a_half_periods(void **state)
{
    struct steps steps = take_steps(1);

    (void)state;
    assert_in_range(steps.shortest, PERIOD / 2, PERIOD * 6 / 10);
    assert_in_range(steps.longest, PERIOD * 14 / 10, PERIOD * 3 / 2);
}

static void steps_over_the_ticks_that_need_no_sample(void **state)
{
    struct steps steps = take_steps(8);

    (void)state;
    assert_true(steps.shortest >= 4 * PERIOD);
    assert_true(steps.longest <= 12 * PERIOD + 1);
    assert_in_range(steps.sum / STEPS, PERIOD * 79 / 10, PERIOD * 81 / 10);
}

static void spreads_many_over_the_period_after_their_first_tick(void **state)
{
    static uint64_t count[MANY];
    static struct tick tick[MANY];
    unsigned in[10] = {0};
    struct ticks ticks;

    (void)state;
    begin(&ticks, tick, count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_ptr_equal(ticks_due(&ticks, START), ticks_first(&ticks));
        (void)ticks_done(&ticks, ticks_first(&ticks), 1, START);
    }

    assert_null(ticks_due(&ticks, START));
    for (size_t i = 0; i < MANY; i++)
        in[(tick[i].next_ns - START) * 10 / PERIOD]++;
    for (size_t i = 0; i < 10; i++)
        assert_in_range(in[i], 60, 140);
    ticks_finish(&ticks);
}

static void wakes_up_once_for_many(void **state)
{
    static uint64_t count[MANY];
    static struct tick tick[MANY];
    uint64_t now = START, wakes;
    struct ticks ticks;

    (void)state;
    begin(&ticks, tick, count, MANY);
    wakes = live(&ticks, &now, 10 * NS_PER_S, count);

    assert_in_range(wakes, 3000, 15000); /* of 1,000,000 ticks */
    for (size_t i = 0; i < MANY; i++) {
        assert_in_range(count[i], 900, 1100);
        assert_int_equal(tick[i].missed, 0);
    }
    ticks_finish(&ticks);
}

/* Of targets that need a sample at each eighth tick of 50 ms. */
static void wakes_up_ten_times_a_second_for_those_that_rest(void **state)
{
    enum { RESTING = 100, EACH = 8 };
    static uint64_t count[RESTING];
    static struct tick tick[RESTING];
    const uint64_t period = 50 * NS_PER_MS;
    uint64_t now = START, wakes = 0;
    struct ticks ticks;
    struct tick *due;

    (void)state;
    ticks_init(&ticks, 42);
    for (size_t i = 0; i < RESTING; i++) {
        count[i] = 0;
        assert_true(ticks_add(&ticks, &tick[i], &count[i], period, START));
    }
    for (; now < START + 100 * NS_PER_S; wakes++) {
        while ((due = ticks_due(&ticks, now))) {
            assert_int_equal(ticks_done(&ticks, due, EACH, now), 0);
            ++*(uint64_t *)due->of;
        }
        now = ticks_wake_ns(&ticks, now);
    }

    assert_in_range(wakes, 900, 1010);
    for (size_t i = 0; i < RESTING; i++) /* of 250 each: none is looked at less often */
        assert_in_range(count[i], 230, 270);
    ticks_finish(&ticks);
}

/* One of two that rest is seen running again and again: it comes in time, and goes on at once. */
static void misses_nothing_once_one_that_rested_wakes_up(void **state)
{
    struct tick tick[2], *due;
    struct ticks ticks;
    uint64_t now = START, each = 1;

    (void)state;
    ticks_init(&ticks, 42);
    assert_true(ticks_add(&ticks, &tick[0], NULL, PERIOD, START));
    assert_true(ticks_add(&ticks, &tick[1], NULL, PERIOD, START));
    for (int i = 0; i < STEPS; i++) {
        due = ticks_first(&ticks);
        now = due->next_ns;
        each = each == 1 ? 40 : 1;
        assert_int_equal(ticks_done(&ticks, due, each, now), 0);
        if (each == 1)
            assert_in_range(due->next_ns, now, now + 2 * PERIOD);
    }
    ticks_finish(&ticks);
}

static void counts_what_it_missed_and_catches_up_nothing(void **state)
{
    struct ticks ticks;
    struct tick tick;
    uint64_t missed;

    (void)state;
    ticks_init(&ticks, 1);
    assert_true(ticks_add(&ticks, &tick, NULL, PERIOD, START));
    (void)ticks_done(&ticks, &tick, 1, START);
    missed = ticks_done(&ticks, &tick, 1, START + 100 * PERIOD);

    assert_in_range(missed, 97, 100);
    assert_int_equal(tick.missed, missed);
    assert_true(tick.next_ns > START + 100 * PERIOD);
    assert_true(tick.next_ns <= START + 102 * PERIOD);
    ticks_finish(&ticks);
}

static void samples_more_often_in_a_burst_and_then_as_before(void **state)
{
    uint64_t count[2], now = START, before;
    struct ticks ticks;
    struct tick tick[2];

    (void)state;
    begin(&ticks, tick, count, 2);
    add_again(&ticks, &tick[0], NS_PER_S, now);
    (void)live(&ticks, &now, NS_PER_MS, count);
    ticks_burst(&ticks, &tick[0], NS_PER_MS, now + 2 * NS_PER_S, now);
    (void)live(&ticks, &now, 2 * NS_PER_S, count);

    assert_in_range(count[0], 1800, 2200);
    assert_in_range(count[1], 180, 220);
    before = count[0];
    (void)live(&ticks, &now, 10 * NS_PER_S, count);
    assert_in_range(count[0] - before, 5, 20);
    assert_int_equal(tick[0].burst_until_ns, 0);
    ticks_finish(&ticks);
}

static void takes_no_burst_that_is_slower_or_over(void **state)
{
    struct ticks ticks;
    struct tick tick;

    (void)state;
    ticks_init(&ticks, 1);
    assert_true(ticks_add(&ticks, &tick, NULL, PERIOD, START));
    ticks_burst(&ticks, &tick, PERIOD * 2, START + NS_PER_S, START);
    assert_int_equal(tick.burst_until_ns, 0);
    ticks_burst(&ticks, &tick, PERIOD / 2, START, START);
    assert_int_equal(tick.burst_until_ns, 0);
    ticks_finish(&ticks);
}

static void slows_one_target_and_no_other(void **state)
{
    uint64_t count[2], now = START;
    struct ticks ticks;
    struct tick tick[2];

    (void)state;
    begin(&ticks, tick, count, 2);
    ticks_slow(&ticks, &tick[1], 5 * PERIOD);
    (void)live(&ticks, &now, 50 * NS_PER_S, count);

    assert_in_range(count[0], 4800, 5200);
    assert_in_range(count[1], 900, 1100);
    ticks_slow(&ticks, &tick[1], 0);
    assert_int_equal(ticks_period(&tick[1]), PERIOD);
    ticks_finish(&ticks);
}

static void slows_to_a_sample_a_second_at_most(void **state)
{
    static const struct {
        uint64_t asked_ns, slowed_ns, period_ns;
    } cases[] = {{NS_PER_S / 500, 60 * NS_PER_S, NS_PER_S},
                 {NS_PER_S / 20, NS_PER_S / 10, NS_PER_S / 10},
                 {NS_PER_S / 20, NS_PER_S / 100, NS_PER_S / 20},
                 {NS_PER_S * 10, 60 * NS_PER_S, NS_PER_S * 10}};
    uint64_t count[1];
    struct ticks ticks;
    struct tick tick[1];

    (void)state;
    begin(&ticks, tick, count, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        add_again(&ticks, &tick[0], cases[i].asked_ns, START);
        ticks_slow(&ticks, &tick[0], cases[i].slowed_ns);
        assert_int_equal(ticks_period(&tick[0]), cases[i].period_ns);
    }
    ticks_finish(&ticks);
}

/* Whatever comes and goes, the first is the one that is due first. */
static void keeps_its_order(void **state)
{
    static struct tick tick[MANY];
    uint64_t now = START, last;
    struct ticks ticks;

    (void)state;
    ticks_init(&ticks, 7);
    srandom(1);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < MANY; i++, now += 12345)
            if (tick[i].number == 0)
                assert_true(ticks_add(&ticks, &tick[i], NULL, PERIOD, now));
            else if (random() % 3 == 0)
                ticks_remove(&ticks, &tick[i]);
            else
                (void)ticks_done(&ticks, &tick[i], 1, now);
        ticks_remove(&ticks, &tick[round]);
        ticks_remove(&ticks, &tick[round]); /* which is out already */
    }
    for (last = 0; ticks.count > 0; ticks_remove(&ticks, ticks_first(&ticks))) {
        assert_true(ticks_first(&ticks)->next_ns >= last);
        last = ticks_first(&ticks)->next_ns;
    }
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(tick[i].number, 0);
    ticks_finish(&ticks);
}

static void waits_for_ever_without_targets(void **state)
{
    struct ticks ticks;

    (void)state;
    ticks_init(&ticks, 0);
    assert_null(ticks_first(&ticks));
    assert_null(ticks_due(&ticks, UINT64_MAX));
    assert_true(ticks_wake_ns(&ticks, START) == UINT64_MAX);
    ticks_finish(&ticks);
}

static void says_that_there_is_no_memory(void **state)
{
    struct tick tick = {.number = 0};
    struct ticks ticks;

    (void)state;
    ticks_init(&ticks, 1);
    alloc_fail_all();
    assert_false(ticks_add(&ticks, &tick, NULL, PERIOD, START));
    (void)alloc_fail_stop();
    assert_int_equal(tick.number, 0);
    ticks_finish(&ticks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_rate_on_average),
        cmocka_unit_test(misses_nothing_before_the_first_tick_is_done),
        cmocka_unit_test(tells_when_a_tick_is_due_after_the_next_one),
        cmocka_unit_test(steps_by_half_to_one_and_a_half_periods),
        cmocka_unit_test(steps_over_the_ticks_that_need_no_sample),
        cmocka_unit_test(spreads_many_over_the_period_after_their_first_tick),
        cmocka_unit_test(wakes_up_once_for_many),
        cmocka_unit_test(wakes_up_ten_times_a_second_for_those_that_rest),
        cmocka_unit_test(misses_nothing_once_one_that_rested_wakes_up),
        cmocka_unit_test(counts_what_it_missed_and_catches_up_nothing),
        cmocka_unit_test(samples_more_often_in_a_burst_and_then_as_before),
        cmocka_unit_test(takes_no_burst_that_is_slower_or_over),
        cmocka_unit_test(slows_one_target_and_no_other),
        cmocka_unit_test(slows_to_a_sample_a_second_at_most),
        cmocka_unit_test(keeps_its_order),
        cmocka_unit_test(waits_for_ever_without_targets),
        cmocka_unit_test(says_that_there_is_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

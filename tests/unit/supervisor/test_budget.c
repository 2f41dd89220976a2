/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_budget.c - what is used stays within the limits, and who is slowed or left out for it.
 *
 * A made-up host lives through made-up seconds: each target costs what its samples cost at the rate
 * that its share allows, and something else always costs the same.
 */
#include "agent/supervisor/budget.h"

#include <math.h>

#include "tests/unit/unit_test.h"

enum { TARGETS_MAX = 1000 };

#define MIB (UINT64_C(1) << 20)
#define US  1e3
#define MS  1e6

struct host {
    struct budget budget;
    struct budget_use use;
    struct fair_share_target targets[TARGETS_MAX];
    size_t count;
    double other_ns; /* a second, whatever is sampled */
    double charged;  /* what targets are charged for 1 ns of CPU time; 1 on a quiet host */
    uint64_t now_ns;
    size_t most_slowed;
    bool bursts;
};

/* All targets cost the same and are asked for at 19 Hz. */
static void begin(struct host *host, double cpu, size_t count, double tick_ns)
{
    const struct budget_limits limits = {cpu, 64 * MIB};

    *host = (struct host){.now_ns = 5 * BUDGET_STEP_NS, .count = count, .charged = 1};
    for (size_t i = 0; i < count; i++)
        host->targets[i] =
            (struct fair_share_target){.tick_ns = tick_ns, .wanted_hz = 19, .share_ns = INFINITY};
    budget_init(&host->budget, &limits);
    budget_step(&host->budget, &host->use, host->now_ns);
}

static double rate(const struct host *host, size_t target)
{
    return host->targets[target].left_out
               ? 0
               : fair_share_hz(host->targets[target].share_ns, host->targets[target].tick_ns,
                               host->targets[target].wanted_hz);
}

/* Lets seconds pass; gives the share of a core that was used in them, without opening. */
static double live(struct host *host, unsigned seconds)
{
    double used = 0, samples;

    for (unsigned s = 0; s < seconds; s++) {
        samples = 0;
        for (size_t i = 0; i < host->count; i++)
            samples += rate(host, i) * host->targets[i].tick_ns;
        used += host->other_ns + samples / host->charged;
        host->use.cpu_ns += (uint64_t)(host->other_ns + samples / host->charged);
        host->use.sampling_ns += (uint64_t)samples;
        host->now_ns += BUDGET_STEP_NS;
        budget_step(&host->budget, &host->use, host->now_ns);
        (void)budget_divide(&host->budget, host->targets, host->count, host->bursts);
        if (host->budget.state.slowed > host->most_slowed)
            host->most_slowed = host->budget.state.slowed;
    }
    return used / ((double)NS_PER_S * seconds);
}

static void open_processes(struct host *host, uint64_t cpu_ns)
{
    host->use.cpu_ns += cpu_ns;
    host->use.opening_ns += cpu_ns;
}

#define assert_between(value, least, most)                                     \
    do {                                                                       \
        double between_ = (value);                                             \
        if (between_ < (least) || between_ > (most))                           \
            fail_msg("%s is %f, not %f to %f", #value, between_, least, most); \
    } while (0)

static void slows_nobody_within_the_limit(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 100, 3.5 * US);
    assert_between(live(&host, 600), 0.0066, 0.0067);

    assert_int_equal(host.most_slowed, 0);
    assert_true(isinf(host.budget.state.share_ns));
    assert_between(host.budget.state.used_cpu, 0.0066, 0.0067);
}

static void keeps_to_the_limit_from_the_second_minute_on(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 100, 25 * US); /* five times too much */
    host.other_ns = 1 * MS;
    assert_between(live(&host, 60), 0.012, 0.0145);
    for (int i = 0; i < 10; i++)
        assert_between(live(&host, 60), 0.0095, 0.0101);
    assert_int_equal(host.budget.state.slowed, 100);
    assert_int_equal(host.budget.state.left_out, 0);
    assert_between(host.budget.state.slowest_hz, 3, 4); /* 9 ms for 100 targets of 25 us */
    assert_between(host.budget.state.wanted_cpu, 0.0475, 0.0495);
}

static void an_expensive_target_slows_nobody_else(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 50, 5 * US);
    host.targets[13].tick_ns = 2 * MS; /* 38 ms a second */
    (void)live(&host, 60);
    assert_between(live(&host, 300), 0.009, 0.0101);

    assert_int_equal(host.most_slowed, 1);
    assert_true(rate(&host, 12) == 19);
    assert_between(rate(&host, 13), 1, 3);
}

/* What nobody could foresee is the first second. */
static void spends_no_minute_at_once(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 50, 5 * US);
    host.targets[13].tick_ns = 5 * MS;
    (void)live(&host, 1);
    assert_between(live(&host, 5), 0.014, 0.0151);

    assert_int_equal(host.most_slowed, 1);
}

static void requests_leave_less_to_be_spent_at_once(void **state)
{
    static struct host host;
    double used = 0;

    (void)state;
    begin(&host, 0.01, 50, 5 * US);
    host.targets[13].tick_ns = 5 * MS;
    (void)live(&host, 1);
    for (int i = 0; i < 20; i++) {
        host.use.asked_cpu_ns += 8 * NS_PER_MS;
        host.use.cpu_ns += 8 * NS_PER_MS;
        used = live(&host, 1);
    }

    assert_between(used, 0.0119, 0.0125);
    assert_int_equal(host.most_slowed, 1);
}

static void a_burst_may_have_what_the_minute_has_left(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 2, 50 * US);
    host.targets[0].wanted_hz = 1000;
    host.bursts = true;
    (void)live(&host, 10);
    assert_int_equal(host.most_slowed, 0);
    (void)live(&host, 10);

    assert_int_equal(host.budget.state.slowed, 1);
    assert_between(live(&host, 10), 0.009, 0.0101);
}

static void slows_only_as_long_as_it_must(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 50, 5 * US);
    host.targets[13].tick_ns = 2 * MS;
    (void)live(&host, 300);
    host.targets[13].tick_ns = 5 * US;
    (void)live(&host, 2);

    assert_int_equal(host.budget.state.slowed, 0);
    assert_true(isinf(host.budget.state.share_ns));
}

static void leaves_out_what_breaks_the_limit_at_a_sample_a_second(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 20, 5 * US);
    host.targets[0].tick_ns = 30 * MS;
    (void)live(&host, 60);

    assert_true(host.targets[0].left_out);
    assert_int_equal(host.budget.state.left_out, 1);
    (void)live(&host, 60);
    assert_int_equal(host.budget.state.slowed, 0);
    assert_int_equal(host.budget.state.left_out, 1);
}

static void leaves_out_what_others_are_slowed_for(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 4, 100 * US); /* 1.9 ms a second each */
    host.targets[3].tick_ns = 8 * MS;
    host.targets[3].owner = 1;
    (void)live(&host, 120);

    assert_true(host.targets[3].left_out);
    assert_int_equal(host.budget.state.left_out, 1);
    assert_int_equal(host.budget.state.slowed, 0);
    assert_true(rate(&host, 1) == 19);
}

static void keeps_what_is_expensive_beside_cheap_ones(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 4, 20 * US);
    host.targets[2].tick_ns = 5 * MS;
    (void)live(&host, 300);

    assert_int_equal(host.budget.state.left_out, 0);
    assert_int_equal(host.budget.state.slowed, 1);
}

static void an_innocent_is_not_slowed_for_many_of_another(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 200, 50 * US); /* 19 % of a core, and 1 % at one sample a second */
    for (size_t i = 1; i < 200; i++)
        host.targets[i].owner = 1;
    host.other_ns = 6 * MS;
    (void)live(&host, 60);

    for (int i = 0; i < 600; i++) {
        (void)live(&host, 1);
        assert_true(rate(&host, 0) == 19);
    }
    assert_between(host.budget.state.used_cpu, 0.0085, 0.0101);
    assert_in_range(host.budget.state.left_out, 130, 160); /* a quarter of the limit is theirs */
}

static void waits_before_it_leaves_out(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 1, 30 * MS);
    (void)live(&host, 5); /* spent */
    assert_true(rate(&host, 0) == 1);
    host.targets[0].tick_ns = 5 * MS; /* it was busy for a moment */
    (void)live(&host, 120);

    assert_int_equal(host.budget.state.left_out, 0);
}

static void keeps_all_while_the_agent_itself_takes_too_much(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 3, 100 * US);
    host.other_ns = 20 * MS;
    (void)live(&host, 3600);

    assert_int_equal(host.budget.state.left_out, 0);
    assert_between(3 * rate(&host, 0) * 100 * US, 2.4 * MS, 2.6 * MS); /* a quarter of it */
}

static void a_start_slows_nobody(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 100, 2 * US);
    for (int i = 0; i < 4; i++) {
        open_processes(&host, 150 * NS_PER_MS);
        (void)live(&host, 1);
    }
    (void)live(&host, 60);

    assert_int_equal(host.most_slowed, 0);
    assert_between(host.budget.state.used_cpu, 0.0037, 0.0039);
}

/* Two programs that take a third of the limit, beside an agent that takes 25 ms to start. */
static void the_agents_own_start_slows_nobody(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 2, 80 * US);
    host.use.cpu_ns += 25 * NS_PER_S / 1000;
    (void)live(&host, 60);

    assert_int_equal(host.most_slowed, 0);
    assert_between(host.budget.state.wanted_cpu, 0.003, 0.004);
}

static void spreads_opening_over_time(void **state)
{
    static struct host host;
    unsigned opened = 0;

    (void)state;
    begin(&host, 0.01, 10, 20 * US);
    for (int s = 0; s < 600; s++) {
        while (budget_may_open(&host.budget, host.use.opening_ns, 0)) {
            open_processes(&host, 4 * NS_PER_MS);
            opened++;
        }
        (void)live(&host, 1);
    }
    /* 0.6 s at once, and then what samples leave: 0.6 % of a core. */
    assert_in_range(opened, 150 + 850, 150 + 1000);
    assert_int_equal(host.most_slowed, 0);
}

static void opens_no_more_at_once_than_there_is_time_for(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 0, 0);
    assert_true(budget_may_open(&host.budget, 0, 100));
    assert_false(budget_may_open(&host.budget, 0, 200));
    assert_false(budget_may_open(&host.budget, NS_PER_S, 0));
}

static void one_expensive_open_is_paid_for(void **state)
{
    static struct host host;
    unsigned waited = 0;

    (void)state;
    begin(&host, 0.01, 0, 0);
    open_processes(&host, 10 * NS_PER_S);
    (void)live(&host, 1);
    for (; !budget_may_open(&host.budget, host.use.opening_ns, 0); waited++)
        (void)live(&host, 1);

    assert_in_range(waited, 25, 40); /* not for ever: half a minute of the limit */
}

static void requests_of_users_slow_nobody(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 100, 2 * US);
    for (int i = 0; i < 60; i++) {
        host.use.asked_cpu_ns += NS_PER_S / 2;
        host.use.cpu_ns += NS_PER_S / 2;
        (void)live(&host, 1);
    }

    assert_int_equal(host.most_slowed, 0);
}

static void a_busy_host_does_not_make_samples_expensive(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 100, 20 * US); /* 3.8 % of a core, by the clock on the wall */
    host.charged = 8;                 /* it waits for a CPU most of the time */
    (void)live(&host, 300);

    assert_int_equal(host.most_slowed, 0);
}

static void tells_how_much_memory_is_to_be_freed(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 10, 1 * US);
    host.use.memory_bytes = 80 * MIB;
    (void)live(&host, 5);
    assert_int_equal(host.budget.excess_memory_bytes, 0);
    (void)live(&host, 6);
    assert_int_equal(host.budget.excess_memory_bytes, 16 * MIB);
    (void)live(&host, 1);
    assert_int_equal(host.budget.excess_memory_bytes, 0); /* until that shows */
    host.use.asked_memory_bytes = 20 * MIB;
    (void)live(&host, 30);
    assert_int_equal(host.budget.excess_memory_bytes, 0);
    assert_int_equal(host.budget.memory_ns, 0);
}

static void limits_nothing_without_limits(void **state)
{
    const struct budget_limits none = {0, 0};
    static struct host host;

    (void)state;
    begin(&host, 0.01, 100, 1 * MS);
    (void)live(&host, 120);
    assert_true(host.budget.state.slowed > 0);
    budget_set_limits(&host.budget, &none);
    host.use.memory_bytes = 1000 * MIB;
    (void)live(&host, 30);

    assert_int_equal(host.budget.state.slowed, 0);
    assert_int_equal(host.budget.excess_memory_bytes, 0);
    assert_true(budget_may_open(&host.budget, UINT64_MAX, 1000));
}

static void ignores_a_clock_that_stands_still(void **state)
{
    static struct host host;

    (void)state;
    begin(&host, 0.01, 1, 1 * US);
    (void)live(&host, 2);
    budget_step(&host.budget, &host.use, host.now_ns);
    budget_step(&host.budget, &host.use, host.now_ns - 1);
    assert_between(host.budget.state.used_cpu, 0.00001, 0.00002);
}

static void knows_the_memory_of_a_process(void **state)
{
    (void)state;
    assert_true(budget_memory_of(0) > 0);
    assert_int_equal(budget_memory_of(2000000000), 0);
}

/* One step of which the state is this. */
static enum budget_news news(struct budget *budget, size_t slowed, double slowest_hz)
{
    budget->marks[budget->newest].now_ns += 10 * NS_PER_S;
    budget->state.slowed = slowed;
    budget->state.slowest_hz = slowest_hz;
    return budget_news(budget);
}

static void tells_once_of_rates_that_go_up_and_down(void **state)
{
    struct budget budget = {.newest = 3};

    (void)state;
    assert_int_equal(news(&budget, 0, 0), BUDGET_NEWS_NONE);
    assert_int_equal(news(&budget, 2, 9), BUDGET_NEWS_SLOWED);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(news(&budget, 0, 0), BUDGET_NEWS_NONE);
        assert_int_equal(news(&budget, 1, 5), BUDGET_NEWS_NONE);
    }
    assert_int_equal(news(&budget, 1, 4), BUDGET_NEWS_SLOWED); /* the line before says 9 Hz */
    assert_int_equal(news(&budget, 3, 4), BUDGET_NEWS_NONE);
}

static void tells_that_none_is_slowed_after_a_minute(void **state)
{
    struct budget budget = {.newest = 0};

    (void)state;
    assert_int_equal(news(&budget, 2, 9), BUDGET_NEWS_SLOWED);
    for (int i = 0; i < 6; i++)
        assert_int_equal(news(&budget, 0, 0), BUDGET_NEWS_NONE);
    assert_int_equal(news(&budget, 0, 0), BUDGET_NEWS_FULL);
    assert_int_equal(news(&budget, 0, 0), BUDGET_NEWS_NONE);
    assert_int_equal(news(&budget, 1, 9), BUDGET_NEWS_SLOWED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_once_of_rates_that_go_up_and_down),
        cmocka_unit_test(tells_that_none_is_slowed_after_a_minute),
        cmocka_unit_test(slows_nobody_within_the_limit),
        cmocka_unit_test(keeps_to_the_limit_from_the_second_minute_on),
        cmocka_unit_test(an_expensive_target_slows_nobody_else),
        cmocka_unit_test(spends_no_minute_at_once),
        cmocka_unit_test(requests_leave_less_to_be_spent_at_once),
        cmocka_unit_test(a_burst_may_have_what_the_minute_has_left),
        cmocka_unit_test(slows_only_as_long_as_it_must),
        cmocka_unit_test(leaves_out_what_breaks_the_limit_at_a_sample_a_second),
        cmocka_unit_test(leaves_out_what_others_are_slowed_for),
        cmocka_unit_test(keeps_what_is_expensive_beside_cheap_ones),
        cmocka_unit_test(an_innocent_is_not_slowed_for_many_of_another),
        cmocka_unit_test(waits_before_it_leaves_out),
        cmocka_unit_test(keeps_all_while_the_agent_itself_takes_too_much),
        cmocka_unit_test(a_start_slows_nobody),
        cmocka_unit_test(the_agents_own_start_slows_nobody),
        cmocka_unit_test(spreads_opening_over_time),
        cmocka_unit_test(opens_no_more_at_once_than_there_is_time_for),
        cmocka_unit_test(one_expensive_open_is_paid_for),
        cmocka_unit_test(requests_of_users_slow_nobody),
        cmocka_unit_test(a_busy_host_does_not_make_samples_expensive),
        cmocka_unit_test(tells_how_much_memory_is_to_be_freed),
        cmocka_unit_test(limits_nothing_without_limits),
        cmocka_unit_test(ignores_a_clock_that_stands_still),
        cmocka_unit_test(knows_the_memory_of_a_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

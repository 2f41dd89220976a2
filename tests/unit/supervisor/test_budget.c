/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_budget.c - what is used comes down to what was promised, and up again.
 *
 * A made-up host lives through made-up seconds: its samples cost what its targets and the factor
 * say, and something always costs the same.
 */
#include "agent/supervisor/budget.h"
#include "tests/unit/unit_test.h"

enum { FACTOR_MAX = 16 };

#define MIB (UINT64_C(1) << 20)

struct host {
    struct budget budget;
    struct budget_use use;
    uint64_t now_ns;
    size_t wanted;           /* targets that there are */
    double share_each;       /* of a core, of a target that is sampled as asked */
    double share_always;     /* of a core, whatever is sampled */
    uint64_t memory_each;    /* of a target */
    uint64_t memory_samples; /* of the samples of all, if taken as often as asked */
    size_t least_targets;    /* that there ever were */
    double largest_factor;
};

static void begin(struct host *host, double cpu, uint64_t memory_bytes, size_t wanted)
{
    const struct budget_limits limits = {cpu, memory_bytes};

    *host = (struct host){.now_ns = 5 * BUDGET_STEP_NS, .wanted = wanted, .least_targets = wanted};
    host->use.targets = wanted;
    host->use.factor_max = FACTOR_MAX;
    budget_init(&host->budget, &limits);
}

/* Lets seconds pass; gives the share of a core that was used in them. */
static double live(struct host *host, unsigned seconds)
{
    uint64_t before = host->use.cpu_ns;
    const struct budget_state *state = &host->budget.state;

    for (unsigned i = 0; i < seconds; i++) {
        host->use.targets = host->wanted < state->targets_max ? host->wanted : state->targets_max;
        host->use.memory_bytes = host->use.targets * host->memory_each +
                                 (uint64_t)((double)host->memory_samples / state->factor) +
                                 host->use.asked_memory_bytes;
        host->use.cpu_ns +=
            (uint64_t)(1e9 * (host->share_always +
                              (double)host->use.targets * host->share_each / state->factor));
        host->now_ns += BUDGET_STEP_NS;
        budget_step(&host->budget, &host->use, host->now_ns);
        if (host->use.targets < host->least_targets)
            host->least_targets = host->use.targets;
        if (state->factor > host->largest_factor)
            host->largest_factor = state->factor;
    }
    return (double)(host->use.cpu_ns - before) / (1e9 * seconds);
}

#define assert_between(value, least, most)                                     \
    do {                                                                       \
        double between_ = (value);                                             \
        if (between_ < (least) || between_ > (most))                           \
            fail_msg("%s is %f, not %f to %f", #value, between_, least, most); \
    } while (0)

static void changes_nothing_within_its_means(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 100);
    host.share_each = 0.00007;
    host.memory_each = MIB / 2;
    (void)live(&host, 600);

    assert_true(host.largest_factor == 1);
    assert_true(host.budget.state.targets_max == SIZE_MAX);
    assert_int_equal(host.budget.state.over, 0);
    assert_between(host.budget.state.used_cpu, 0.0069, 0.0071);
}

static void stretches_the_periods_until_it_holds(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 100);
    host.share_each = 0.0005; /* five times too much */
    (void)live(&host, 240);

    assert_between(live(&host, 600), 0.0070, 0.0105);
    assert_between(host.budget.state.factor, 4.0, 7.5);
    assert_int_equal(host.least_targets, 100);
}

static void holds_over_a_minute_from_the_start(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 100);
    host.share_each = 0.0005;
    assert_between(live(&host, 60), 0.005, 0.0135); /* what it may begin with, too */
    assert_between(live(&host, 600), 0.005, 0.0105);
}

static void sheds_nothing_for_what_the_beginning_took(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 6);
    host.share_each = 0.005; /* stretched, it is within its means */
    (void)live(&host, 1);
    host.use.cpu_ns += 300000000; /* to open them all */
    (void)live(&host, 60);

    assert_true(host.largest_factor == FACTOR_MAX);
    assert_int_equal(host.least_targets, 6);
}

static void samples_as_rarely_as_it_may_before_it_sheds(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 6);
    host.use.factor_max = 500; /* 500 Hz, down to 1 Hz */
    host.share_each = 0.1;
    (void)live(&host, 1);
    host.use.cpu_ns += 300000000;
    (void)live(&host, 300);

    assert_int_equal(host.least_targets, 6);
    assert_between(live(&host, 300), 0.0070, 0.0105);
    assert_between(host.budget.state.factor, 57, 80);
}

static void forgets_soon_what_the_beginning_took(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 6);
    host.use.factor_max = 500;
    host.share_each = 0.0005;
    (void)live(&host, 1);
    host.use.cpu_ns += 300000000; /* 30 times too much, in one second */
    (void)live(&host, 1);
    (void)live(&host, 120);

    assert_between(host.largest_factor, 10, 60);
    assert_true(host.budget.state.factor == 1);
}

static void holds_in_any_minute_after_a_rest(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 100);
    (void)live(&host, 3600);
    host.share_each = 0.0005;
    assert_between(live(&host, 60), 0.008, 0.0135);
    assert_between(live(&host, 60), 0.005, 0.0110);
}

static void sheds_when_nothing_is_left_to_stretch(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 1000);
    host.share_each = 0.0005; /* fifty times too much */
    (void)live(&host, 600);

    assert_between(live(&host, 600), 0.0050, 0.0110);
    assert_true(host.budget.state.targets_max < 1000);
    assert_true(host.budget.state.targets_max > 50);
}

static void gives_back_what_it_took(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 1000);
    host.share_each = 0.0005;
    (void)live(&host, 600);
    host.share_each = 0.000001; /* they fell asleep */
    (void)live(&host, 1200);

    assert_true(host.budget.state.factor == 1);
    assert_true(host.budget.state.targets_max == SIZE_MAX);
    assert_int_equal(host.use.targets, 1000);
}

static void does_not_starve_what_costs_too_much_by_itself(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 3);
    host.share_always = 0.02;
    (void)live(&host, 3600);

    assert_true(host.budget.state.factor == FACTOR_MAX);
    assert_true(host.budget.state.over > 3000);
}

static void sheds_until_the_memory_holds(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 1000);
    host.memory_each = MIB / 8; /* 125 MiB in all */
    (void)live(&host, 120);

    assert_true(host.use.targets * host.memory_each <= 64 * MIB);
    (void)live(&host, 1200);
    assert_true(host.use.memory_bytes <= 72 * MIB);
    assert_true(host.use.targets > 300);
    assert_true(host.largest_factor == BUDGET_MEMORY_FACTOR_MAX);
    host.memory_each = 1024;
    (void)live(&host, 1200);
    assert_int_equal(host.use.targets, 1000);
    assert_true(host.budget.state.factor == 1);
}

static void saves_memory_by_fewer_samples_before_it_sheds(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 100);
    host.memory_samples = 100 * MIB;
    (void)live(&host, 120);

    assert_true(host.use.memory_bytes <= 64 * MIB);
    assert_int_equal(host.least_targets, 100);
    assert_between(host.largest_factor, 2, BUDGET_MEMORY_FACTOR_MAX);
}

static void samples_as_before_whatever_cpu_time_people_ask_for(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 100);
    host.share_each = 0.00009;
    (void)live(&host, 60);
    for (int i = 0; i < 120; i++) { /* all of a core */
        host.use.asked_cpu_ns += 1000000000;
        host.use.cpu_ns += 1000000000;
        (void)live(&host, 1);
    }

    assert_true(host.budget.state.used_cpu > 0.9); /* it is told */
    assert_true(host.largest_factor == 1);
    assert_int_equal(host.least_targets, 100);
    assert_int_equal(host.budget.state.over, 0);
}

static void samples_as_before_whatever_memory_people_ask_for(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 100);
    host.memory_each = MIB / 2;
    host.use.asked_memory_bytes = 100 * MIB;
    (void)live(&host, 60);

    assert_int_equal(host.budget.state.used_memory_bytes, 150 * MIB);
    assert_true(host.largest_factor == 1);
    assert_int_equal(host.least_targets, 100);
}

static void promises_nothing_without_limits(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0, 0, 1000);
    host.share_each = 0.001;
    host.memory_each = 16 * MIB;

    assert_between(live(&host, 300), 0.99, 1.01);
    assert_true(host.largest_factor == 1);
    assert_true(host.budget.state.targets_max == SIZE_MAX);
    assert_int_equal(host.budget.state.over, 0);
}

static void takes_other_limits(void **state)
{
    const struct budget_limits more = {0.10, 64 * MIB};
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 100);
    host.share_each = 0.0005;
    (void)live(&host, 300);
    assert_true(host.budget.state.factor > 4);
    budget_set_limits(&host.budget, &more);
    (void)live(&host, 300);

    assert_true(host.budget.state.factor == 1);
}

static void minds_no_clock_that_stands_still(void **state)
{
    struct host host;

    (void)state;
    begin(&host, 0.01, 64 * MIB, 1);
    (void)live(&host, 2);
    budget_step(&host.budget, &host.use, host.now_ns);
    budget_step(&host.budget, &host.use, host.now_ns - 1);
    assert_true(host.budget.state.factor == 1);
    assert_between(host.budget.state.used_cpu, 0.0, 0.0);
}

static void knows_the_memory_of_a_process(void **state)
{
    (void)state;
    assert_true(budget_memory_of(0) > 0);
    assert_int_equal(budget_memory_of(2000000000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_nothing_within_its_means),
        cmocka_unit_test(stretches_the_periods_until_it_holds),
        cmocka_unit_test(holds_over_a_minute_from_the_start),
        cmocka_unit_test(sheds_nothing_for_what_the_beginning_took),
        cmocka_unit_test(samples_as_rarely_as_it_may_before_it_sheds),
        cmocka_unit_test(forgets_soon_what_the_beginning_took),
        cmocka_unit_test(holds_in_any_minute_after_a_rest),
        cmocka_unit_test(sheds_when_nothing_is_left_to_stretch),
        cmocka_unit_test(gives_back_what_it_took),
        cmocka_unit_test(does_not_starve_what_costs_too_much_by_itself),
        cmocka_unit_test(sheds_until_the_memory_holds),
        cmocka_unit_test(saves_memory_by_fewer_samples_before_it_sheds),
        cmocka_unit_test(samples_as_before_whatever_cpu_time_people_ask_for),
        cmocka_unit_test(samples_as_before_whatever_memory_people_ask_for),
        cmocka_unit_test(promises_nothing_without_limits),
        cmocka_unit_test(takes_other_limits),
        cmocka_unit_test(minds_no_clock_that_stands_still),
        cmocka_unit_test(knows_the_memory_of_a_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

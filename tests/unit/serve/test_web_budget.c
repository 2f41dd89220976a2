/* SPDX-License-Identifier: Apache-2.0 */
/* test_web_budget.c - how many requests are served, and how much CPU time answers get. */
#include "agent/serve/web_budget.h"

#include "base/time_units.h"
#include "tests/unit/unit_test.h"

static const struct web_client_key near = {0, 1}, far = {0, 2};

/* How many of `count` requests, as fast as they come, are served. */
static unsigned count_served(struct web_rate *rate, struct web_client_key key, unsigned count,
                             uint64_t now_ns)
{
    unsigned served = 0;

    for (unsigned i = 0; i < count; i++)
        served += web_rate_take(rate, key, now_ns);
    return served;
}

static void serves_a_client_in_a_loop_half_of_all(void **state)
{
    struct web_rate rate;
    unsigned served = 0;

    (void)state;
    web_rate_init(&rate, NS_PER_S);
    assert_int_equal(count_served(&rate, near, 1000, NS_PER_S), WEB_REQUESTS_BURST / 2);
    for (unsigned i = 1; i <= 100; i++)
        served += count_served(&rate, near, 1000, NS_PER_S + i * NS_PER_S / 10);

    assert_int_equal(served, 10 * WEB_REQUESTS_PER_S / 2);
}

static void serves_another_client_beside_it(void **state)
{
    struct web_rate rate;

    (void)state;
    web_rate_init(&rate, NS_PER_S);
    for (unsigned i = 0; i < 60; i++) {
        (void)count_served(&rate, near, 1000, (1 + i) * NS_PER_S);
        assert_int_equal(count_served(&rate, far, 1, (1 + i) * NS_PER_S), 1);
    }
}

static void bounds_all_clients_together(void **state)
{
    struct web_rate rate;
    unsigned served = 0;

    (void)state;
    web_rate_init(&rate, NS_PER_S);
    for (uint64_t i = 0; i < 1000; i++) /* each with an address of its own */
        served += count_served(&rate, (struct web_client_key){7, i}, 10, NS_PER_S);

    assert_int_equal(served, WEB_REQUESTS_BURST);
}

/* Who is refused has lost the token of his address: else clients in a loop took each of all. */
static void serves_another_client_beside_many_in_loops(void **state)
{
    const uint64_t asks_ns = 997 * NS_PER_MS;
    unsigned served = 0, asked = 0;
    struct web_rate rate;

    (void)state;
    web_rate_init(&rate, NS_PER_S);
    for (uint64_t at_ns = NS_PER_S; at_ns < 300 * NS_PER_S; at_ns += NS_PER_MS) {
        for (uint64_t i = 0; i < 3; i++)
            (void)count_served(&rate, (struct web_client_key){7, i}, 1, at_ns);
        if (at_ns % asks_ns == 0) {
            served += count_served(&rate, far, 1, at_ns);
            asked++;
        }
    }

    assert_in_range(served, asked / 4, asked);
}

static void gives_a_share_of_a_core_over_a_minute(void **state)
{
    uint64_t used_ns = 0, now_ns = NS_PER_S;
    struct web_cpu cpu;
    unsigned begun = 0;

    (void)state;
    web_cpu_init(&cpu, 0.01, now_ns, used_ns);
    for (unsigned i = 0; i < 600; i++, now_ns += NS_PER_S)
        for (unsigned k = 0; k < 10; k++)
            if (web_cpu_wait_s(&cpu, now_ns, used_ns) == 0) {
                used_ns += 5 * NS_PER_MS;
                begun++;
            }

    assert_in_range(begun, (600 + 60) * 2 - 4, (600 + 60) * 2 + 4);
    web_cpu_finish(&cpu);
}

static void tells_how_long_an_expensive_answer_is_made_up_for(void **state)
{
    struct web_cpu cpu;
    unsigned wait_s;

    (void)state;
    web_cpu_init(&cpu, 0.1, NS_PER_S, 0);
    assert_int_equal(web_cpu_wait_s(&cpu, NS_PER_S, 0), 0);
    wait_s = web_cpu_wait_s(&cpu, NS_PER_S, 8 * NS_PER_S); /* 6 were saved */
    assert_in_range(wait_s, 20, 22);
    assert_int_equal(web_cpu_wait_s(&cpu, (1 + wait_s) * NS_PER_S, 8 * NS_PER_S), 0);
    wait_s = web_cpu_wait_s(&cpu, (1 + wait_s) * NS_PER_S, 8000 * NS_PER_S);
    assert_in_range(wait_s, WEB_CPU_OWED_S, WEB_CPU_OWED_S + 2);
    web_cpu_finish(&cpu);
}

static void takes_another_share_at_once(void **state)
{
    struct web_cpu cpu;

    (void)state;
    web_cpu_init(&cpu, 0.001, NS_PER_S, 0);
    assert_true(web_cpu_wait_s(&cpu, NS_PER_S, NS_PER_S) > 0);
    web_cpu_set_share(&cpu, 1);
    assert_int_equal(web_cpu_wait_s(&cpu, NS_PER_S, NS_PER_S), 0);
    web_cpu_set_share(&cpu, 0); /* no limit */
    assert_int_equal(web_cpu_wait_s(&cpu, NS_PER_S, 1000 * NS_PER_S), 0);
    web_cpu_finish(&cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serves_a_client_in_a_loop_half_of_all),
        cmocka_unit_test(serves_another_client_beside_it),
        cmocka_unit_test(bounds_all_clients_together),
        cmocka_unit_test(serves_another_client_beside_many_in_loops),
        cmocka_unit_test(gives_a_share_of_a_core_over_a_minute),
        cmocka_unit_test(tells_how_long_an_expensive_answer_is_made_up_for),
        cmocka_unit_test(takes_another_share_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

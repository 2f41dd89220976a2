/* SPDX-License-Identifier: Apache-2.0 */
/* test_bursts.c - a burst is of whom it was asked for, and ends. */
#include <stdio.h>
#include <unistd.h>

#include "agent/sampling/resolve_target.h"
#include "tests/unit/unit_test.h"

/* A process that began when its number says. */
static struct proc_id id(pid_t pid)
{
    return (struct proc_id){pid, (uint64_t)pid * 10};
}

static void is_of_a_process_or_of_a_service(void **state)
{
    const struct burst one = {.id = {7, 70}, .rate_hz = 200, .until_ns = 100};
    const struct burst shop = {.service = "shop", .rate_hz = 100, .until_ns = 100};
    struct bursts bursts = {.count = 0};

    (void)state;
    assert_true(bursts_add(&bursts, &one, 1));
    assert_true(bursts_add(&bursts, &shop, 1));

    assert_true(bursts_of(&bursts, id(7), "mail", 50)->rate_hz == 200);
    assert_true(bursts_of(&bursts, id(8), "shop", 50)->rate_hz == 100);
    assert_true(bursts_of(&bursts, id(7), "shop", 50)->rate_hz == 200); /* the fastest */
    assert_null(bursts_of(&bursts, id(8), "mail", 50));
    assert_null(bursts_of(&bursts, id(7), "shop", 100)); /* over */
    assert_true(bursts_any(&bursts, 99));
    assert_false(bursts_any(&bursts, 100));
}

static void is_not_of_a_later_process_with_the_same_number(void **state)
{
    const struct burst one = {.id = {7, 70}, .rate_hz = 200, .until_ns = 100};
    const struct burst any = {.id = {8, 0}, .rate_hz = 200, .until_ns = 100};
    const struct proc_id later[] = {{7, 71}, {8, 81}};
    struct bursts bursts = {.count = 0};

    (void)state;
    assert_true(bursts_add(&bursts, &one, 1));
    assert_true(bursts_add(&bursts, &any, 1));

    assert_null(bursts_of(&bursts, later[0], "mail", 50));
    assert_non_null(bursts_of(&bursts, later[1], "mail", 50)); /* when it began was not known */
}

static void names_the_process_that_has_the_number_now(void **state)
{
    static struct conf conf;
    struct proc_stat stat;
    struct burst burst;
    char text[16];

    (void)state;
    (void)snprintf(text, sizeof(text), "%d", (int)getpid());
    burst = resolve_target(&conf, text);
    assert_int_equal(proc_stat_read(getpid(), &stat), PROC_OK);
    assert_true(burst_fits(&burst, (struct proc_id){getpid(), stat.start}, "mail"));
    assert_false(burst_fits(&burst, (struct proc_id){getpid(), stat.start + 1}, "mail"));
    burst = resolve_target(&conf, "999999999"); /* no process has that */
    assert_false(burst_fits(&burst, (struct proc_id){999999999, stat.start}, "mail"));
}

static void takes_the_place_of_the_one_before(void **state)
{
    struct burst shop = {.service = "shop", .rate_hz = 500, .until_ns = 100};
    struct bursts bursts = {.count = 0};

    (void)state;
    assert_true(bursts_add(&bursts, &shop, 1));
    shop.rate_hz = 50;
    assert_true(bursts_add(&bursts, &shop, 1));

    assert_int_equal(bursts.count, 1);
    assert_true(bursts_of(&bursts, id(1), "shop", 50)->rate_hz == 50);
}

static void finds_the_one_of_the_same_target(void **state)
{
    const struct burst one = {.id = {7, 70}, .rate_hz = 200, .until_ns = 100};
    const struct burst shop = {.service = "shop", .rate_hz = 100, .until_ns = 100};
    const struct burst all = {.rate_hz = 1};
    struct bursts bursts = {.count = 0};

    (void)state;
    assert_true(bursts_add(&bursts, &one, 1));
    assert_true(bursts_add(&bursts, &shop, 1));

    assert_true(bursts_like(&bursts, &one, 50)->rate_hz == 200);
    assert_true(bursts_like(&bursts, &shop, 50)->rate_hz == 100);
    assert_null(bursts_like(&bursts, &all, 50));
    assert_null(bursts_like(&bursts, &shop, 100)); /* over */
}

static void has_room_again_when_some_are_over(void **state)
{
    struct burst burst = {.id = {1, 10}, .rate_hz = 50, .until_ns = 100};
    struct bursts bursts = {.count = 0};

    (void)state;
    for (; burst.id.pid <= BURSTS_MAX; burst.id.pid++)
        assert_true(bursts_add(&bursts, &burst, 1));
    assert_false(bursts_add(&bursts, &burst, 1));
    burst.until_ns = 200;
    assert_true(bursts_add(&bursts, &burst, 100));
    assert_int_equal(bursts.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_of_a_process_or_of_a_service),
        cmocka_unit_test(is_not_of_a_later_process_with_the_same_number),
        cmocka_unit_test(names_the_process_that_has_the_number_now),
        cmocka_unit_test(takes_the_place_of_the_one_before),
        cmocka_unit_test(finds_the_one_of_the_same_target),
        cmocka_unit_test(has_room_again_when_some_are_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

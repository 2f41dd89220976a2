/* SPDX-License-Identifier: Apache-2.0 */
/* test_bursts.c - a burst is of whom it was asked for, and ends. */
#include "agent/sampling/bursts.h"
#include "tests/unit/unit_test.h"

static void is_of_a_process_or_of_a_service(void **state)
{
    const struct burst one = {.pid = 7, .rate_hz = 200, .until_ns = 100};
    const struct burst shop = {.service = "shop", .rate_hz = 100, .until_ns = 100};
    struct bursts bursts = {.count = 0};

    (void)state;
    assert_true(bursts_add(&bursts, &one, 1));
    assert_true(bursts_add(&bursts, &shop, 1));

    assert_true(bursts_of(&bursts, 7, "mail", 50)->rate_hz == 200);
    assert_true(bursts_of(&bursts, 8, "shop", 50)->rate_hz == 100);
    assert_true(bursts_of(&bursts, 7, "shop", 50)->rate_hz == 200); /* the fastest */
    assert_null(bursts_of(&bursts, 8, "mail", 50));
    assert_null(bursts_of(&bursts, 7, "shop", 100)); /* over */
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
    assert_true(bursts_of(&bursts, 1, "shop", 50)->rate_hz == 50);
}

static void finds_the_one_of_the_same_target(void **state)
{
    const struct burst one = {.pid = 7, .rate_hz = 200, .until_ns = 100};
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
    struct burst burst = {.pid = 1, .rate_hz = 50, .until_ns = 100};
    struct bursts bursts = {.count = 0};

    (void)state;
    for (; burst.pid <= BURSTS_MAX; burst.pid++)
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
        cmocka_unit_test(takes_the_place_of_the_one_before),
        cmocka_unit_test(finds_the_one_of_the_same_target),
        cmocka_unit_test(has_room_again_when_some_are_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

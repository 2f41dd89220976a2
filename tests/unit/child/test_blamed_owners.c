/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_blamed_owners.c - who blocks several children is left alone for ever longer, and forgotten
 * in time.
 */
#include "agent/child/blamed_owners.h"
#include "base/time_units.h"
#include "tests/unit/unit_test.h"

enum { ONE = 7, OTHER = 8 };

/* So many blocks of an owner at one instant. */
static void block(struct blamed_owners *owners, uint64_t owner, unsigned count, uint64_t now_ns)
{
    for (unsigned i = 0; i < count; i++)
        (void)blamed_owners_add(owners, owner, now_ns);
}

static void leaves_alone_who_blocks_several(void **state)
{
    struct blamed_owners owners = {0};

    (void)state;
    assert_int_equal(blamed_owners_blocks(&owners, ONE, 0), 0);
    for (unsigned i = 1; i < BLAMED_OWNERS_FREE; i++) {
        assert_int_equal(blamed_owners_add(&owners, ONE, 0), i);
        assert_false(blamed_owners_pause(&owners, ONE, 0));
    }
    assert_int_equal(blamed_owners_add(&owners, ONE, 0), BLAMED_OWNERS_FREE);

    assert_true(blamed_owners_pause(&owners, ONE, 0));
    assert_int_equal(blamed_owners_blocks(&owners, ONE, 0), BLAMED_OWNERS_FREE);
    assert_false(blamed_owners_pause(&owners, OTHER, 0));
    assert_int_equal(blamed_owners_blocks(&owners, OTHER, 0), 0);
}

static void pauses_twice_as_long_up_to_a_minute(void **state)
{
    static const uint64_t pauses_s[] = {2, 4, 8, 16, 32, 60, 60};
    struct blamed_owners owners = {0};
    uint64_t now_ns = 0;

    (void)state;
    block(&owners, ONE, BLAMED_OWNERS_FREE - 1, now_ns);
    for (size_t i = 0; i < sizeof(pauses_s) / sizeof(pauses_s[0]); i++) {
        block(&owners, ONE, 1, now_ns);
        assert_true(blamed_owners_pause(&owners, ONE, now_ns + pauses_s[i] * NS_PER_S - 1));
        now_ns += pauses_s[i] * NS_PER_S;
        assert_false(blamed_owners_pause(&owners, ONE, now_ns));
    }
}

static void forgets_who_has_not_blocked_for_a_minute(void **state)
{
    const uint64_t minute_ns = 60 * NS_PER_S, pause_ns = 2 * NS_PER_S;
    struct blamed_owners owners = {0};

    (void)state;
    block(&owners, OTHER, 1, 0);
    block(&owners, ONE, BLAMED_OWNERS_FREE, 0);
    assert_int_equal(blamed_owners_blocks(&owners, OTHER, minute_ns - 1), 1);
    assert_int_equal(blamed_owners_blocks(&owners, ONE, pause_ns + minute_ns - 1),
                     BLAMED_OWNERS_FREE);

    assert_int_equal(blamed_owners_blocks(&owners, OTHER, minute_ns), 0);
    assert_int_equal(blamed_owners_add(&owners, ONE, pause_ns + minute_ns), 1);
    assert_false(blamed_owners_pause(&owners, ONE, pause_ns + minute_ns));
    assert_int_equal(owners.count, 1);
}

static void gives_the_room_of_the_oldest(void **state)
{
    struct blamed_owners owners = {0};

    (void)state;
    for (unsigned i = 0; i < BLAMED_OWNERS_MAX; i++)
        block(&owners, 100 + i, 1, BLAMED_OWNERS_MAX - i);
    block(&owners, ONE, 1, BLAMED_OWNERS_MAX + 1);

    assert_int_equal(owners.count, BLAMED_OWNERS_MAX);
    assert_int_equal(blamed_owners_blocks(&owners, 100 + BLAMED_OWNERS_MAX - 1, 0), 0);
    assert_int_equal(blamed_owners_blocks(&owners, 100, 0), 1);
    assert_int_equal(blamed_owners_blocks(&owners, ONE, 0), 1);
}

/* Processes that are gone belong to nobody, and are many different ones'. */
static void leaves_nobody_alone_for_what_an_unknown_owner_does(void **state)
{
    struct blamed_owners owners = {0};

    (void)state;
    block(&owners, 0, BLAMED_OWNERS_FREE, 0);

    assert_false(blamed_owners_pause(&owners, 0, 0));
    assert_int_equal(blamed_owners_blocks(&owners, 0, 0), 0);
    assert_int_equal(blamed_owners_add(&owners, 0, 0), BLAMED_OWNERS_FREE + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_alone_who_blocks_several),
        cmocka_unit_test(pauses_twice_as_long_up_to_a_minute),
        cmocka_unit_test(forgets_who_has_not_blocked_for_a_minute),
        cmocka_unit_test(gives_the_room_of_the_oldest),
        cmocka_unit_test(leaves_nobody_alone_for_what_an_unknown_owner_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_blocked_read.c - a thread that is blocked is told from one that gets too little CPU. */
#include <setjmp.h>

#include "agent/child/blocked_read.h"
#include "tests/unit/unit_test.h"

#define MS NS_PER_MS

/* The start of the read of most tests, and the thread's counters then. */
static const uint64_t began_ns = 700 * NS_PER_S;
static const struct proc_sched at_first = {.cpu_ns = 40, .wait_ns = 60, .turns = 9};

/* A look so long after the read began. */
static bool look(struct blocked_read *seen, unsigned ms, const struct proc_sched *sched)
{
    return blocked_read_sleeps(seen, began_ns, sched, began_ns + ms * MS);
}

static void one_that_never_wakes_is_blocked(void **state)
{
    struct blocked_read seen = {0};

    (void)state;
    assert_false(look(&seen, 500, &at_first)); /* at the first look, however late it is */
    assert_false(look(&seen, 739, &at_first));
    assert_true(look(&seen, 740, &at_first));
}

static void one_that_was_given_a_cpu_is_not(void **state)
{
    struct proc_sched sched = at_first;
    struct blocked_read seen = {0};
    unsigned ms;

    (void)state;
    for (ms = 100; ms < 2000; ms += 200, sched.turns++)
        assert_false(look(&seen, ms, &sched));
}

static void one_that_wakes_now_and_then_has_a_limit_of_its_sleep(void **state)
{
    struct proc_sched sched = at_first;
    struct blocked_read seen = {0};
    unsigned ms;

    (void)state;
    for (ms = 100; ms < 2100; ms += 200, sched.turns++)
        assert_false(look(&seen, ms, &sched));
    assert_true(look(&seen, 2100, &sched));
}

static void the_queue_for_a_cpu_is_no_sleep(void **state)
{
    struct proc_sched sched = at_first;
    struct blocked_read seen = {0};
    unsigned ms;

    (void)state;
    for (ms = 100; ms < 20000; ms += 200, sched.turns++, sched.wait_ns += 190 * MS)
        assert_false(look(&seen, ms, &sched));
}

static void another_read_is_judged_by_itself(void **state)
{
    struct blocked_read seen = {0};
    uint64_t next_ns = began_ns + 200 * MS;

    (void)state;
    assert_false(look(&seen, 100, &at_first));
    assert_false(blocked_read_sleeps(&seen, next_ns, &at_first, began_ns + 400 * MS));
    assert_true(blocked_read_sleeps(&seen, next_ns, &at_first, began_ns + 640 * MS));
}

static void counters_that_cannot_be_read_are_no_wakeup_for_ever(void **state)
{
    const struct proc_sched none = {0};
    struct blocked_read seen = {0};

    (void)state;
    assert_false(look(&seen, 100, &at_first));
    assert_false(look(&seen, 200, &none));
    assert_true(look(&seen, 440, &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_never_wakes_is_blocked),
        cmocka_unit_test(one_that_was_given_a_cpu_is_not),
        cmocka_unit_test(one_that_wakes_now_and_then_has_a_limit_of_its_sleep),
        cmocka_unit_test(the_queue_for_a_cpu_is_no_sleep),
        cmocka_unit_test(another_read_is_judged_by_itself),
        cmocka_unit_test(counters_that_cannot_be_read_are_no_wakeup_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

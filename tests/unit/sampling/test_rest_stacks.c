/* SPDX-License-Identifier: Apache-2.0 */
/* test_rest_stacks.c - where a thread that is ready to run may only wait for a CPU. */
#include "agent/sampling/cpu_attribution.h"

#include "tests/unit/unit_test.h"

enum { SLEEP = 7, WORK = 8 };

static void a_stack_never_seen_asleep_works(void **state)
{
    struct rest_stacks stacks = {.count = 0};

    (void)state;
    assert_null(rest_stacks_note_ready(&stacks, WORK));
    rest_stacks_note_asleep(&stacks, SLEEP);
    assert_null(rest_stacks_note_ready(&stacks, WORK));
    assert_false(rest_stack_may_wait(NULL, false));
}

static void who_is_ready_where_it_sleeps_may_wait(void **state)
{
    struct rest_stacks stacks = {.count = 0};
    const struct rest_stack *stack;

    (void)state;
    for (int i = 0; i < 3; i++)
        rest_stacks_note_asleep(&stacks, SLEEP);
    for (int i = 0; i < 3; i++) {
        stack = rest_stacks_note_ready(&stacks, SLEEP);
        assert_non_null(stack);
        assert_true(rest_stack_may_wait(stack, false));
        assert_false(rest_stack_may_wait(stack, true));
    }
}

static void who_is_ready_more_often_than_asleep_works(void **state)
{
    struct rest_stacks stacks = {.count = 0};

    (void)state;
    rest_stacks_note_asleep(&stacks, WORK);
    assert_true(rest_stack_may_wait(rest_stacks_note_ready(&stacks, WORK), false));
    assert_false(rest_stack_may_wait(rest_stacks_note_ready(&stacks, WORK), false));
    rest_stacks_note_asleep(&stacks, WORK);
    rest_stacks_note_asleep(&stacks, WORK);
    assert_true(rest_stack_may_wait(rest_stacks_note_ready(&stacks, WORK), false));
}

static void remembers_the_last_ones(void **state)
{
    struct rest_stacks stacks = {.count = 0};

    (void)state;
    for (uint32_t row = 0; row < 2 * REST_STACKS_MAX + 1; row++) {
        rest_stacks_note_asleep(&stacks, row);
        rest_stacks_note_asleep(&stacks, row);
    }
    for (uint32_t row = 0; row < REST_STACKS_MAX + 1; row++)
        assert_null(rest_stacks_note_ready(&stacks, row));
    for (uint32_t row = REST_STACKS_MAX + 1; row < 2 * REST_STACKS_MAX + 1; row++) {
        const struct rest_stack *stack = rest_stacks_note_ready(&stacks, row);

        assert_non_null(stack);
        assert_int_equal(stack->row, row);
        assert_int_equal(stack->asleep, 2);
        assert_int_equal(stack->ready, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_never_seen_asleep_works),
        cmocka_unit_test(who_is_ready_where_it_sleeps_may_wait),
        cmocka_unit_test(who_is_ready_more_often_than_asleep_works),
        cmocka_unit_test(remembers_the_last_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

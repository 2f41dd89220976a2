/* SPDX-License-Identifier: Apache-2.0 */
/* test_arena.c - allocations that end together, up to a maximum. */
#include <stdalign.h>
#include <string.h>

#include "base/arena.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

static void every_allocation_is_aligned_and_its_own(void **state)
{
    unsigned char *at[100];
    struct arena arena;
    size_t i, j;

    (void)state;
    arena_init(&arena, 1 << 20);
    for (i = 0; i < 100; i++) {
        at[i] = arena_alloc(&arena, i + 1);
        assert_non_null(at[i]);
        assert_int_equal((uintptr_t)at[i] % alignof(max_align_t), 0);
        memset(at[i], (int)i, i + 1);
    }

    for (i = 0; i < 100; i++) {
        for (j = 0; j <= i; j++)
            assert_int_equal(at[i][j], i);
    }
    arena_finish(&arena);
}

static void one_allocation_may_be_larger_than_a_block(void **state)
{
    struct arena arena;
    char *small, *large;

    (void)state;
    arena_init(&arena, 1 << 20);
    small = arena_strndup(&arena, "small", 5);
    large = arena_alloc(&arena, 300000);

    assert_non_null(small);
    assert_non_null(large);
    memset(large, 1, 300000);
    assert_string_equal(small, "small");
    arena_finish(&arena);
}

static void gives_no_more_than_its_maximum(void **state)
{
    struct arena arena;

    (void)state;
    arena_init(&arena, 100);

    assert_non_null(arena_alloc(&arena, 96));
    assert_null(arena_alloc(&arena, 5));
    assert_null(arena_alloc(&arena, 1)); /* rounded up it does not fit */
    assert_true(arena.used <= 100);
    arena_finish(&arena);
}

static void refuses_sizes_that_would_wrap(void **state)
{
    struct arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);

    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_alloc(&arena, SIZE_MAX - 15));
    assert_null(arena_strndup(&arena, "x", SIZE_MAX));
    assert_int_equal(arena.used, 0);
    arena_finish(&arena);
}

static void strndup_ends_the_copy_with_a_nul(void **state)
{
    struct arena arena;
    char *copy;

    (void)state;
    arena_init(&arena, 1000);
    copy = arena_strndup(&arena, "abcdef", 3);

    assert_non_null(copy);
    assert_string_equal(copy, "abc");
    arena_finish(&arena);
}

static void fill(struct arena *arena)
{
    size_t i;

    for (i = 0; i < 40; i++)
        assert_non_null(arena_alloc(arena, i % 10 == 9 ? 100000 : 5000));
}

static void the_same_again_after_reset_allocates_nothing(void **state)
{
    struct arena arena;
    unsigned long allocations;

    (void)state;
    arena_init(&arena, 1 << 20);
    fill(&arena);
    arena_reset(&arena);
    assert_int_equal(arena.used, 0);
    alloc_fail_all();
    fill(&arena);
    allocations = alloc_fail_stop();

    assert_int_equal(allocations, 0);
    arena_finish(&arena);
}

static void out_of_memory_gives_null_and_a_later_try_succeeds(void **state)
{
    struct arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    alloc_fail_all();
    assert_null(arena_alloc(&arena, 10));
    (void)alloc_fail_stop();

    assert_non_null(arena_alloc(&arena, 10));
    arena_finish(&arena);
}

static void finish_takes_null_and_may_be_repeated(void **state)
{
    struct arena arena;

    (void)state;
    arena_finish(NULL);
    arena_init(&arena, 1000);
    assert_non_null(arena_alloc(&arena, 10));
    arena_finish(&arena);
    arena_finish(&arena);

    assert_int_equal(arena.used, 0);
    assert_null(arena.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_is_aligned_and_its_own),
        cmocka_unit_test(one_allocation_may_be_larger_than_a_block),
        cmocka_unit_test(gives_no_more_than_its_maximum),
        cmocka_unit_test(refuses_sizes_that_would_wrap),
        cmocka_unit_test(strndup_ends_the_copy_with_a_nul),
        cmocka_unit_test(the_same_again_after_reset_allocates_nothing),
        cmocka_unit_test(out_of_memory_gives_null_and_a_later_try_succeeds),
        cmocka_unit_test(finish_takes_null_and_may_be_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

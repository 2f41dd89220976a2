/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_cache.c - what is kept of a thread is found again, ends with it, and stays in bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/unwind/prefetch.h"
#include "unwind/stack/thread_cache.h"

struct fixture {
    struct keep keep;
    struct ahead ahead;
    struct source source;
    struct mem *inner;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->source.mem.read = source_read;
    f->inner = &f->source.mem;
    ahead_init(&f->ahead, &f->inner);
    keep_init(&f->keep);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    keep_finish(&f->keep, &f->ahead);
    assert_int_equal(f->keep.frames, 0);
    assert_int_equal(f->ahead.bytes, 0);
    ahead_finish(&f->ahead);
    free(f);
    return 0;
}

/* Thread states of two arenas. */
static cpy_addr state_at(cpy_addr i)
{
    return AHEAD_BASE + i * 0x170 + ((i & 1) << 30);
}

static void finds_each_thread_again_by_its_state(void **state)
{
    enum { THREADS = 500 };
    struct fixture *f = *state;
    cpy_addr i;

    for (i = 1; i <= THREADS; i++) {
        struct kept *kept = keep_of(&f->keep, state_at(i));

        assert_non_null(kept);
        assert_int_equal(kept->native_id, 0); /* it is new */
        kept->native_id = i;
    }
    for (i = THREADS; i > 0; i--)
        assert_int_equal(keep_of(&f->keep, state_at(i))->native_id, i);
    assert_int_equal(f->keep.count, THREADS);
}

static void gives_a_new_thread_nothing_open_and_nothing_to_read(void **state)
{
    struct fixture *f = *state;
    const struct kept *kept = keep_of(&f->keep, AHEAD_BASE);

    assert_int_equal(kept->state, AHEAD_BASE);
    assert_int_equal(kept->slumber.fd, -1);
    assert_int_equal(kept->slumber.stat_fd, -1);
    assert_int_equal(kept->set.count, 0);
    assert_int_equal(kept->stack.depth, 0);
    assert_false(kept->whole);
}

/* Lists every `step`-th of the threads 1 to `count`. */
static void list(struct fixture *f, cpy_addr count, cpy_addr step)
{
    cpy_addr i;

    keep_begin_list(&f->keep);
    for (i = step; i <= count; i += step)
        assert_non_null(keep_of(&f->keep, state_at(i)));
    keep_end_list(&f->keep, &f->ahead);
}

static void frees_what_was_not_listed_and_keeps_the_rest(void **state)
{
    struct fixture *f = *state;
    cpy_addr i;

    list(f, 300, 1);
    for (i = 0; i < 300; i++)
        f->keep.all[i]->native_id = f->keep.all[i]->state;
    list(f, 300, 3);

    assert_int_equal(f->keep.count, 100);
    for (i = 3; i <= 300; i += 3)
        assert_int_equal(keep_of(&f->keep, state_at(i))->native_id, state_at(i));
    assert_int_equal(f->keep.count, 100);
    assert_int_equal(keep_of(&f->keep, state_at(4))->native_id, 0); /* made anew */
}

static void keeps_those_that_were_only_asked_for_since_the_list_began(void **state)
{
    struct fixture *f = *state;

    list(f, 4, 1);
    list(f, 4, 2);
    assert_non_null(keep_of(&f->keep, state_at(1)));
    list(f, 4, 4);

    assert_int_equal(f->keep.count, 1);
    assert_int_equal(f->keep.all[0]->state, state_at(4));
}

static void gives_the_room_of_a_freed_thread_back(void **state)
{
    struct fixture *f = *state;
    struct ahead_set *set;
    unsigned char byte;

    list(f, 2, 1);
    assert_true(keep_room(&f->keep, &f->keep.all[0]->stack, 100));
    set = f->ahead.now = &f->keep.all[0]->set;
    assert_int_equal(mem_read(&f->ahead.mem, AHEAD_BASE, &byte, 1), CPY_OK);
    ahead_fetch(&f->ahead, &set, 1);
    assert_true(f->ahead.bytes > 0);
    f->ahead.now = NULL;
    list(f, 2, 2);

    assert_int_equal(f->keep.frames, 0);
    assert_int_equal(f->ahead.bytes, 0);
}

static void forgets_stacks_but_not_what_to_read(void **state)
{
    struct fixture *f = *state;
    struct kept *kept = keep_of(&f->keep, AHEAD_BASE);
    unsigned char byte;

    assert_true(keep_room(&f->keep, &kept->stack, 1));
    kept->stack.depth = 1;
    kept->whole = true;
    f->ahead.now = &kept->set;
    assert_int_equal(mem_read(&f->ahead.mem, AHEAD_BASE, &byte, 1), CPY_OK);
    keep_forget_stacks(&f->keep);

    assert_false(kept->whole);
    assert_int_equal(kept->stack.depth, 0);
    assert_int_equal(kept->set.count, 1);
}

/* Adds frames at the inner end up to `depth`; each tells how deep it lies. */
static void push(struct fixture *f, struct kept_stack *stack, uint32_t depth)
{
    assert_true(keep_room(&f->keep, stack, depth));
    assert_true(stack->room >= depth);
    for (; stack->depth < depth; stack->depth++) {
        uint32_t at = stack->room - 1 - stack->depth;

        stack->raw[at] = (struct raw_frame){.unit = (int32_t)stack->depth};
        stack->frames[at] = (struct cpy_frame){.line = (int32_t)stack->depth};
    }
}

static void keeps_the_outer_end_of_a_stack_that_grows(void **state)
{
    static const uint32_t depths[] = {1, 20, 32, 33, 64, 500, CPY_DEPTH_MAX};
    struct fixture *f = *state;
    struct kept_stack *stack = &keep_of(&f->keep, AHEAD_BASE)->stack;
    size_t i;
    uint32_t at;

    for (i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        push(f, stack, depths[i]);
        for (at = 0; at < depths[i]; at++) {
            assert_int_equal(stack->raw[stack->room - 1 - at].unit, at);
            assert_int_equal(stack->frames[stack->room - 1 - at].line, at);
        }
        assert_int_equal(f->keep.frames, stack->room);
    }
}

static void moves_nothing_while_there_is_room(void **state)
{
    struct fixture *f = *state;
    struct kept_stack *stack = &keep_of(&f->keep, AHEAD_BASE)->stack;
    const struct cpy_frame *frames;

    push(f, stack, 100);
    frames = stack->frames;
    assert_true(keep_room(&f->keep, stack, 100));
    assert_true(keep_room(&f->keep, stack, 1));
    assert_ptr_equal(stack->frames, frames);
    assert_int_equal(stack->depth, 100);
}

static void keeps_no_more_frames_than_allowed(void **state)
{
    struct fixture *f = *state;
    struct kept_stack *first = &keep_of(&f->keep, AHEAD_BASE)->stack, *stack = first;
    cpy_addr i;

    push(f, first, 10);
    for (i = 1; keep_room(&f->keep, stack, CPY_DEPTH_MAX); i++) {
        assert_true(f->keep.frames <= KEPT_FRAMES_MAX);
        stack = &keep_of(&f->keep, state_at(i + 1))->stack;
    }

    assert_true(f->keep.frames > KEPT_FRAMES_MAX - 2 * CPY_DEPTH_MAX);
    assert_int_equal(stack->room, 0);
    assert_int_equal(first->raw[first->room - 10].unit, 9);
    list(f, 0, 1); /* all of them end */
    stack = &keep_of(&f->keep, AHEAD_BASE)->stack;
    assert_true(keep_room(&f->keep, stack, CPY_DEPTH_MAX));
}

static void keeps_what_is_there_where_memory_is_short(void **state)
{
    struct fixture *f = *state;
    struct kept_stack *stack = &keep_of(&f->keep, state_at(1))->stack;
    unsigned long bad;
    bool grew;

    push(f, stack, 10);
    for (bad = 1; bad <= 2; bad++) {
        alloc_fail_at(bad);
        grew = keep_room(&f->keep, stack, 1000);
        assert_int_equal(alloc_fail_stop(), bad);
        assert_false(grew);
        assert_int_equal(f->keep.frames, stack->room);
        assert_int_equal(stack->raw[stack->room - 10].unit, 9);
        assert_int_equal(stack->frames[stack->room - 10].line, 9);
    }
}

static void finds_the_others_where_there_was_no_memory_for_one(void **state)
{
    enum { THREADS = 40 };
    struct fixture *f = *state;
    unsigned long failures = 0;
    struct kept *kept;
    cpy_addr i;

    for (i = 1; i <= THREADS; i++) { /* each of its allocations fails once */
        unsigned long bad = 1;

        for (alloc_fail_at(bad); !(kept = keep_of(&f->keep, state_at(i))); alloc_fail_at(++bad))
            failures++;
        (void)alloc_fail_stop();
        kept->native_id = i;
        assert_int_equal(f->keep.count, i);
    }
    assert_true(failures >= THREADS + 2); /* there was no room at first */
    for (i = 1; i <= THREADS; i++)
        assert_int_equal(keep_of(&f->keep, state_at(i))->native_id, i);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(finds_each_thread_again_by_its_state),
        TEST(gives_a_new_thread_nothing_open_and_nothing_to_read),
        TEST(frees_what_was_not_listed_and_keeps_the_rest),
        TEST(keeps_those_that_were_only_asked_for_since_the_list_began),
        TEST(gives_the_room_of_a_freed_thread_back),
        TEST(forgets_stacks_but_not_what_to_read),
        TEST(keeps_the_outer_end_of_a_stack_that_grows),
        TEST(moves_nothing_while_there_is_room),
        TEST(keeps_no_more_frames_than_allowed),
        TEST(keeps_what_is_there_where_memory_is_short),
        TEST(finds_the_others_where_there_was_no_memory_for_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_cache.c - what is kept of a thread is found again, ends with it, and stays in bounds.
 */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/prefetch.h"
#include "unwind/stack/thread_cache.h"

struct fixture {
    struct thread_cache thread_cache;
    struct prefetch prefetch;
    struct source source;
    struct mem *inner;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->source.mem.read = source_read;
    f->inner = &f->source.mem;
    prefetch_init(&f->prefetch, &f->inner);
    thread_cache_init(&f->thread_cache);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    thread_cache_finish(&f->thread_cache, &f->prefetch);
    assert_int_equal(f->thread_cache.frames, 0);
    assert_int_equal(f->prefetch.bytes, 0);
    prefetch_finish(&f->prefetch);
    free(f);
    return 0;
}

/* Thread states of two arenas. */
static cpy_addr state_at(cpy_addr i)
{
    return PREFETCH_BASE + i * 0x170 + ((i & 1) << 30);
}

static void finds_each_thread_again_by_its_state(void **state)
{
    enum { THREADS = 500 };
    struct fixture *f = *state;
    cpy_addr i;

    for (i = 1; i <= THREADS; i++) {
        struct cached *cached = thread_cache_get(&f->thread_cache, state_at(i));

        assert_non_null(cached);
        assert_int_equal(cached->native_id, 0); /* it is new */
        cached->native_id = i;
    }
    for (i = THREADS; i > 0; i--)
        assert_int_equal(thread_cache_get(&f->thread_cache, state_at(i))->native_id, i);
    assert_int_equal(f->thread_cache.count, THREADS);
}

static void gives_a_new_thread_nothing_open_and_nothing_to_read(void **state)
{
    struct fixture *f = *state;
    const struct cached *cached = thread_cache_get(&f->thread_cache, PREFETCH_BASE);

    assert_int_equal(cached->state, PREFETCH_BASE);
    assert_int_equal(cached->sched_idle.fd, -1);
    assert_int_equal(cached->sched_idle.stat_fd, -1);
    assert_int_equal(cached->set.count, 0);
    assert_int_equal(cached->stack.depth, 0);
    assert_false(cached->whole);
}

/* Lists every `step`-th of the threads 1 to `count`. */
static void list(struct fixture *f, cpy_addr count, cpy_addr step)
{
    cpy_addr i;

    thread_cache_begin_list(&f->thread_cache);
    for (i = step; i <= count; i += step)
        assert_non_null(thread_cache_get(&f->thread_cache, state_at(i)));
    thread_cache_end_list(&f->thread_cache, &f->prefetch);
}

static void frees_what_was_not_listed_and_keeps_the_rest(void **state)
{
    struct fixture *f = *state;
    cpy_addr i;

    list(f, 300, 1);
    for (i = 0; i < 300; i++)
        f->thread_cache.all[i]->native_id = f->thread_cache.all[i]->state;
    list(f, 300, 3);

    assert_int_equal(f->thread_cache.count, 100);
    for (i = 3; i <= 300; i += 3)
        assert_int_equal(thread_cache_get(&f->thread_cache, state_at(i))->native_id, state_at(i));
    assert_int_equal(f->thread_cache.count, 100);
    assert_int_equal(thread_cache_get(&f->thread_cache, state_at(4))->native_id, 0); /* made anew */
}

static void keeps_those_that_were_only_asked_for_since_the_list_began(void **state)
{
    struct fixture *f = *state;

    list(f, 4, 1);
    list(f, 4, 2);
    assert_non_null(thread_cache_get(&f->thread_cache, state_at(1)));
    list(f, 4, 4);

    assert_int_equal(f->thread_cache.count, 1);
    assert_int_equal(f->thread_cache.all[0]->state, state_at(4));
}

static void gives_the_room_of_a_freed_thread_back(void **state)
{
    struct fixture *f = *state;
    struct prefetch_set *set;
    unsigned char byte;

    list(f, 2, 1);
    assert_true(thread_cache_reserve(&f->thread_cache, &f->thread_cache.all[0]->stack, 100));
    set = f->prefetch.now = &f->thread_cache.all[0]->set;
    assert_int_equal(mem_read(&f->prefetch.mem, PREFETCH_BASE, &byte, 1), CPY_OK);
    prefetch_fetch(&f->prefetch, &set, 1);
    assert_true(f->prefetch.bytes > 0);
    f->prefetch.now = NULL;
    list(f, 2, 2);

    assert_int_equal(f->thread_cache.frames, 0);
    assert_int_equal(f->prefetch.bytes, 0);
}

static void forgets_stacks_but_not_what_to_read(void **state)
{
    struct fixture *f = *state;
    struct cached *cached = thread_cache_get(&f->thread_cache, PREFETCH_BASE);
    unsigned char byte;

    assert_true(thread_cache_reserve(&f->thread_cache, &cached->stack, 1));
    cached->stack.depth = 1;
    cached->whole = true;
    f->prefetch.now = &cached->set;
    assert_int_equal(mem_read(&f->prefetch.mem, PREFETCH_BASE, &byte, 1), CPY_OK);
    thread_cache_forget_stacks(&f->thread_cache);

    assert_false(cached->whole);
    assert_int_equal(cached->stack.depth, 0);
    assert_int_equal(cached->set.count, 1);
}

/* Adds frames at the inner end up to `depth`; each tells how deep it lies. */
static void push(struct fixture *f, struct cached_stack *stack, uint32_t depth)
{
    assert_true(thread_cache_reserve(&f->thread_cache, stack, depth));
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
    struct cached_stack *stack = &thread_cache_get(&f->thread_cache, PREFETCH_BASE)->stack;
    size_t i;
    uint32_t at;

    for (i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        push(f, stack, depths[i]);
        for (at = 0; at < depths[i]; at++) {
            assert_int_equal(stack->raw[stack->room - 1 - at].unit, at);
            assert_int_equal(stack->frames[stack->room - 1 - at].line, at);
        }
        assert_int_equal(f->thread_cache.frames, stack->room);
    }
}

static void moves_nothing_while_there_is_room(void **state)
{
    struct fixture *f = *state;
    struct cached_stack *stack = &thread_cache_get(&f->thread_cache, PREFETCH_BASE)->stack;
    const struct cpy_frame *frames;

    push(f, stack, 100);
    frames = stack->frames;
    assert_true(thread_cache_reserve(&f->thread_cache, stack, 100));
    assert_true(thread_cache_reserve(&f->thread_cache, stack, 1));
    assert_ptr_equal(stack->frames, frames);
    assert_int_equal(stack->depth, 100);
}

static void keeps_no_more_frames_than_allowed(void **state)
{
    struct fixture *f = *state;
    struct cached_stack *first = &thread_cache_get(&f->thread_cache, PREFETCH_BASE)->stack,
                        *stack = first;
    cpy_addr i;

    push(f, first, 10);
    for (i = 1; thread_cache_reserve(&f->thread_cache, stack, CPY_DEPTH_MAX); i++) {
        assert_true(f->thread_cache.frames <= THREAD_CACHE_FRAMES_MAX);
        stack = &thread_cache_get(&f->thread_cache, state_at(i + 1))->stack;
    }

    assert_true(f->thread_cache.frames > THREAD_CACHE_FRAMES_MAX - 2 * CPY_DEPTH_MAX);
    assert_int_equal(stack->room, 0);
    assert_int_equal(first->raw[first->room - 10].unit, 9);
    list(f, 0, 1); /* all of them end */
    stack = &thread_cache_get(&f->thread_cache, PREFETCH_BASE)->stack;
    assert_true(thread_cache_reserve(&f->thread_cache, stack, CPY_DEPTH_MAX));
}

static void keeps_what_is_there_where_memory_is_short(void **state)
{
    struct fixture *f = *state;
    struct cached_stack *stack = &thread_cache_get(&f->thread_cache, state_at(1))->stack;
    unsigned long bad;
    bool grew;

    push(f, stack, 10);
    for (bad = 1; bad <= 2; bad++) {
        alloc_fail_at(bad);
        grew = thread_cache_reserve(&f->thread_cache, stack, 1000);
        assert_int_equal(alloc_fail_stop(), bad);
        assert_false(grew);
        assert_int_equal(f->thread_cache.frames, stack->room);
        assert_int_equal(stack->raw[stack->room - 10].unit, 9);
        assert_int_equal(stack->frames[stack->room - 10].line, 9);
    }
}

static void finds_the_others_where_there_was_no_memory_for_one(void **state)
{
    enum { THREADS = 40 };
    struct fixture *f = *state;
    unsigned long failures = 0;
    struct cached *cached;
    cpy_addr i;

    for (i = 1; i <= THREADS; i++) { /* each of its allocations fails once */
        unsigned long bad = 1;

        for (alloc_fail_at(bad); !(cached = thread_cache_get(&f->thread_cache, state_at(i)));
             alloc_fail_at(++bad))
            failures++;
        (void)alloc_fail_stop();
        cached->native_id = i;
        assert_int_equal(f->thread_cache.count, i);
    }
    assert_true(failures >= THREADS + 2); /* there was no room at first */
    for (i = 1; i <= THREADS; i++)
        assert_int_equal(thread_cache_get(&f->thread_cache, state_at(i))->native_id, i);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* test_tasks.c - cpy_tasks gives each task whole, or leaves it out and counts it. */
#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

static struct layout layout_15(void)
{
    return fake_layout(15);
}

static void takes_the_words_of_an_asyncio_debug_table(void **state)
{
    struct layout l = layout_15();
    uint64_t words[LAYOUT_ASYNCIO_WORDS];

    (void)state;
    fake_asyncio_words(&l, words);
    assert_true(layout_add_asyncio(&l, words));
    assert_int_equal(l.asyncio.task_size, 168);
    assert_int_equal(l.asyncio.node, 152);
    assert_int_equal(l.asyncio.thread_tasks, words[12]);
    assert_int_equal(l.thread.size, words[9]);
}

static void refuses_each_word_that_cannot_be(void **state)
{
    static const uint64_t bad[] = {0, 5000000, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < LAYOUT_ASYNCIO_WORDS; i++)
        for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
            struct layout l = layout_15(), before = l;
            uint64_t words[LAYOUT_ASYNCIO_WORDS];

            fake_asyncio_words(&l, words);
            words[i] = bad[k];
            assert_false(layout_add_asyncio(&l, words));
            assert_memory_equal(&l, &before, sizeof(l));
        }
}

static void refuses_offsets_at_the_very_end(void **state)
{
    static const size_t words_of_8[] = {1, 2, 5, 6, 10, 11, 12};

    (void)state;
    for (size_t i = 0; i < sizeof(words_of_8) / sizeof(words_of_8[0]); i++) {
        struct layout l = layout_15();
        uint64_t words[LAYOUT_ASYNCIO_WORDS];

        fake_asyncio_words(&l, words);
        words[words_of_8[i]] = words[words_of_8[i] < 7 ? 0 : 9] - 7;
        assert_false(layout_add_asyncio(&l, words));
    }
}

static enum cpy_rc read_tasks(struct fake_process *w, struct fake_tasks_text *seen)
{
    *seen = (struct fake_tasks_text){.count = 0};
    return cpy_tasks(w->target, fake_tell_task, seen);
}

static void gives_the_tasks_of_threads_and_those_left_behind(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    cpy_addr left = w.interp + w.fake->layout.asyncio.interp_tasks;
    cpy_addr first = fake_put_task(&w, fake_thread_ring(&w), fake_name(&w, "first"), 0);
    struct fake_tasks_text seen;

    (void)state;
    (void)fake_put_task(&w, fake_thread_ring(&w), fake_number(&w, 17), first);
    (void)fake_put_task(&w, left, fake_name(&w, "left"), 0);
    assert_int_equal(read_tasks(&w, &seen), CPY_OK);

    assert_string_equal(seen.text,
                        "first waits main/1<0;Task-17 waits main/1<1;left ended waits main/1<0;");
    assert_int_equal(cpy_stats(w.target)->torn, 0);
    cpy_close(w.target);
}

static void leaves_out_and_counts_a_task_that_cannot_be_read(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    cpy_addr bad = fake_put_task(&w, fake_thread_ring(&w), fake_name(&w, "bad"), 0);
    struct fake_tasks_text seen;

    (void)state;
    (void)fake_put_task(&w, fake_thread_ring(&w), fake_name(&w, "good"), 0);
    fake_put64(w.fake, bad + w.fake->layout.asyncio.coro, NOWHERE);
    assert_int_equal(read_tasks(&w, &seen), CPY_OK);

    assert_string_equal(seen.text, "good waits main/1<0;");
    assert_int_equal(cpy_stats(w.target)->torn, 1);
    cpy_close(w.target);
}

static void leaves_out_a_task_whose_coroutine_has_ended(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    const struct layout *l = &w.fake->layout;
    cpy_addr done = fake_put_task(&w, fake_thread_ring(&w), fake_name(&w, "done"), 0);
    cpy_addr coro = fake_generator(w.fake, w.coroutine, w.code, 1, 0);
    struct fake_tasks_text seen;

    (void)state;
    fake_put8(w.fake, coro + l->generator.frame_state, (uint8_t)l->generator.cleared);
    fake_put64(w.fake, done + l->asyncio.coro, coro);
    assert_int_equal(read_tasks(&w, &seen), CPY_OK);

    assert_int_equal(seen.count, 0);
    assert_int_equal(cpy_stats(w.target)->torn, 0);
    cpy_close(w.target);
}

static void does_not_know_a_name_that_is_no_str_and_no_int(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    struct fake_tasks_text seen;

    (void)state;
    (void)fake_put_task(&w, fake_thread_ring(&w), 0, 0);
    (void)fake_put_task(&w, fake_thread_ring(&w), NOWHERE, 0);
    (void)fake_put_task(&w, fake_thread_ring(&w), w.coroutine, 0);
    assert_int_equal(read_tasks(&w, &seen), CPY_OK);

    assert_string_equal(seen.text, "? waits main/1<0;? waits main/1<0;? waits main/1<0;");
    cpy_close(w.target);
}

static void gives_a_running_task_the_stack_down_to_its_coroutine(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    struct fake_tasks_text seen;

    (void)state;
    fake_run_task(&w, fake_put_task(&w, fake_thread_ring(&w), fake_name(&w, "busy"), 0));
    assert_int_equal(read_tasks(&w, &seen), CPY_OK);

    assert_string_equal(seen.text, "busy runs leaf/2<0;");
    cpy_close(w.target);
}

static void gives_a_running_task_that_is_in_no_list(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    cpy_addr ring = fake_room(w.fake, 16);
    cpy_addr task;
    struct fake_tasks_text seen;

    (void)state;
    fake_ring_init(w.fake, ring);
    task = fake_put_task(&w, ring, fake_name(&w, "eager"), 0);
    fake_put64(w.fake, task + w.fake->layout.asyncio.node, 0);
    fake_run_task(&w, task);
    assert_int_equal(read_tasks(&w, &seen), CPY_OK);

    assert_string_equal(seen.text, "eager runs leaf/2<0;");
    cpy_close(w.target);
}

static void cache_task(void *ctx, const struct cpy_thread *thread)
{
    *(cpy_addr *)ctx = thread->torn ? UINT64_MAX : thread->task;
}

static void a_sample_tells_the_running_task_of_a_thread(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    cpy_addr task = fake_put_task(&w, fake_thread_ring(&w), fake_name(&w, "busy"), 0), got = 1;

    (void)state;
    assert_int_equal(cpy_sample(w.target, cache_task, &got), CPY_OK);
    assert_int_equal(got, 0);
    fake_run_task(&w, task);
    assert_int_equal(cpy_sample(w.target, cache_task, &got), CPY_OK);
    assert_int_equal(got, task);
    fake_put64(w.fake, w.thread + w.fake->layout.asyncio.running_loop, 0);
    assert_int_equal(cpy_sample(w.target, cache_task, &got), CPY_OK);
    assert_int_equal(got, 0);
    cpy_close(w.target);
}

static void says_so_where_there_is_no_asyncio(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    struct fake_tasks_text seen;

    (void)state;
    w.target->tasks.asyncio.table = 0;
    assert_int_equal(read_tasks(&w, &seen), CPY_FOREIGN);
    cpy_close(w.target);
}

static void fails_on_a_list_that_is_no_ring(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    struct fake_tasks_text seen;

    (void)state;
    fake_put64(w.fake, fake_thread_ring(&w), NOWHERE);
    assert_int_equal(read_tasks(&w, &seen), CPY_RACED);
    cpy_close(w.target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_words_of_an_asyncio_debug_table),
        cmocka_unit_test(refuses_each_word_that_cannot_be),
        cmocka_unit_test(refuses_offsets_at_the_very_end),
        cmocka_unit_test(gives_the_tasks_of_threads_and_those_left_behind),
        cmocka_unit_test(leaves_out_and_counts_a_task_that_cannot_be_read),
        cmocka_unit_test(leaves_out_a_task_whose_coroutine_has_ended),
        cmocka_unit_test(does_not_know_a_name_that_is_no_str_and_no_int),
        cmocka_unit_test(gives_a_running_task_the_stack_down_to_its_coroutine),
        cmocka_unit_test(gives_a_running_task_that_is_in_no_list),
        cmocka_unit_test(a_sample_tells_the_running_task_of_a_thread),
        cmocka_unit_test(says_so_where_there_is_no_asyncio),
        cmocka_unit_test(fails_on_a_list_that_is_no_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

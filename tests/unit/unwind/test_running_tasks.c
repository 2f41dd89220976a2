/* SPDX-License-Identifier: Apache-2.0 */
/* test_running_tasks.c - cpy_running_tasks follows what runs to all that wait for it. */
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

static void ignore_thread(void *ctx, const struct cpy_thread *thread)
{
    (void)ctx;
    (void)thread;
}

/* A sample, then the tasks that its threads run. */
static enum cpy_rc read_running(struct fake_process *w, struct fake_tasks_text *seen)
{
    *seen = (struct fake_tasks_text){.count = 0};
    assert_int_equal(cpy_sample(w->target, ignore_thread, NULL), CPY_OK);
    return cpy_running_tasks(w->target, fake_tell_task, seen);
}

/* Two tasks wait for `task`. */
static void wait_both(struct fake_process *w, cpy_addr task, cpy_addr one, cpy_addr other)
{
    const struct layout *l = &w->fake->layout;
    cpy_addr set = fake_set(w->fake, 8);

    fake_set_put(w->fake, set, 1, one, 1);
    fake_set_put(w->fake, set, 2, other, 2);
    fake_put8(w->fake, task + l->asyncio.awaited_by_is_set, 1);
    fake_put64(w->fake, task + l->asyncio.awaited_by, set);
}

static cpy_addr put_named(struct fake_process *w, const char *name, cpy_addr waiter)
{
    return fake_put_task(w, fake_thread_ring(w), fake_name(w, name), waiter);
}

static void gives_the_running_task_then_those_that_wait_for_it(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    cpy_addr outer = put_named(&w, "outer", 0), inner = put_named(&w, "inner", outer);
    struct fake_tasks_text seen;

    (void)state;
    (void)put_named(&w, "idle", 0);
    fake_run_task(&w, put_named(&w, "busy", inner));
    assert_int_equal(read_running(&w, &seen), CPY_OK);

    assert_string_equal(seen.text, "busy runs leaf/2<1;inner waits main/1<1;outer waits main/1<0;");
    cpy_close(w.target);
}

static void gives_a_task_once_that_waits_for_two(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    cpy_addr all = put_named(&w, "all", 0), busy = put_named(&w, "busy", 0);
    cpy_addr left = put_named(&w, "left", all), right = put_named(&w, "right", all);
    struct fake_tasks_text seen;

    (void)state;
    wait_both(&w, busy, left, right);
    fake_run_task(&w, busy);
    assert_int_equal(read_running(&w, &seen), CPY_OK);

    assert_string_equal(seen.text, "busy runs leaf/2<2;left waits main/1<1;"
                                   "right waits main/1<1;all waits main/1<0;");
    cpy_close(w.target);
}

static void ends_on_tasks_that_wait_for_each_other(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    cpy_addr outer = put_named(&w, "outer", 0), busy = put_named(&w, "busy", outer);
    struct fake_tasks_text seen;

    (void)state;
    fake_put64(w.fake, outer + w.fake->layout.asyncio.awaited_by, busy);
    fake_run_task(&w, busy);
    assert_int_equal(read_running(&w, &seen), CPY_OK);

    assert_string_equal(seen.text, "busy runs leaf/2<1;outer waits main/1<1;");
    cpy_close(w.target);
}

static void leaves_out_a_task_that_has_ended_and_goes_on(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    const struct layout *l = &w.fake->layout;
    cpy_addr busy = put_named(&w, "busy", 0), done = put_named(&w, "done", 0);
    cpy_addr other = put_named(&w, "other", 0);
    struct fake_tasks_text seen;

    (void)state;
    fake_put64(w.fake, done + l->asyncio.node + l->llist.next, 0); /* in no list */
    wait_both(&w, busy, done, other);
    fake_run_task(&w, busy);
    assert_int_equal(read_running(&w, &seen), CPY_OK);

    assert_string_equal(seen.text, "busy runs leaf/2<2;other waits main/1<0;");
    assert_int_equal(cpy_stats(w.target)->torn, 0);
    cpy_close(w.target);
}

static void leaves_out_and_counts_a_task_that_cannot_be_read(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    cpy_addr bad = put_named(&w, "bad", put_named(&w, "outer", 0));
    struct fake_tasks_text seen;

    (void)state;
    fake_put64(w.fake, bad + w.fake->layout.asyncio.coro, NOWHERE);
    fake_run_task(&w, put_named(&w, "busy", bad));
    assert_int_equal(read_running(&w, &seen), CPY_OK);

    assert_string_equal(seen.text, "busy runs leaf/2<1;");
    assert_int_equal(cpy_stats(w.target)->torn_tasks, 1);
    cpy_close(w.target);
}

static void count_task(void *ctx, const struct cpy_task *task)
{
    *(size_t *)ctx += task->depth > 0;
}

static void follows_so_many_tasks_and_no_more(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    const struct layout *l = &w.fake->layout;
    cpy_addr coro = fake_generator(w.fake, w.coroutine, w.code, 1, 0), task = 0;
    size_t count = 0;

    (void)state;
    for (int i = 0; i < CPY_AWAITERS_MAX + 10; i++) {
        task = fake_task(w.fake, true, task);
        fake_put64(w.fake, task + l->asyncio.coro, coro);
        fake_ring_add(w.fake, fake_thread_ring(&w), task + l->asyncio.node);
    }
    fake_run_task(&w, task);
    assert_int_equal(cpy_sample(w.target, ignore_thread, NULL), CPY_OK);
    assert_int_equal(cpy_running_tasks(w.target, count_task, &count), CPY_OK);

    assert_int_equal(count, CPY_AWAITERS_MAX);
    cpy_close(w.target);
}

static void gives_nothing_where_no_task_runs(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    struct fake_tasks_text seen;

    (void)state;
    (void)put_named(&w, "waits", put_named(&w, "outer", 0));
    assert_int_equal(read_running(&w, &seen), CPY_OK);
    assert_int_equal(seen.count, 0);
    w.target->tasks.asyncio.table = 0;
    assert_int_equal(cpy_running_tasks(w.target, fake_tell_task, &seen), CPY_FOREIGN);
    cpy_close(w.target);
}

static void gives_the_task_that_the_last_sample_has_seen(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    cpy_addr first = put_named(&w, "first", 0), second = put_named(&w, "second", 0);
    struct fake_tasks_text seen;

    (void)state;
    fake_run_task(&w, first);
    assert_int_equal(read_running(&w, &seen), CPY_OK);
    assert_string_equal(seen.text, "first runs leaf/2<0;");
    fake_run_task(&w, second);
    seen = (struct fake_tasks_text){.count = 0};
    assert_int_equal(cpy_running_tasks(w.target, fake_tell_task, &seen), CPY_OK);
    assert_null(strstr(seen.text, "second"));
    assert_int_equal(read_running(&w, &seen), CPY_OK);

    assert_string_equal(seen.text, "second runs leaf/2<0;");
    cpy_close(w.target);
}

static void takes_one_system_call_and_no_memory_once_warm(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    struct fake_tasks_text seen;
    unsigned long allocations;
    uint64_t reads;
    enum cpy_rc rc;

    (void)state;
    fake_run_task(&w, put_named(&w, "busy", put_named(&w, "inner", put_named(&w, "outer", 0))));
    for (int i = 0; i < 5; i++)
        assert_int_equal(read_running(&w, &seen), CPY_OK);
    seen = (struct fake_tasks_text){.count = 0};
    reads = w.fake->mem.reads;
    alloc_fail_all();
    rc = cpy_running_tasks(w.target, fake_tell_task, &seen);
    allocations = alloc_fail_stop();

    assert_int_equal(rc, CPY_OK);
    assert_int_equal(seen.count, 3);
    assert_int_equal(w.fake->mem.reads, reads + 1);
    assert_int_equal(allocations, 0);
    cpy_close(w.target);
}

static void fails_cleanly_at_any_allocation(void **state)
{
    unsigned long n, allocations = ULONG_MAX, failed = 0;
    struct fake_tasks_text seen;
    enum cpy_rc rc;

    (void)state;
    for (n = 1; n <= allocations; n++) {
        struct fake_process w = fake_process_with_tasks();

        fake_run_task(&w, put_named(&w, "busy", put_named(&w, "outer", 0)));
        assert_int_equal(cpy_sample(w.target, ignore_thread, NULL), CPY_OK);
        seen = (struct fake_tasks_text){.count = 0};
        alloc_fail_at(n);
        rc = cpy_running_tasks(w.target, fake_tell_task, &seen);
        allocations = alloc_fail_stop();
        assert_true(rc == CPY_NOMEM || rc == CPY_OK);
        failed += rc == CPY_NOMEM;
        assert_int_equal(read_running(&w, &seen), CPY_OK);
        assert_string_equal(seen.text, "busy runs leaf/2<1;outer waits main/1<0;");
        cpy_close(w.target);
    }
    assert_true(failed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_running_task_then_those_that_wait_for_it),
        cmocka_unit_test(gives_a_task_once_that_waits_for_two),
        cmocka_unit_test(ends_on_tasks_that_wait_for_each_other),
        cmocka_unit_test(leaves_out_a_task_that_has_ended_and_goes_on),
        cmocka_unit_test(leaves_out_and_counts_a_task_that_cannot_be_read),
        cmocka_unit_test(follows_so_many_tasks_and_no_more),
        cmocka_unit_test(gives_nothing_where_no_task_runs),
        cmocka_unit_test(gives_the_task_that_the_last_sample_has_seen),
        cmocka_unit_test(takes_one_system_call_and_no_memory_once_warm),
        cmocka_unit_test(fails_cleanly_at_any_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_gil_skip.c - a GIL-skip sample reads the threads that can have run, and gives the others as
 * they were.
 */
#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/thread.h"
#include "unwind/gil_skip.h"

static void reads_only_the_last_holder_while_nobody_else_takes_the_gil(void **state)
{
    struct fake_process *f = *state;
    struct cpy_stats before;

    fake_make_threads(f);
    before = *cpy_stats(f->target);
    fake_move_threads(f, "new");
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "old old new ");
    fake_hold_gil(f, 0);
    assert_int_equal(fake_sample(f), CPY_OK);
    fake_hold_gil(f, f->states[2]); /* taken again: it does not count */
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_string_equal(fake_functions(f), "old old new ");
    assert_int_equal(fake_gil_skips(f), before.gil_skips + 3);
    assert_int_equal(cpy_stats(f->target)->threads, before.threads + 3 * FAKE_THREADS);
    assert_int_equal(cpy_stats(f->target)->threads_kept, before.threads_kept + 3 * 2);
}

/* Threads of which all that a sample reads is known. */
static void make_warm_threads(struct fake_process *f)
{
    fake_make_threads(f);
    for (int i = 0; i < 2 * FAKE_LIST_LOOKS; i++)
        assert_int_equal(fake_sample(f), CPY_OK);
}

static void takes_one_system_call_once_warm(void **state)
{
    struct fake_process *f = *state;
    uint64_t reads;

    make_warm_threads(f);
    reads = cpy_stats(f->target)->reads;
    for (int i = 0; i < FAKE_LIST_LOOKS; i++)
        assert_int_equal(fake_sample(f), CPY_OK);

    /* In one sample of some the code objects are compared. */
    assert_in_range(cpy_stats(f->target)->reads - reads, FAKE_LIST_LOOKS,
                    FAKE_LIST_LOOKS + FAKE_LIST_LOOKS / CODES_EACH + 1);
}

static void reads_both_threads_of_a_hand_over(void **state)
{
    struct fake_process *f = *state;
    uint64_t gil_skips, kept_before;

    fake_make_threads(f);
    gil_skips = fake_gil_skips(f);
    kept_before = cpy_stats(f->target)->threads_kept;
    fake_hold_gil(f, f->states[0]);
    fake_move_threads(f, "new");
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "new old new ");
    assert_int_equal(cpy_stats(f->target)->threads_kept, kept_before + 1);
    fake_move_threads(f, "newer");
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_string_equal(fake_functions(f), "newer old new ");
    assert_int_equal(fake_gil_skips(f), gil_skips + 2);
}

static void reads_all_after_more_than_one_hand_over(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    fake_hold_gil(f, f->states[1]);
    fake_hold_gil(f, f->states[2]);
    fake_move_threads(f, "new");
    fake_assert_full_once(f);

    assert_string_equal(fake_functions(f), "new new new ");
}

static void reads_all_if_the_gil_went_to_a_thread_that_is_not_listed(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    fake_hold_gil(f, NOWHERE);
    fake_move_threads(f, "new");
    fake_assert_never_gil_skip(f);

    assert_string_equal(fake_functions(f), "new new new ");
}

static void reads_all_once_a_thread_came(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    (void)fake_add_thread(f, fake_stack(f, "came", 5));
    fake_assert_full_once(f);

    assert_string_equal(fake_functions(f), "came old old old ");
}

static void leaves_out_a_thread_that_has_ended(void **state)
{
    struct fake_process *f = *state;
    uint64_t gil_skips;

    fake_make_threads(f);
    gil_skips = fake_gil_skips(f);
    fake_put32(f->fake, f->states[2] + f->fake->layout.thread.status,
               FAKE_BOUND | f->fake->layout.status_cleared);
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "old old ");
    fake_hold_gil(f, f->states[1]);
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_int_equal(fake_gil_skips(f), gil_skips); /* nobody that is there has held the GIL */
    for (int i = 0; i < 8; i++)
        assert_int_equal(fake_sample(f), CPY_OK);
    assert_true(fake_gil_skips(f) > gil_skips);
}

static void knows_a_thread_whose_state_was_that_of_another(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    fake_put64(f->fake, f->states[2] + f->fake->layout.thread.native_thread_id, 999);
    fake_assert_full_once(f);

    assert_int_equal(f->seen[2].tid, 999);
}

static void sees_a_code_object_that_was_replaced(void **state)
{
    struct fake_process *f = *state;
    cpy_addr code = fake_function(f, "before");
    uint64_t gil_skips;

    fake_make_threads(f);
    fake_put_stack(f->fake, f->states[2], fake_frame(f->fake, code, 5, fake_shim(f->fake, 0)));
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "old old before ");
    gil_skips = fake_gil_skips(f);
    fake_put64(f->fake, code + f->fake->layout.code.qualname, fake_str(f->fake, "after"));
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_string_equal(fake_functions(f), "old old after ");
    assert_int_equal(fake_gil_skips(f), gil_skips + 1);
    assert_int_equal(cpy_stats(f->target)->codes_stale, 1);
    fake_assert_full_once(f); /* the names of the one before are freed */
}

static void reads_all_once_other_things_are_asked_for(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    cpy_set_options(f->target, &(const struct cpy_options){.frames = CPY_FRAME_POSITIONS});
    fake_assert_full_once(f);
}

static void reads_all_where_it_is_asked_who_waits_for_the_gil(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    cpy_set_options(f->target, &(const struct cpy_options){.status = CPY_STATUS_GIL_WAIT});
    fake_assert_never_gil_skip(f);
}

static void reads_all_where_only_some_are_asked_for(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    cpy_set_options(f->target, &(const struct cpy_options){.only = CPY_STATUS_GIL});
    fake_assert_never_gil_skip(f);

    assert_int_equal(f->count, 1);
    assert_int_equal(f->seen[0].state, f->states[2]);
}

static void reads_all_where_there_is_no_gil(void **state)
{
    enum { ENABLED_AT = 48 };
    struct fake_process *f = *state;

    fake_make_threads(f);
    f->target->found.layout.gil.enabled = ENABLED_AT;
    fake_assert_never_gil_skip(f);
    fake_put32(f->fake, f->gil + ENABLED_AT, 1);
    fake_assert_full_once(f);
}

static void reads_all_where_nobody_counts_who_takes_the_gil(void **state)
{
    struct fake_process *f = *state;
    struct found *found = &f->target->found;
    const struct found known = *found;

    fake_make_threads(f);
    found->layout.gil.switch_number = NO_FIELD;
    fake_assert_never_gil_skip(f);
    *found = known;
    found->layout.interp.gil = NO_FIELD;
    fake_assert_never_gil_skip(f);
    *found = known;
    found->gil_current = f->gil;
    fake_assert_never_gil_skip(f);
    *found = known;
    fake_put32(f->fake, f->gil + known.layout.gil.locked, UINT32_MAX); /* not made yet */
    fake_assert_never_gil_skip(f);
}

static void finds_an_interpreter_that_came(void **state)
{
    struct fake_process *f = *state;
    const struct layout *l = &f->fake->layout;
    cpy_addr first = f->interp;
    int samples;

    fake_make_threads(f);
    f->interp = fake_room(f->fake, l->interp.size);
    f->gil = fake_room(f->fake, 64);
    fake_put64(f->fake, f->interp + l->interp.gil, f->gil);
    fake_put64(f->fake, f->interp + l->interp.id, 1);
    fake_put64(f->fake, f->interp + l->interp.next, first);
    fake_hold_gil(f, fake_add_thread(f, fake_stack(f, "within", 5)));
    fake_put64(f->fake, f->runtime + l->runtime.interpreters_head, f->interp);
    for (samples = 0; samples < FAKE_LIST_LOOKS && f->count == FAKE_THREADS; samples++)
        assert_int_equal(fake_sample(f), CPY_OK);

    assert_string_equal(fake_functions(f), "within old old old ");
    assert_int_equal(f->seen[0].interpreter, 1);
    fake_put64(f->fake, f->interp + l->interp.next, 0); /* gone: seen at once */
    fake_assert_full_once(f);
    assert_string_equal(fake_functions(f), "within ");
}

static void waits_for_an_interpreter_that_ends(void **state)
{
    struct fake_process *f = *state;
    enum cpy_rc rc = CPY_OK;

    fake_make_threads(f);
    fake_put64(f->fake, f->runtime + f->fake->layout.runtime.finalizing, 1);
    for (int i = 0; i < FAKE_LIST_LOOKS && rc == CPY_OK; i++)
        rc = fake_sample(f);

    assert_int_equal(rc, CPY_STARTING);
}

/* Lets a sleeping thread of this process stand in for the one that had the GIL last. */
static struct thread *lay_to_sleep(struct fake_process *f)
{
    struct cpy_target *t = f->target;
    struct sched_idle *sched_idle = &t->list.threads[t->list.interps[0].runner].cached->sched_idle;
    struct thread *thread = thread_new();

    if (thread_counts(thread).turns == 0)
        skip(); /* the kernel does not count */
    sched_idle_note(sched_idle, &t->scratch->stat_files, thread->proc_fd, thread->tid, true);
    assert_true(sched_idle->asleep);
    return thread;
}

static void assert_nothing_is_read(struct fake_process *f, const char *expected)
{
    const struct cpy_stats before = *cpy_stats(f->target);

    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), expected);
    assert_int_equal(cpy_stats(f->target)->reads, before.reads);
    assert_int_equal(cpy_stats(f->target)->gil_skips, before.gil_skips + 1);
    assert_int_equal(cpy_stats(f->target)->threads_kept, before.threads_kept + 1);
}

static void rests_until_the_last_holder_wakes_up(void **state)
{
    struct fake_process *f = *state;
    struct thread *thread;

    fake_make_threads(f);
    assert_false(gil_skip_all_idle(f->target)); /* nobody knows of any thread that it sleeps */
    thread = lay_to_sleep(f);
    assert_true(gil_skip_all_idle(f->target));
    assert_true(gil_skip_all_idle(f->target));
    thread_wake(thread);
    assert_false(gil_skip_all_idle(f->target));
    thread_free(thread);
}

static void rests_no_more_once_another_thread_had_the_gil(void **state)
{
    struct fake_process *f = *state;
    struct thread *thread;

    fake_make_threads(f);
    thread = lay_to_sleep(f);
    fake_hold_gil(f, f->states[1]);
    assert_false(gil_skip_all_idle(f->target));
    thread_free(thread);
}

static void rests_no_more_once_a_thread_came(void **state)
{
    struct fake_process *f = *state;
    struct thread *thread;

    fake_make_threads(f);
    thread = lay_to_sleep(f);
    (void)fake_add_thread(f, fake_stack(f, "new", 5));
    assert_false(gil_skip_all_idle(f->target));
    thread_free(thread);
}

/* A stack that has changed all the same shows whether it was read. */
static void reads_nothing_while_the_only_thread_of_the_process_sleeps(void **state)
{
    struct fake_process *f = *state;
    cpy_addr only = fake_add_thread(f, fake_stack(f, "old", 5));
    struct sched_idle *sched_idle;
    struct thread *thread;

    fake_hold_gil(f, only);
    assert_int_equal(fake_sample(f), CPY_OK);
    thread = lay_to_sleep(f);
    assert_int_equal(fake_sample(f), CPY_OK); /* from now on it was read asleep */
    sched_idle = &f->target->list.threads[0].cached->sched_idle;
    assert_true(sched_idle->read);
    assert_false(sched_idle->only_thread); /* the test itself is one more */
    fake_put_stack(f->fake, only, fake_stack(f, "new", 5));
    sched_idle->only_thread = true;
    assert_nothing_is_read(f, "old ");
    assert_nothing_is_read(f, "old ");
    thread_wake(thread);
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "new ");
    thread_free(thread);
}

/* Another thread may run, and come to Python. */
static void reads_who_is_there_while_a_thread_sleeps_that_is_not_the_only_one(void **state)
{
    struct fake_process *f = *state;
    cpy_addr only = fake_add_thread(f, fake_stack(f, "old", 5));
    struct thread *thread;

    fake_hold_gil(f, only);
    assert_int_equal(fake_sample(f), CPY_OK);
    thread = lay_to_sleep(f);
    assert_int_equal(fake_sample(f), CPY_OK);
    (void)fake_add_thread(f, fake_stack(f, "new", 5));
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "new old ");
    thread_free(thread);
}

static void lets_go_where_nobody_counts_while_the_gil_is_free(void **state)
{
    struct fake_process *f = *state;
    struct cpy_target *t = f->target;
    cpy_addr current = fake_room(f->fake, 8);
    struct thread *thread;

    fake_make_threads(f);
    assert_false(gil_skip_gil_is_free(t)); /* there is no such word */
    t->found.gil_current = current;
    thread = lay_to_sleep(f);
    t->running.last_ran = t->list.threads[t->list.interps[0].runner].cached->out.tid;
    assert_true(gil_skip_gil_is_free(t));
    fake_put64(f->fake, current, f->states[1]);
    assert_false(gil_skip_gil_is_free(t));
    fake_put64(f->fake, current, 0);
    assert_true(gil_skip_gil_is_free(t));
    thread_wake(thread);
    assert_false(gil_skip_gil_is_free(t));
    t->running.last_ran = -1; /* it has ended */
    assert_false(gil_skip_gil_is_free(t));
    thread_free(thread);
}

/* Reads of a warm sample of three threads without the layers; the next one gives the same. */
static uint64_t reads_without(struct fake_process *f, uint32_t layers)
{
    uint64_t reads;

    cpy_set_options(f->target, &(const struct cpy_options){.plain = layers});
    assert_int_equal(fake_sample(f), CPY_OK);
    reads = cpy_stats(f->target)->reads;
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "old old old ");
    return cpy_stats(f->target)->reads - reads;
}

static void reads_more_with_each_layer_that_is_left_out(void **state)
{
    struct fake_process *f = *state;
    uint64_t gil_skips;

    make_warm_threads(f);
    assert_in_range(reads_without(f, 0), 1, 2);
    gil_skips = fake_gil_skips(f);
    assert_in_range(reads_without(f, CPY_LAYER_GIL_SKIP), 1, 2); /* one call for all of them */
    assert_int_equal(fake_gil_skips(f), gil_skips);
    assert_true(reads_without(f, CPY_LAYER_PREDICTION) > 5);
    assert_true(reads_without(f, CPY_LAYER_ALL) > 2 * 5);
    assert_in_range(reads_without(f, 0), 1, 2);
}

/* As reads_nothing_while_the_only_thread_of_the_process_sleeps, but for the layer. */
static void reads_a_thread_that_sleeps_without_the_layer_of_sleepers(void **state)
{
    struct fake_process *f = *state;
    cpy_addr only = fake_add_thread(f, fake_stack(f, "old", 5));
    struct thread *thread;

    cpy_set_options(f->target, &(const struct cpy_options){.plain = CPY_LAYER_SLEEPERS});
    fake_hold_gil(f, only);
    assert_int_equal(fake_sample(f), CPY_OK);
    thread = lay_to_sleep(f);
    assert_int_equal(fake_sample(f), CPY_OK);
    f->target->list.threads[0].cached->sched_idle.only_thread = true;
    fake_put_stack(f->fake, only, fake_stack(f, "new", 5));
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "new ");
    assert_false(cpy_asleep(f->target));
    thread_free(thread);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fake_process_set_up, fake_process_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(reads_only_the_last_holder_while_nobody_else_takes_the_gil),
        TEST(takes_one_system_call_once_warm),
        TEST(reads_both_threads_of_a_hand_over),
        TEST(reads_all_after_more_than_one_hand_over),
        TEST(reads_all_if_the_gil_went_to_a_thread_that_is_not_listed),
        TEST(reads_all_once_a_thread_came),
        TEST(leaves_out_a_thread_that_has_ended),
        TEST(knows_a_thread_whose_state_was_that_of_another),
        TEST(sees_a_code_object_that_was_replaced),
        TEST(reads_all_once_other_things_are_asked_for),
        TEST(reads_all_where_it_is_asked_who_waits_for_the_gil),
        TEST(reads_all_where_only_some_are_asked_for),
        TEST(reads_all_where_there_is_no_gil),
        TEST(reads_all_where_nobody_counts_who_takes_the_gil),
        TEST(finds_an_interpreter_that_came),
        TEST(waits_for_an_interpreter_that_ends),
        TEST(rests_until_the_last_holder_wakes_up),
        TEST(rests_no_more_once_another_thread_had_the_gil),
        TEST(rests_no_more_once_a_thread_came),
        TEST(reads_nothing_while_the_only_thread_of_the_process_sleeps),
        TEST(reads_who_is_there_while_a_thread_sleeps_that_is_not_the_only_one),
        TEST(lets_go_where_nobody_counts_while_the_gil_is_free),
        TEST(reads_more_with_each_layer_that_is_left_out),
        TEST(reads_a_thread_that_sleeps_without_the_layer_of_sleepers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpu_pin.c - takes a thread's CPU if it can, says so if not, and leaves no trace. */
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/thread.h"
#include "unwind/fast/cpu_pin.h"

/* `cpus`: on which the test may run, the first two; the same one twice where there is one. */
struct fixture {
    struct thread *thread;
    struct cpu_pin cpu_pin;
    cpu_set_t allowed;
    size_t cpus[2];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    size_t cpu, count = 0;

    assert_non_null(f);
    assert_int_equal(sched_getaffinity(0, sizeof(f->allowed), &f->allowed), 0);
    for (cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
        if (CPU_ISSET(cpu, &f->allowed))
            f->cpus[count++] = cpu;
    if (count < 2)
        f->cpus[1] = f->cpus[0];
    f->thread = thread_new();
    cpu_pin_init(&f->cpu_pin, f->thread->proc_fd);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cpu_pin_finish(&f->cpu_pin);
    (void)sched_setaffinity(0, sizeof(f->allowed), &f->allowed);
    thread_free(f->thread);
    free(f);
    return 0;
}

/* True if the calling thread may run there and nowhere else. */
static bool is_bound_to(size_t cpu)
{
    cpu_set_t now;

    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    return CPU_COUNT(&now) == 1 && CPU_ISSET(cpu, &now) && sched_getcpu() == (int)cpu;
}

/* True if the calling thread may run where, and is in the class in which, it was at first. */
static bool is_as_before(const struct fixture *f)
{
    cpu_set_t now;

    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    return CPU_EQUAL(&now, &f->allowed) && sched_getscheduler(0) == SCHED_OTHER;
}

/* Lets the thread run on that CPU. */
static void run_on(struct fixture *f, size_t cpu)
{
    thread_pin(f->thread->tid, cpu);
    thread_run(f->thread);
}

static void moves_to_the_cpu_of_a_thread_and_back(void **state)
{
    struct fixture *f = *state;
    size_t i;

    for (i = 0; i < 2; i++) {
        run_on(f, f->cpus[i]);
        assert_true(cpu_pin_take(&f->cpu_pin, f->thread->tid));
        assert_true(is_bound_to(f->cpus[i]));
        cpu_pin_release(&f->cpu_pin);
        assert_true(is_as_before(f));
        thread_stop(f->thread);
    }
}

static void follows_a_thread_and_still_knows_the_way_back(void **state)
{
    struct fixture *f = *state;

    run_on(f, f->cpus[0]);
    assert_true(cpu_pin_move(&f->cpu_pin, f->thread->tid, false));
    cpu_pin_end_realtime(&f->cpu_pin); /* else it could not move */
    thread_stop(f->thread);
    run_on(f, f->cpus[1]);
    assert_true(cpu_pin_move(&f->cpu_pin, f->thread->tid, false));
    assert_true(is_bound_to(f->cpus[1]));
    cpu_pin_finish(&f->cpu_pin);
    assert_true(is_as_before(f));
}

static void goes_to_where_a_thread_sleeps_only_if_asked_to(void **state)
{
    struct fixture *f = *state;

    thread_pin(f->thread->tid, f->cpus[1]);
    thread_wake(f->thread);

    assert_false(cpu_pin_move(&f->cpu_pin, f->thread->tid, false));
    assert_false(cpu_pin_take(&f->cpu_pin, f->thread->tid));
    assert_false(cpu_pin_hold(&f->cpu_pin, f->thread->tid));
    assert_true(is_as_before(f));
    assert_true(cpu_pin_move(&f->cpu_pin, f->thread->tid, true));
    assert_true(is_bound_to(f->cpus[1]));
}

static void goes_to_a_cpu_that_is_named_without_asking_where_the_thread_is(void **state)
{
    struct fixture *f = *state;

    assert_true(cpu_pin_move_to(&f->cpu_pin, f->thread->tid, (int)f->cpus[1]));
    assert_true(is_bound_to(f->cpus[1]));
    assert_int_equal(f->cpu_pin.watched, 0);
    cpu_pin_release(&f->cpu_pin);
    assert_true(is_as_before(f));
    assert_false(cpu_pin_move_to(&f->cpu_pin, f->thread->tid, -1));
    assert_false(cpu_pin_move_to(&f->cpu_pin, f->thread->tid, CPU_SETSIZE));
    assert_true(is_as_before(f));
}

static void stays_away_from_a_cpu_that_it_may_not_use(void **state)
{
    struct fixture *f = *state;

    if (f->cpus[0] == f->cpus[1])
        skip();
    run_on(f, f->cpus[1]);
    thread_pin(0, f->cpus[0]);

    assert_false(cpu_pin_move(&f->cpu_pin, f->thread->tid, false));
    assert_true(is_bound_to(f->cpus[0]));
    cpu_pin_release(&f->cpu_pin);
    assert_true(is_bound_to(f->cpus[0]));
}

static void keeps_away_from_a_cpu_and_comes_back(void **state)
{
    struct fixture *f = *state;
    cpu_set_t now, wanted = f->allowed;

    if (f->cpus[0] == f->cpus[1])
        skip();
    CPU_CLR(f->cpus[1], &wanted);
    assert_true(cpu_pin_avoid(&f->cpu_pin, (int)f->cpus[1]));
    assert_true(cpu_pin_avoid(&f->cpu_pin, (int)f->cpus[1]));
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    assert_true(CPU_EQUAL(&now, &wanted) && sched_getcpu() != (int)f->cpus[1]);
    assert_true(f->cpu_pin.realtime != f->cpu_pin.denied);
    assert_true(cpu_pin_move_to(&f->cpu_pin, f->thread->tid, (int)f->cpus[1]));
    assert_true(is_bound_to(f->cpus[1]));
    assert_true(cpu_pin_avoid(&f->cpu_pin, (int)f->cpus[1])); /* it was forgotten in between */
    assert_true(sched_getcpu() != (int)f->cpus[1]);
    cpu_pin_release(&f->cpu_pin);
    assert_true(is_as_before(f));
}

static void cannot_keep_away_from_the_only_cpu(void **state)
{
    struct fixture *f = *state;

    thread_pin(0, f->cpus[0]);
    assert_false(cpu_pin_avoid(&f->cpu_pin, (int)f->cpus[0]));
    assert_false(cpu_pin_avoid(&f->cpu_pin, -1));
    assert_false(cpu_pin_avoid(&f->cpu_pin, CPU_SETSIZE));
    assert_true(is_bound_to(f->cpus[0]));
    assert_false(f->cpu_pin.moved || f->cpu_pin.realtime);
}

static void knows_on_which_cpu_a_thread_is(void **state)
{
    struct fixture *f = *state;

    run_on(f, f->cpus[1]);
    assert_int_equal(cpu_pin_cpu_of(&f->cpu_pin, f->thread->tid), f->cpus[1]);
    thread_stop(f->thread);
    assert_int_equal(cpu_pin_cpu_of(&f->cpu_pin, f->thread->tid), f->cpus[1]);
    assert_int_equal(cpu_pin_cpu_of(&f->cpu_pin, 0), -1);
    assert_true(is_as_before(f));
}

static void goes_back_to_where_it_may_run_now(void **state)
{
    struct fixture *f = *state;

    run_on(f, f->cpus[0]);
    assert_true(cpu_pin_move(&f->cpu_pin, f->thread->tid, false));
    cpu_pin_release(&f->cpu_pin);
    thread_pin(0, f->cpus[0]); /* as an administrator may */
    assert_true(cpu_pin_move(&f->cpu_pin, f->thread->tid, false));
    cpu_pin_release(&f->cpu_pin);
    assert_true(is_bound_to(f->cpus[0]));
}

static void says_no_where_nothing_is_known_of_the_thread(void **state)
{
    struct fixture *f = *state;
    struct cpu_pin nowhere;

    cpu_pin_init(&nowhere, -1);
    assert_false(cpu_pin_move(&nowhere, f->thread->tid, true));
    cpu_pin_finish(&nowhere);
    assert_false(cpu_pin_move(&f->cpu_pin, 0, true));
    thread_end(f->thread);
    assert_false(cpu_pin_move(&f->cpu_pin, f->thread->tid, true));
    assert_false(cpu_pin_take(&f->cpu_pin, f->thread->tid));
    assert_true(is_as_before(f));
}

static void says_no_once_the_thread_that_it_watched_is_gone(void **state)
{
    struct fixture *f = *state;

    assert_true(cpu_pin_move(&f->cpu_pin, f->thread->tid, true));
    thread_end(f->thread);
    assert_false(cpu_pin_move(&f->cpu_pin, f->thread->tid, true));
    cpu_pin_release(&f->cpu_pin);
    assert_true(is_as_before(f));
}

static void hurries_or_knows_that_it_may_not_and_calms_down(void **state)
{
    struct fixture *f = *state;

    assert_true(cpu_pin_move(&f->cpu_pin, f->thread->tid, true));
    assert_true(f->cpu_pin.realtime != f->cpu_pin.denied);
    assert_int_equal(sched_getscheduler(0), f->cpu_pin.realtime ? SCHED_FIFO : SCHED_OTHER);
    cpu_pin_end_realtime(&f->cpu_pin);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
    assert_false(f->cpu_pin.realtime);
    assert_true(f->cpu_pin.moved); /* that is another thing */
}

static void goes_back_to_the_time_slice_that_was_asked_for(void **state)
{
    struct fixture *f = *state;
    struct slice before, asked, after;

    slice_read(&before);
    slice_shorten(before.runtime_ns / 2); /* older kernels ignore that */
    slice_read(&asked);
    assert_true(cpu_pin_move(&f->cpu_pin, f->thread->tid, true));
    cpu_pin_end_realtime(&f->cpu_pin);
    slice_read(&after);

    assert_int_equal(after.policy, SCHED_OTHER);
    assert_int_equal(after.nice, before.nice);
    assert_true(after.runtime_ns == asked.runtime_ns);
    assert_true(slice_apply(&before));
}

static void leaves_the_class_alone_in_which_somebody_else_has_put_it(void **state)
{
    const struct sched_param none = {.sched_priority = 0};
    struct fixture *f = *state;
    int class;

    assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    assert_true(cpu_pin_move(&f->cpu_pin, f->thread->tid, true));
    cpu_pin_release(&f->cpu_pin);
    class = sched_getscheduler(0);
    (void)sched_setscheduler(0, SCHED_OTHER, &none);

    assert_int_equal(class, SCHED_BATCH);
}

static void takes_a_cpu_again_only_from_another_thread_or_elsewhere(void **state)
{
    struct fixture *f = *state;

    run_on(f, f->cpus[0]);
    assert_true(cpu_pin_hold(&f->cpu_pin, f->thread->tid));
    assert_false(cpu_pin_hold(&f->cpu_pin, f->thread->tid));
    cpu_pin_release(&f->cpu_pin);
    assert_true(cpu_pin_hold(&f->cpu_pin, f->thread->tid)); /* to be on that CPU is not enough */
    cpu_pin_release(&f->cpu_pin);
    if (f->cpus[0] == f->cpus[1])
        return;
    thread_pin(0, f->cpus[1]);
    (void)sched_setaffinity(0, sizeof(f->allowed), &f->allowed);
    if (sched_getcpu() == (int)f->cpus[1])
        assert_true(cpu_pin_hold(&f->cpu_pin, f->thread->tid));
}

static uint64_t now_ns(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void lets_the_thread_run_for_a_moment_when_it_takes_its_cpu(void **state)
{
    struct fixture *f = *state;
    uint64_t from;

    run_on(f, f->cpus[0]);
    from = now_ns();
    assert_true(cpu_pin_take(&f->cpu_pin, f->thread->tid));
    assert_true(now_ns() - from >= 50000);
}

static void keeps_one_file_open_whomever_it_looks_at(void **state)
{
    struct fixture *f = *state;
    struct thread *other = thread_new();
    const size_t before = thread_files();
    int i;

    for (i = 0; i < 10; i++) {
        assert_true(cpu_pin_move(&f->cpu_pin, f->thread->tid, true));
        assert_true(cpu_pin_move(&f->cpu_pin, other->tid, true));
        assert_false(cpu_pin_move(&f->cpu_pin, other->tid, false));
    }
    assert_int_equal(thread_files(), before + 1);
    cpu_pin_finish(&f->cpu_pin);
    assert_int_equal(thread_files(), before);
    cpu_pin_finish(&f->cpu_pin); /* once more is fine */
    assert_int_equal(thread_files(), before);
    thread_free(other);
}

static void closes_a_file_that_many_samples_have_not_read(void **state)
{
    struct fixture *f = *state;
    const size_t before = thread_files();

    assert_true(cpu_pin_cpu_of(&f->cpu_pin, f->thread->tid) >= 0);
    for (int i = 0; i < CPU_PIN_UNUSED_MAX - 1; i++)
        cpu_pin_release(&f->cpu_pin);
    assert_true(cpu_pin_cpu_of(&f->cpu_pin, f->thread->tid) >= 0); /* it counts anew */
    for (int i = 0; i < CPU_PIN_UNUSED_MAX - 1; i++)
        cpu_pin_release(&f->cpu_pin);
    assert_int_equal(thread_files(), before + 1);
    cpu_pin_release(&f->cpu_pin);
    assert_int_equal(thread_files(), before);
    assert_true(cpu_pin_cpu_of(&f->cpu_pin, f->thread->tid) >= 0);
    assert_int_equal(thread_files(), before + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(moves_to_the_cpu_of_a_thread_and_back),
        TEST(follows_a_thread_and_still_knows_the_way_back),
        TEST(goes_to_where_a_thread_sleeps_only_if_asked_to),
        TEST(goes_to_a_cpu_that_is_named_without_asking_where_the_thread_is),
        TEST(stays_away_from_a_cpu_that_it_may_not_use),
        TEST(keeps_away_from_a_cpu_and_comes_back),
        TEST(cannot_keep_away_from_the_only_cpu),
        TEST(knows_on_which_cpu_a_thread_is),
        TEST(goes_back_to_where_it_may_run_now),
        TEST(says_no_where_nothing_is_known_of_the_thread),
        TEST(says_no_once_the_thread_that_it_watched_is_gone),
        TEST(hurries_or_knows_that_it_may_not_and_calms_down),
        TEST(goes_back_to_the_time_slice_that_was_asked_for),
        TEST(leaves_the_class_alone_in_which_somebody_else_has_put_it),
        TEST(takes_a_cpu_again_only_from_another_thread_or_elsewhere),
        TEST(lets_the_thread_run_for_a_moment_when_it_takes_its_cpu),
        TEST(keeps_one_file_open_whomever_it_looks_at),
        TEST(closes_a_file_that_many_samples_have_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

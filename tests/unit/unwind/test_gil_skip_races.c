/* SPDX-License-Identifier: Apache-2.0 */
/* test_gil_skip_races.c - what a GIL-skip sample does not read is true whatever happens meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

/* A file as the kernel's schedstat of a thread that was given a CPU so often. */
static int schedstat(int fd, int turns)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "1000 0 %d\n", turns);

    fd = fd < 0 ? memfd_create("schedstat", MFD_CLOEXEC) : fd;
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, (size_t)size, 0), size);
    return fd;
}

/* A thread sleeps, and has since its stack was read. */
static void fall_asleep(struct fake_process *f, cpy_addr thread)
{
    struct sched_idle *sched_idle =
        &thread_cache_get(&f->target->cache.threads, thread)->sched_idle;

    sched_idle->fd = schedstat(sched_idle->fd, 7);
    sched_idle->turns = 7;
    sched_idle->asleep = sched_idle->read = true;
    sched_idle->lately = SCHED_IDLE_LATELY;
}

static void knows_whether_a_thread_that_it_does_not_read_has_the_gil(void **state)
{
    struct fake_process *f = *state;
    const struct layout *l = &f->fake->layout;
    uint64_t kept_before;

    fake_make_threads(f);
    fake_put32(f->fake, f->interp + l->interp.collecting, 1);
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_int_equal(f->seen[2].status, CPY_STATUS_GIL | CPY_STATUS_GC);
    kept_before = cpy_stats(f->target)->threads_kept;
    fall_asleep(f, f->states[2]); /* and keeps it, as C code may */
    assert_int_equal(fake_sample(f), CPY_OK);
    /* It is read nevertheless: if it ran, it would be another thread than it says. */
    assert_int_equal(cpy_stats(f->target)->threads_kept, kept_before + FAKE_THREADS - 1);
    assert_int_equal(f->seen[2].status, CPY_STATUS_GIL | CPY_STATUS_GC);
    fake_put32(f->fake, f->interp + l->interp.collecting, 0);
    fake_hold_gil(f, 0);
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_int_equal(cpy_stats(f->target)->threads_kept, kept_before + 2 * FAKE_THREADS - 1);
    assert_int_equal(f->seen[2].status, 0);
}

/* A state that was made in one thread, which sleeps, and is used in another. */
static void a_sleeper_whose_state_runs_is_another_thread(void **state)
{
    struct fake_process *f = *state;
    struct cached *cached;

    fake_make_threads(f);
    cpy_set_options(f->target, &(const struct cpy_options){.status = CPY_STATUS_CPU});
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_int_not_equal(f->seen[1].tid, 0);
    fall_asleep(f, f->states[1]);
    fake_put_stack(f->fake, f->states[1], fake_stack(f, "moved", 5));
    f->target->gil_skip.ready = false;
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "old moved old ");

    cached = thread_cache_get(&f->target->cache.threads, f->states[1]);
    assert_int_not_equal(cached->refuted_tid, 0);
    fake_put_stack(f->fake, f->states[1], fake_stack(f, "later", 5));
    f->target->gil_skip.ready = false;
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "old later old ");
    assert_int_equal(f->seen[1].tid, 0); /* whose it is, nobody knows */
}

/* A file as the kernel's stat of a thread that sleeps. */
static int stat_asleep(void)
{
    static const char text[] = "1 (name) S 7 8 9 0 0 0 0 0 0 0 0 0 0 0 0 0 3 0 99 0 0 0 11 0 12 0 "
                               "0 0 0 0 0 0 0 0 0 5 0\n";
    int fd = memfd_create("stat", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    return fd;
}

/* The process's clock says that nobody need be asked, but a thread has run for a moment. */
static void a_sleeper_that_has_run_since_is_the_thread_that_it_says(void **state)
{
    struct fake_process *f = *state;
    struct cached *cached;

    fake_make_threads(f);
    cpy_set_options(f->target, &(const struct cpy_options){.status = CPY_STATUS_CPU});
    for (uint64_t now_ns = 1; now_ns <= 2; now_ns++) {
        for (size_t i = 0; i < FAKE_THREADS && now_ns == 2; i++)
            fall_asleep(f, f->states[i]);
        f->target->gil_skip.ready = false;
        cpy_note_cpu(f->target, 1000, now_ns);
        assert_int_equal(fake_sample(f), CPY_OK);
    }
    cached = thread_cache_get(&f->target->cache.threads, f->states[1]);
    cached->sched_idle.stat_fd = stat_asleep();
    (void)schedstat(cached->sched_idle.fd, 8);
    fake_put_stack(f->fake, f->states[1], fake_stack(f, "woken", 5));
    f->target->gil_skip.ready = false;
    cpy_note_cpu(f->target, 1000, 3);
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_string_equal(fake_functions(f), "old woken old ");
    assert_true(cached->sched_idle.asleep);
    assert_int_equal(cached->sched_idle.turns, 8);
    assert_int_equal(cached->refuted_tid, 0);
    assert_int_not_equal(f->seen[1].tid, 0);
}

/* Bytes that a sample of all threads reads. */
static uint64_t bytes_of_sample(struct fake_process *f)
{
    const uint64_t before = f->fake->mem.bytes;

    f->target->gil_skip.ready = false;
    assert_int_equal(fake_sample(f), CPY_OK);
    return f->fake->mem.bytes - before;
}

static void reads_only_the_state_of_threads_that_slept_where_all_are_read(void **state)
{
    struct fake_process *f = *state;
    uint64_t all, kept_before;

    fake_make_threads(f);
    cpy_set_options(f->target, &(const struct cpy_options){.status = CPY_STATUS_CPU});
    (void)bytes_of_sample(f);
    all = bytes_of_sample(f);
    kept_before = cpy_stats(f->target)->threads_kept;
    for (size_t i = 0; i < FAKE_THREADS; i++)
        fall_asleep(f, f->states[i]);
    assert_true(bytes_of_sample(f) < all);
    assert_string_equal(fake_functions(f), "old old old ");
    assert_int_equal(cpy_stats(f->target)->threads_kept, kept_before + FAKE_THREADS - 1);
    for (size_t i = 0; i < FAKE_THREADS; i++)
        assert_true(f->seen[i].same);

    fake_put_stack(f->fake, f->states[1], fake_stack(f, "woken", 5));
    (void)schedstat(thread_cache_get(&f->target->cache.threads, f->states[1])->sched_idle.fd, 8);
    assert_true(bytes_of_sample(f) < all);
    assert_string_equal(fake_functions(f), "old woken old ");
    assert_int_equal(cpy_stats(f->target)->threads_kept, kept_before + FAKE_THREADS);
    assert_false(f->seen[1].same);
}

static void reads_sleepers_whose_stacks_are_not_kept(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    cpy_set_options(f->target, &(const struct cpy_options){.status = CPY_STATUS_CPU});
    (void)bytes_of_sample(f);
    for (size_t i = 0; i < FAKE_THREADS; i++)
        fall_asleep(f, f->states[i]);
    thread_cache_get(&f->target->cache.threads, f->states[0])->sched_idle.read =
        false; /* its stack is older */
    fake_put_stack(f->fake, f->states[0], fake_stack(f, "later", 5));
    (void)bytes_of_sample(f);
    assert_string_equal(fake_functions(f), "later old old ");
    cpy_set_options(f->target, &(const struct cpy_options){.status = CPY_STATUS_CPU,
                                                           .frames = CPY_FRAME_POSITIONS});
    fake_put_stack(f->fake, f->states[2], fake_stack(f, "new", 5));
    (void)bytes_of_sample(f); /* what is kept lacks the columns */
    assert_string_equal(fake_functions(f), "later old new ");
}

static struct fake_process *waking;

/* The thread that slept goes on, then hands the GIL over and sleeps again. */
static void wake_and_hand_over(struct fake *fake)
{
    (void)fake;
    (void)schedstat(
        thread_cache_get(&waking->target->cache.threads, waking->states[2])->sched_idle.fd, 8);
    fake_put_stack(waking->fake, waking->states[2], fake_stack(waking, "woken", 5));
    fake_hold_gil(waking, waking->states[0]);
}

static void reads_a_thread_that_woke_after_it_was_found_asleep(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    waking = f;
    fall_asleep(f, f->states[2]);
    f->fake->change = wake_and_hand_over;
    f->fake->change_at = f->fake->mem.reads + 1; /* it was looked at before */
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_string_equal(fake_functions(f), "old old woken ");
}

static cpy_addr replaced;

static void replace_code(struct fake *fake)
{
    const struct layout *l = &waking->target->found.layout;

    fake_put64(fake, replaced + l->code.qualname, fake_str(fake, "after"));
    fake_put64(fake, waking->interp + l->interp.code_generation, 2);
}

static void sees_a_code_object_that_is_replaced_within_a_hand_over(void **state)
{
    struct fake_process *f = *state;
    struct layout *l = &f->target->found.layout;

    l->interp.code_generation = l->interp.size - 8; /* as 3.14 has it */
    layout_find_spans(l);
    fake_put64(f->fake, f->interp + l->interp.code_generation, 1);
    fake_make_threads(f);
    replaced = fake_function(f, "before");
    fake_put_stack(f->fake, f->states[2], fake_frame(f->fake, replaced, 5, fake_shim(f->fake, 0)));
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "old old before ");
    fake_hold_gil(f, f->states[0]);
    waking = f;
    f->fake->change = replace_code;
    f->fake->change_at = f->fake->mem.reads + 2; /* the count was read; the stacks are read again */
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_string_equal(fake_functions(f), "old old after ");
}

static void says_what_is_the_same(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    assert_int_equal(fake_sample(f), CPY_OK);
    for (size_t i = 0; i < FAKE_THREADS; i++)
        assert_true(f->seen[i].same);
    fake_hold_gil(f, f->states[0]);
    fake_put_stack(f->fake, f->states[0], fake_stack(f, "new", 5));
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_false(f->seen[0].same);
    assert_true(f->seen[1].same);
    assert_true(f->seen[2].same);
}

static void call_it(struct cached *cached, const char *text)
{
    free(cached->name.text);
    cached->name = (struct thread_name){.text = strdup(text), .looked = true, .changed = true};
}

/* As if threading had told what threads are called. */
static void call_them(struct fake_process *f, const char *first, const char *third)
{
    call_it(f->target->list.threads[0].cached, first);
    call_it(f->target->list.threads[2].cached, third);
}

static void a_thread_of_another_name_is_not_the_same(void **state)
{
    struct fake_process *f = *state;

    fake_make_threads(f);
    call_them(f, "reader", "writer");
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(f->seen[0].name, "reader");
    assert_string_equal(f->seen[2].name, "writer");
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_true(f->seen[0].same && f->seen[2].same);
    call_them(f, "writer", "reader");
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_string_equal(f->seen[0].name, "writer");
    assert_string_equal(f->seen[2].name, "reader");
    assert_false(f->seen[0].same || f->seen[2].same);
}

static cpy_addr broken, mended_by;

static void mend(struct fake *fake)
{
    fake_put64(fake, broken + fake->layout.frame.previous, mended_by);
}

static void tries_again_what_was_torn(void **state)
{
    struct fake_process *f = *state;
    uint64_t gil_skips;

    fake_make_threads(f);
    gil_skips = fake_gil_skips(f);
    mended_by = fake_shim(f->fake, 0);
    broken = fake_frame(f->fake, fake_function(f, "mended"), 5, NOWHERE);
    fake_put_stack(f->fake, f->states[2], broken);
    f->fake->change = mend;
    f->fake->change_at = f->fake->mem.reads + 12;
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_string_equal(fake_functions(f), "old old mended ");
    assert_int_equal(fake_gil_skips(f), gil_skips + 1);
    assert_true(cpy_stats(f->target)->retries > 0);
    assert_int_equal(cpy_stats(f->target)->torn, 0);
}

static void reads_all_after_a_stack_that_stayed_torn(void **state)
{
    struct fake_process *f = *state;
    uint64_t gil_skips;

    fake_make_threads(f);
    fake_put_stack(f->fake, f->states[2], fake_frame(f->fake, fake_function(f, "f"), 5, NOWHERE));
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_string_equal(fake_functions(f), "old old - ");
    assert_true(f->seen[2].torn);
    gil_skips = fake_gil_skips(f);
    fake_put_stack(f->fake, f->states[2], fake_stack(f, "new", 5));
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_int_equal(fake_gil_skips(f), gil_skips);
    assert_string_equal(fake_functions(f), "old old new ");
    assert_false(f->seen[2].same);
}

static void allocates_nothing_once_warm(void **state)
{
    struct fake_process *f = *state;
    cpy_addr stacks[2];
    unsigned long allocations;
    uint64_t gil_skips;
    size_t i;
    enum cpy_rc rc = CPY_OK;

    fake_make_threads(f);
    for (i = 0; i < 2; i++)
        stacks[i] = fake_stack(f, "f", 5);
    for (i = 0; i < 10; i++) {
        fake_hold_gil(f, f->states[i % 2]);
        fake_put_stack(f->fake, f->states[i % 2], stacks[i / 2 % 2]);
        assert_int_equal(fake_sample(f), CPY_OK);
    }
    gil_skips = fake_gil_skips(f);
    alloc_fail_all();
    for (i = 0; i < 40 && rc == CPY_OK; i++) {
        if (i % 8 == 0)
            fake_hold_gil(f, f->states[i / 8 % 2]);
        fake_put_stack(f->fake, f->states[i / 8 % 2], stacks[i / 2 % 2]);
        rc = fake_sample(f);
    }
    allocations = alloc_fail_stop();

    assert_int_equal(rc, CPY_OK);
    assert_int_equal(fake_gil_skips(f), gil_skips + 40);
    assert_int_equal(allocations, 0);
}

/* A GIL-skip sample after a hand-over, without memory from the n-th allocation on. */
static enum cpy_rc fail_from(struct fake_process *f, unsigned long n, unsigned long *allocations)
{
    cpy_addr deep = fake_stack(f, "deep", 5);
    enum cpy_rc rc;

    for (int i = 0; i < 40; i++) /* more than there is room for */
        deep = fake_frame(f->fake, fake_function(f, "deep"), 5, deep);
    fake_hold_gil(f, f->states[0]);
    fake_put_stack(f->fake, f->states[0], deep);
    fake_put_stack(f->fake, f->states[2], fake_stack(f, "left", 5));
    alloc_fail_from(n);
    rc = fake_sample(f);
    *allocations = alloc_fail_stop();
    return rc;
}

static void gives_nothing_stale_once_there_is_memory_again(void **state)
{
    unsigned long n, allocations = ULONG_MAX, failed = 0;
    struct fake_process *f;
    void *own;
    enum cpy_rc rc;

    (void)state;
    for (n = 1; n <= allocations; n++) {
        assert_int_equal(fake_process_set_up(&own), 0);
        f = own;
        fake_make_threads(f);
        rc = fail_from(f, n, &allocations);
        assert_true(rc == CPY_NOMEM || rc == CPY_OK);
        failed += rc == CPY_NOMEM;
        assert_int_equal(fake_sample(f), CPY_OK);
        assert_string_equal(fake_functions(f), "deep old left ");
        fake_process_tear_down(&own);
    }
    assert_true(failed > 0);
}

static void skips_threads_as_soon_as_there_is_memory(void **state)
{
    unsigned long n, allocations = ULONG_MAX;
    struct fake_process *f;
    void *own;

    (void)state;
    for (n = 1; n <= allocations; n++) {
        assert_int_equal(fake_process_set_up(&own), 0);
        f = own;
        fake_hold_gil(f, fake_add_thread(f, fake_stack(f, "f", 5)));
        alloc_fail_at(n);
        (void)!fake_sample(f);
        allocations = alloc_fail_stop();
        for (int i = 0; i < 8; i++)
            assert_int_equal(fake_sample(f), CPY_OK);
        assert_true(fake_gil_skips(f) > 0);
        assert_string_equal(fake_functions(f), "f ");
        fake_process_tear_down(&own);
    }
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fake_process_set_up, fake_process_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(knows_whether_a_thread_that_it_does_not_read_has_the_gil),
        TEST(a_sleeper_whose_state_runs_is_another_thread),
        TEST(a_sleeper_that_has_run_since_is_the_thread_that_it_says),
        TEST(reads_only_the_state_of_threads_that_slept_where_all_are_read),
        TEST(reads_sleepers_whose_stacks_are_not_kept),
        TEST(reads_a_thread_that_woke_after_it_was_found_asleep),
        TEST(sees_a_code_object_that_is_replaced_within_a_hand_over),
        TEST(says_what_is_the_same),
        TEST(a_thread_of_another_name_is_not_the_same),
        TEST(tries_again_what_was_torn),
        TEST(reads_all_after_a_stack_that_stayed_torn),
        TEST(allocates_nothing_once_warm),
        TEST(gives_nothing_stale_once_there_is_memory_again),
        TEST(skips_threads_as_soon_as_there_is_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

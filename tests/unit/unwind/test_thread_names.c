/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_names.c - names of threads are read when they may be others, at a cost that does not
 * depend on how many threads there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/threading.h"

enum { THREADS = 300, FEW = 5, NATIVE = 9000 };

struct scene {
    struct fake_process p;
    cpy_addr variable, type;                    /* threading._active, and the class Thread */
    cpy_addr states[THREADS], threads[THREADS]; /* PyThreadState, Thread; [0] is the oldest */
    size_t count;
};

static uint64_t ident_of(const struct scene *s, size_t i)
{
    return fake_get64(s->p.fake, s->states[i] + s->p.fake->layout.thread.thread_id);
}

/* Makes threading._active what it is after threads have come, gone or been replaced. */
static void put_active(struct scene *s)
{
    struct fake_int_item items[THREADS];

    for (size_t i = 0; i < s->count; i++)
        items[i] = (struct fake_int_item){ident_of(s, i), s->threads[i]};
    fake_put64(s->p.fake, s->variable, fake_int_dict(s->p.fake, items, s->count));
}

static void rename_thread(struct scene *s, size_t i, const char *name)
{
    fake_put64(s->p.fake, s->threads[i] + THREADING_NAME, fake_str(s->p.fake, name));
}

/* A thread that has this name; NULL: threading does not know it. */
static void add_thread(struct scene *s, const char *name)
{
    s->states[s->count] = fake_add_thread(&s->p, fake_stack(&s->p, "work", 5));
    s->threads[s->count] = name ? threading_thread(s->p.fake, s->type, name) : 0;
    s->count++;
}

/* Threads "t0", "t1" ..., of which the oldest has the GIL. */
static void begin(struct scene *s, size_t count)
{
    char name[16];

    *s = (struct scene){.p = fake_process_make(14)};
    s->p.seen = calloc(FAKE_SEEN_MAX, sizeof(*s->p.seen));
    s->p.innermost = calloc(FAKE_SEEN_MAX, sizeof(*s->p.innermost));
    assert_true(s->p.seen && s->p.innermost);
    s->type = threading_class(s->p.fake);
    s->variable = threading_import(s->p.fake, s->p.interp);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "t%zu", i);
        add_thread(s, name);
    }
    put_active(s);
    fake_hold_gil(&s->p, s->states[0]);
}

static void end(struct scene *s)
{
    cpy_close(s->p.target);
    free(s->p.seen);
    free(s->p.innermost);
}

/* Samples; gives the system calls that it took. */
static uint64_t sample(struct scene *s)
{
    const uint64_t reads = s->p.fake->mem.reads;

    assert_int_equal(fake_sample(&s->p), CPY_OK);
    assert_int_equal(s->p.count, s->count);
    return s->p.fake->mem.reads - reads;
}

/* What the last sample said of a thread. The newest is given first. */
static const struct cpy_thread *seen(const struct scene *s, size_t i)
{
    return &s->p.seen[s->count - 1 - i];
}

static void assert_name(const struct scene *s, size_t i, const char *name)
{
    assert_non_null(seen(s, i)->name);
    assert_string_equal(seen(s, i)->name, name);
}

static void knows_all_threads_in_the_first_sample(void **state)
{
    struct scene s;
    char name[16];

    (void)state;
    begin(&s, THREADS);
    (void)sample(&s);
    for (size_t i = 0; i < THREADS; i++) {
        (void)snprintf(name, sizeof(name), "t%zu", i);
        assert_name(&s, i, name);
    }
    end(&s);
}

static void sees_that_a_thread_has_renamed_itself(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, FEW);
    for (int i = 0; i < 4; i++)
        (void)sample(&s);
    rename_thread(&s, 0, "job-1");
    (void)sample(&s);
    assert_name(&s, 0, "t0");
    assert_true(seen(&s, 0)->same);
    cpy_look_at_names(s.p.target);
    (void)sample(&s);
    assert_name(&s, 0, "job-1");
    assert_false(seen(&s, 0)->same);
    assert_true(seen(&s, 0)->still);
    assert_true(seen(&s, 1)->same);
    (void)sample(&s);
    assert_name(&s, 0, "job-1");
    assert_true(seen(&s, 0)->same);
    end(&s);
}

/* A short look reads where the name was: there it stays what it was. */
static void sees_in_the_end_that_threading_has_the_thread_elsewhere(void **state)
{
    struct scene s;
    int rounds = 0;

    (void)state;
    begin(&s, FEW);
    (void)sample(&s);
    s.threads[0] = threading_thread(s.p.fake, s.type, "moved");
    put_active(&s);
    do {
        cpy_look_at_names(s.p.target);
        (void)sample(&s);
    } while (strcmp(seen(&s, 0)->name, "moved") != 0 && rounds++ < 200);
    assert_name(&s, 0, "moved");
    end(&s);
}

static void sees_in_the_end_that_a_sleeper_was_renamed(void **state)
{
    enum { ROUNDS = 10 * FEW };
    struct scene s;

    (void)state;
    begin(&s, FEW);
    for (int i = 0; i < 4; i++)
        (void)sample(&s);
    rename_thread(&s, 3, "renamed");
    for (int i = 0; i < ROUNDS; i++) {
        cpy_look_at_names(s.p.target);
        (void)sample(&s);
    }
    assert_name(&s, 3, "renamed");
    for (size_t i = 0; i < 3; i++)
        assert_true(seen(&s, i)->name[0] == 't');
    end(&s);
}

/* The next thread at the same memory and pthread_t, which the kernel has given another id. */
static void replace_thread(struct scene *s, size_t i, const char *name, uint64_t native)
{
    fake_put64(s->p.fake, s->states[i] + s->p.fake->layout.thread.native_thread_id, native);
    s->threads[i] = name ? threading_thread(s->p.fake, s->type, name) : 0;
    put_active(s);
}

static void gives_a_thread_no_name_of_another_that_had_its_state(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, FEW);
    for (int i = 0; i < 4; i++)
        (void)sample(&s);
    replace_thread(&s, 0, "second", NATIVE);
    (void)sample(&s);
    assert_name(&s, 0, "second");
    replace_thread(&s, 0, NULL, NATIVE + 1);
    (void)sample(&s);
    assert_null(seen(&s, 0)->name);
    assert_name(&s, 1, "t1");
    end(&s);
}

static void finds_the_name_of_a_thread_that_registers_late(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, FEW);
    add_thread(&s, NULL);
    put_active(&s);
    for (int i = 0; i < 4; i++)
        (void)sample(&s);
    assert_null(seen(&s, FEW)->name);
    s.threads[FEW] = threading_thread(s.p.fake, s.type, "late");
    put_active(&s);
    for (int i = 0; i < 8; i++)
        (void)sample(&s);
    assert_name(&s, FEW, "late");
    end(&s);
}

/* A program that the agent asks about names ten times a second makes as many system calls. */
static void costs_no_system_call_where_no_thread_comes(void **state)
{
    enum { WARM = 4, ROUNDS = 9 }; /* in the tenth it is the turn of one that sleeps */
    struct scene s;
    uint64_t reads, more = 0;

    (void)state;
    begin(&s, FEW);
    for (int i = 0; i < WARM; i++)
        (void)sample(&s);
    reads = sample(&s);
    for (int i = 0; i < ROUNDS; i++) {
        cpy_look_at_names(s.p.target);
        more += sample(&s) - reads;
        more += sample(&s) - reads;
    }
    assert_true(more <= 1); /* now and then something has to be read to be fetched the next time */
    assert_true(fake_gil_skips(&s.p) > 0);
    end(&s);
}

/* System calls of samples in each of which the newest thread is another one. */
static uint64_t churn(size_t count)
{
    enum { SAMPLES = 16, WARM = 4 };
    struct scene s;
    uint64_t reads = 0;
    char name[16];

    begin(&s, count);
    (void)sample(&s);
    for (uint64_t i = 0; i < WARM + SAMPLES; i++) {
        (void)snprintf(name, sizeof(name), "new-%u", (unsigned)i);
        replace_thread(&s, count - 1, name, NATIVE + i);
        fake_hold_gil(&s.p, s.states[count - 1]);
        fake_hold_gil(&s.p, s.states[0]);
        reads += i < WARM ? 0 * sample(&s) : sample(&s);
        assert_name(&s, count - 1, name);
        assert_name(&s, 0, "t0");
    }
    end(&s);
    return reads / SAMPLES;
}

static void costs_the_same_beside_few_threads_and_many(void **state)
{
    const uint64_t few = churn(FEW), many = churn(100);

    (void)state;
    assert_in_range(few, 1, 30);
    assert_in_range(many, few, few + 3); /* calls read 512 ranges */
}

static void looks_at_few_threads_a_sample(void **state)
{
    enum { LOOKS = 16, READS = 21 };
    struct scene s;
    char name[16];
    int samples = 0;

    (void)state;
    begin(&s, THREADS);
    s.p.target->options.status = CPY_STATUS_GIL_WAIT; /* all are read each time */
    (void)sample(&s);
    (void)sample(&s);
    for (size_t i = 0; i < THREADS; i++) {
        (void)snprintf(name, sizeof(name), "r%zu", i);
        rename_thread(&s, i, name);
    }
    cpy_look_at_names(s.p.target);
    while (seen(&s, 0)->name[0] == 't' && samples++ < THREADS / LOOKS + 2)
        assert_true(sample(&s) <= LOOKS * READS);
    assert_true(samples > 2);
    for (size_t i = 0; i < THREADS; i++) {
        (void)snprintf(name, sizeof(name), "r%zu", i);
        assert_name(&s, i, name);
    }
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_all_threads_in_the_first_sample),
        cmocka_unit_test(sees_that_a_thread_has_renamed_itself),
        cmocka_unit_test(sees_in_the_end_that_threading_has_the_thread_elsewhere),
        cmocka_unit_test(sees_in_the_end_that_a_sleeper_was_renamed),
        cmocka_unit_test(gives_a_thread_no_name_of_another_that_had_its_state),
        cmocka_unit_test(finds_the_name_of_a_thread_that_registers_late),
        cmocka_unit_test(costs_no_system_call_where_no_thread_comes),
        cmocka_unit_test(costs_the_same_beside_few_threads_and_many),
        cmocka_unit_test(looks_at_few_threads_a_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample.c - a sample has every live thread once, whole or torn, and always ends. */
#include <limits.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

static void gives_each_thread_with_its_stack(void **state)
{
    struct fake_process *f = *state;

    (void)fake_add_thread(f, fake_stack(f, "first", 5));
    (void)fake_add_thread(f, fake_stack(f, "second", 5));
    (void)fake_add_thread(f, 0);
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_int_equal(f->count, 3);
    assert_int_equal(f->seen[0].tid, 102);
    assert_int_equal(f->seen[0].depth, 0);
    assert_int_equal(f->seen[1].tid, 101);
    assert_string_equal(f->innermost[1]->func, "second");
    assert_string_equal(f->innermost[2]->func, "first");
    assert_string_equal(f->innermost[2]->file, "/srv/app.py");
    assert_int_equal(f->innermost[2]->first_line, 10);
    assert_int_equal(cpy_stats(f->target)->threads, 3);
    assert_int_equal(cpy_stats(f->target)->codes_read, 2);
}

static void gives_the_same_from_borrowed_memory_and_once_it_was_trimmed(void **state)
{
    struct fake_process *f = *state;
    struct cpy_scratch *scratch = cpy_scratch_new();

    assert_non_null(scratch);
    cpy_use_scratch(f->target, scratch);
    (void)fake_add_thread(f, fake_stack(f, "first", 5));
    (void)fake_add_thread(f, fake_stack(f, "second", 5));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fake_sample(f), CPY_OK);
        assert_int_equal(f->count, 2);
        assert_string_equal(f->innermost[0]->func, "second");
        assert_string_equal(f->innermost[1]->func, "first");
        if (i > 1)
            cpy_trim(f->target);
    }
    cpy_close(f->target);
    f->target = NULL;
    cpy_scratch_free(scratch);
}

static void says_who_is_main_and_who_holds_the_gil(void **state)
{
    struct fake_process *f = *state;
    const struct layout *l = &f->fake->layout;
    cpy_addr holder;

    (void)fake_add_thread(f, 0);
    holder = fake_add_thread(f, 0);
    fake_put64(f->fake, f->runtime + l->runtime.main_thread, 500);
    fake_put64(f->fake, f->gil + l->gil.last_holder, holder);
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_false((f->seen[0].status | f->seen[1].status) &
                 CPY_STATUS_GIL); /* the last holder has given it up */
    fake_put32(f->fake, f->gil + l->gil.locked, 1);
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_true(f->seen[0].status & CPY_STATUS_GIL);
    assert_false(f->seen[0].status & CPY_STATUS_MAIN);
    assert_false(f->seen[1].status & CPY_STATUS_GIL);
    assert_true(f->seen[1].status & CPY_STATUS_MAIN);
}

static void leaves_out_threads_that_do_not_live(void **state)
{
    struct fake_process *f = *state;
    uint32_t at = f->fake->layout.thread.status;

    fake_put32(f->fake, fake_add_thread(f, 0) + at, 0);
    fake_put32(f->fake, fake_add_thread(f, 0) + at, FAKE_BOUND | f->fake->layout.status_cleared);
    assert_int_equal(fake_sample(f), CPY_OK);
    assert_int_equal(f->count, 0);
}

static void leaves_out_frames_that_are_not_complete(void **state)
{
    struct fake_process *f = *state;
    cpy_addr caller = fake_stack(f, "caller", FAKE_FIRST_TRACEABLE), generator;

    (void)fake_add_thread(
        f, fake_frame(f->fake, fake_function(f, "callee"), FAKE_FIRST_TRACEABLE - 1, caller));
    generator = fake_frame(f->fake, fake_function(f, "generator"), 0, fake_shim(f->fake, 0));
    fake_put8(f->fake, generator + f->fake->layout.frame.owner, OWNER_GENERATOR);
    (void)fake_add_thread(f, generator);
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_int_equal(f->seen[1].depth, 1);
    assert_string_equal(f->innermost[1]->func, "caller");
    assert_int_equal(f->seen[0].depth, 1);
    assert_string_equal(f->innermost[0]->func, "generator");
}

static void gives_a_torn_thread_without_frames_and_the_others_whole(void **state)
{
    struct fake_process *f = *state;

    (void)fake_add_thread(f, fake_stack(f, "whole", 5));
    (void)fake_add_thread(f, fake_stack(f, "past its end", FAKE_UNITS));
    (void)fake_add_thread(f, fake_frame(f->fake, fake_function(f, "f"), 5, NOWHERE));
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_int_equal(f->count, 3);
    for (size_t i = 0; i < 2; i++) {
        assert_true(f->seen[i].torn);
        assert_int_equal(f->seen[i].depth, 0);
        assert_false(f->seen[i].cut);
    }
    assert_false(f->seen[2].torn);
    assert_string_equal(f->innermost[2]->func, "whole");
    assert_int_equal(cpy_stats(f->target)->torn, 2);
    assert_int_equal(cpy_stats(f->target)->retries, 2 * 15);
    assert_int_equal(cpy_stats(f->target)->threads, 1);
}

static cpy_addr changing, changed_frame;

static void mend_the_chain(struct fake *fake)
{
    fake_put64(fake, changing + fake->layout.frame.previous, changed_frame);
}

static void tries_again_what_was_torn(void **state)
{
    struct fake_process *f = *state;

    changed_frame = fake_shim(f->fake, 0);
    changing = fake_frame(f->fake, fake_function(f, "f"), 5, NOWHERE);
    (void)fake_add_thread(f, changing);
    f->fake->change = mend_the_chain;
    f->fake->change_at = 20;
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_false(f->seen[0].torn);
    assert_int_equal(f->seen[0].depth, 1);
    assert_true(cpy_stats(f->target)->retries > 0);
    assert_int_equal(cpy_stats(f->target)->torn, 0);
}

static cpy_addr renamed, new_name;
static uint8_t new_opcode;

static void put_another_code_object_there(struct fake *fake)
{
    fake_put64(fake, renamed + fake->layout.code.qualname, new_name);
    fake_put8(fake, renamed + fake->layout.code.bytecode, new_opcode);
}

static void never_shows_the_opcode_of_another_code_object(void **state)
{
    enum { READS = 60, NOP = 9, POP_TOP = 1 };
    const struct cpy_options opcodes = {.frames = CPY_FRAME_OPCODES};
    struct fake_process *f = *state;
    cpy_addr old_name = fake_str(f->fake, "old");
    int old = 0;

    cpy_set_options(f->target, &opcodes);
    new_name = fake_str(f->fake, "new");
    renamed = fake_function(f, "old");
    fake_put32(f->fake, renamed + f->fake->layout.code.firsttraceable, 0);
    (void)fake_add_thread(f, fake_frame(f->fake, renamed, 0, fake_shim(f->fake, 0)));
    f->fake->change = put_another_code_object_there;
    for (uint64_t read = 1; read <= READS; read++) {
        new_name = old_name;
        new_opcode = NOP;
        put_another_code_object_there(f->fake);
        new_name = fake_str(f->fake, "new");
        new_opcode = POP_TOP;
        f->fake->change_at = f->fake->mem.reads + read;
        assert_int_equal(fake_sample(f), CPY_OK);

        assert_false(f->seen[0].torn);
        assert_string_equal(f->opcode, strcmp(f->innermost[0]->func, "old") ? "POP_TOP" : "NOP");
        old += strcmp(f->innermost[0]->func, "old") == 0;
    }
    assert_in_range(old, 1, READS - 1);
}

static void end_the_thread(struct fake *fake)
{
    fake_put32(fake, changing + fake->layout.thread.status,
               FAKE_BOUND | fake->layout.status_cleared);
}

static void leaves_out_a_thread_that_ends_while_it_is_read(void **state)
{
    struct fake_process *f = *state;

    changing = fake_add_thread(f, fake_frame(f->fake, fake_function(f, "f"), 5, NOWHERE));
    f->fake->change = end_the_thread;
    f->fake->change_at = 20;
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_int_equal(f->count, 0);
    assert_int_equal(cpy_stats(f->target)->torn, 0);
}

static void ends_on_threads_that_loop(void **state)
{
    struct fake_process *f = *state;
    cpy_addr last = fake_add_thread(f, 0), first = fake_add_thread(f, 0);

    fake_put64(f->fake, last + f->fake->layout.thread.next, first);
    assert_int_equal(fake_sample(f), CPY_RACED);
    assert_int_equal(f->count, 0);
}

static void ends_on_interpreters_that_loop(void **state)
{
    struct fake_process *f = *state;

    (void)fake_add_thread(f, 0);
    fake_put64(f->fake, f->interp + f->fake->layout.interp.next, f->interp);
    assert_int_equal(fake_sample(f), CPY_RACED);
    assert_int_equal(f->count, 0);
}

static void refuses_a_thread_of_another_interpreter(void **state)
{
    struct fake_process *f = *state;

    fake_put64(f->fake, fake_add_thread(f, 0) + f->fake->layout.thread.interp, NOWHERE);
    assert_int_equal(fake_sample(f), CPY_RACED);
    assert_int_equal(f->count, 0);
}

static void waits_for_an_interpreter_that_starts_or_ends(void **state)
{
    struct fake_process *f = *state;
    const struct layout *l = &f->fake->layout;

    (void)fake_add_thread(f, 0);
    fake_put64(f->fake, f->runtime + l->runtime.finalizing, 1);
    assert_int_equal(fake_sample(f), CPY_STARTING);
    fake_put64(f->fake, f->runtime + l->runtime.finalizing, 0);
    assert_int_equal(fake_sample(f), CPY_OK);
    fake_put64(f->fake, f->runtime + l->runtime.interpreters_head, 0);
    assert_int_equal(fake_sample(f), CPY_STARTING);
    assert_int_equal(f->count, 0);
}

static void fails_where_the_runtime_is_no_longer_mapped(void **state)
{
    struct fake_process *f = *state;

    (void)fake_add_thread(f, 0);
    f->fake->hole = f->runtime;
    f->fake->hole_end = f->runtime + 1024;
    assert_int_equal(fake_sample(f), CPY_RACED);
    assert_int_equal(f->count, 0);
}

static void gives_the_threads_of_every_interpreter(void **state)
{
    struct fake_process *f = *state;
    const struct layout *l = &f->fake->layout;
    cpy_addr main_interp = f->interp;

    (void)fake_add_thread(f, fake_stack(f, "of main", 5));
    f->interp = fake_room(f->fake, l->interp.size);
    fake_put64(f->fake, f->interp + l->interp.gil, f->gil);
    fake_put64(f->fake, f->interp + l->interp.id, 1);
    fake_put64(f->fake, main_interp + l->interp.next, f->interp);
    (void)fake_add_thread(f, fake_stack(f, "of sub", 5));
    assert_int_equal(fake_sample(f), CPY_OK);

    assert_int_equal(f->count, 2);
    assert_int_equal(f->seen[0].interpreter, 0);
    assert_string_equal(f->innermost[0]->func, "of main");
    assert_int_equal(f->seen[1].interpreter, 1);
    assert_string_equal(f->innermost[1]->func, "of sub");
}

static void allocates_nothing_once_warm(void **state)
{
    struct fake_process *f = *state;
    unsigned long allocations;
    enum cpy_rc rc;

    for (int i = 0; i < 40; i++)
        (void)fake_add_thread(f, fake_stack(f, "f", 5));
    for (int i = 0; i < 3; i++)
        assert_int_equal(fake_sample(f), CPY_OK);
    alloc_fail_all();
    rc = fake_sample(f);
    allocations = alloc_fail_stop();

    assert_int_equal(rc, CPY_OK);
    assert_int_equal(f->count, 40);
    assert_int_equal(allocations, 0);
}

static void fails_cleanly_at_any_allocation(void **state)
{
    struct fake_process *f;
    unsigned long n, allocations = ULONG_MAX, failed = 0;
    void *own;
    enum cpy_rc rc;

    (void)state;
    for (n = 1; n <= allocations; n++) { /* each in a target that has nothing yet */
        assert_int_equal(fake_process_set_up(&own), 0);
        f = own;
        for (int i = 0; i < 40; i++)
            (void)fake_add_thread(f, fake_stack(f, "f", 5));
        alloc_fail_at(n);
        rc = fake_sample(f);
        allocations = alloc_fail_stop();
        assert_true(rc == CPY_NOMEM || rc == CPY_OK);
        failed += rc == CPY_NOMEM;
        assert_int_equal(fake_sample(f), CPY_OK);
        assert_int_equal(f->count, 40);
        fake_process_tear_down(&own);
    }
    assert_true(failed > 0); /* what is only kept or predicted may fail */
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fake_process_set_up, fake_process_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(gives_each_thread_with_its_stack),
        TEST(gives_the_same_from_borrowed_memory_and_once_it_was_trimmed),
        TEST(says_who_is_main_and_who_holds_the_gil),
        TEST(leaves_out_threads_that_do_not_live),
        TEST(leaves_out_frames_that_are_not_complete),
        TEST(gives_a_torn_thread_without_frames_and_the_others_whole),
        TEST(tries_again_what_was_torn),
        TEST(never_shows_the_opcode_of_another_code_object),
        TEST(leaves_out_a_thread_that_ends_while_it_is_read),
        TEST(ends_on_threads_that_loop),
        TEST(ends_on_interpreters_that_loop),
        TEST(refuses_a_thread_of_another_interpreter),
        TEST(waits_for_an_interpreter_that_starts_or_ends),
        TEST(fails_where_the_runtime_is_no_longer_mapped),
        TEST(gives_the_threads_of_every_interpreter),
        TEST(allocates_nothing_once_warm),
        TEST(fails_cleanly_at_any_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

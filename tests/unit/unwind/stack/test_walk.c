/* SPDX-License-Identifier: Apache-2.0 */
/* test_walk.c - a chain of frames is taken whole or not at all, however it is broken. */
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

static struct raw_stack got;

/* Walks a chain that begins at `current` and ends the fake. */
static enum cpy_rc walk_from(struct fake *fake, cpy_addr current)
{
    enum cpy_rc rc = fake_walk(fake, fake_thread(fake, current), NULL, &got);

    mem_close(&fake->mem);
    return rc;
}

/* `count` frames, code i at FAKE_CODE + 16 * i, unit i, called by `root`; gives the innermost. */
static cpy_addr put_chain(struct fake *fake, size_t count, cpy_addr root)
{
    while (count-- > 0)
        root = fake_frame(fake, FAKE_CODE + 16 * count, (int64_t)count, root);
    return root;
}

static void gives_the_frames_innermost_first(void **state)
{
    struct fake *fake = fake_of(12);

    (void)state;
    assert_int_equal(walk_from(fake, put_chain(fake, 3, fake_shim(fake, 0))), CPY_OK);

    assert_int_equal(got.depth, 3);
    assert_false(got.cut);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(got.frames[i].code, FAKE_CODE + 16 * i);
        assert_int_equal(got.frames[i].unit, i);
        assert_int_equal(got.frames[i].kind, RAW_FRAME);
    }
}

static void gives_no_frames_for_a_thread_without_any(void **state)
{
    static const unsigned minors[] = {11, 12, 14, 15};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(minors) / sizeof(minors[0]); i++) {
        got.depth = 9;
        assert_int_equal(walk_from(fake_of(minors[i]), 0), CPY_OK);
        assert_int_equal(got.depth, 0);
        assert_false(got.cut);
    }
}

static void takes_the_tag_off_an_executable(void **state)
{
    struct fake *fake = fake_of(14);
    cpy_addr frame = fake_frame(fake, FAKE_CODE, 5, fake_shim(fake, 0));

    (void)state;
    fake_put64(fake, frame + fake->layout.frame.executable, FAKE_CODE | 1);
    assert_int_equal(walk_from(fake, frame), CPY_OK);

    assert_int_equal(got.frames[0].code, FAKE_CODE);
    assert_int_equal(got.frames[0].unit, 5);
}

static void keeps_a_generator_frame_that_has_not_started(void **state)
{
    struct fake *fake = fake_of(12);
    cpy_addr frame = fake_frame(fake, FAKE_CODE, -1, fake_shim(fake, 0));

    (void)state;
    fake_put8(fake, frame + fake->layout.frame.owner, OWNER_GENERATOR);
    assert_int_equal(walk_from(fake, frame), CPY_OK);

    assert_int_equal(got.depth, 1);
    assert_int_equal(got.frames[0].unit, -1);
    assert_int_equal(got.frames[0].kind, RAW_GENERATOR);
}

static void passes_over_shims_and_frames_without_code(void **state)
{
    struct fake *fake = fake_of(12);
    cpy_addr at = put_chain(fake, 1, fake_shim(fake, 0));

    (void)state;
    at = fake_frame(fake, 0, 0, at); /* being taken down */
    at = fake_shim(fake, at);
    assert_int_equal(walk_from(fake, fake_frame(fake, FAKE_CODE + 64, 0, at)), CPY_OK);

    assert_int_equal(got.depth, 2);
    assert_int_equal(got.frames[0].code, FAKE_CODE + 64);
    assert_int_equal(got.frames[1].code, FAKE_CODE);
}

static void ends_on_a_loop_of_frames(void **state)
{
    enum { LENGTH_MAX = 40 };

    (void)state;
    for (size_t length = 1; length <= LENGTH_MAX; length++) {
        struct fake *fake = fake_of(12);
        cpy_addr last = fake_frame(fake, FAKE_CODE, 0, 0);
        cpy_addr first = put_chain(fake, length - 1, last);

        fake_put64(fake, last + fake->layout.frame.previous, first);
        assert_int_equal(walk_from(fake, put_chain(fake, 7, first)), CPY_RACED);
    }
}

static void ends_on_a_loop_of_shims_alone(void **state)
{
    struct fake *fake = fake_of(12);
    cpy_addr first = fake_shim(fake, 0), second = fake_shim(fake, first);

    (void)state;
    fake_put64(fake, first + fake->layout.frame.previous, second);
    assert_int_equal(walk_from(fake, second), CPY_RACED);
}

static void refuses_a_frame_at_an_odd_address(void **state)
{
    (void)state;
    for (cpy_addr off = 1; off < 8; off++) {
        struct fake *fake = fake_of(12);
        cpy_addr room = fake_room(fake, 2 * fake->layout.frame.size) + off;

        fake_put_frame(fake, room,
                       &(struct fake_frame){.code = FAKE_CODE, .previous = fake_shim(fake, 0)});
        assert_int_equal(walk_from(fake, room), CPY_RACED);
    }
}

static void refuses_a_code_object_at_an_odd_address(void **state)
{
    struct fake *fake;

    (void)state;
    for (cpy_addr off = 1; off < 8; off++) {
        fake = fake_of(12);
        assert_int_equal(walk_from(fake, fake_frame(fake, FAKE_CODE + off, 0, fake_shim(fake, 0))),
                         CPY_RACED);
    }
    fake = fake_of(14); /* two bits are a tag, the third is none */
    assert_int_equal(walk_from(fake, fake_frame(fake, FAKE_CODE + 4, 0, fake_shim(fake, 0))),
                     CPY_RACED);
}

/* A frame whose instruction lies `bytes` after the start of its code. */
static enum cpy_rc walk_instruction(int64_t bytes)
{
    struct fake *fake = fake_of(12);
    cpy_addr frame = fake_frame(fake, FAKE_CODE, 0, fake_shim(fake, 0));

    fake_put64(fake, frame + fake->layout.frame.instr,
               FAKE_CODE + fake->layout.code.bytecode + (uint64_t)bytes);
    return walk_from(fake, frame);
}

static void refuses_an_instruction_outside_the_code(void **state)
{
    (void)state;
    assert_int_equal(walk_instruction(-2), CPY_OK); /* not started */
    assert_int_equal(got.frames[0].unit, -1);
    assert_int_equal(walk_instruction(-4), CPY_RACED);
    assert_int_equal(walk_instruction(INT64_MIN), CPY_RACED);
    assert_int_equal(walk_instruction(INT64_MAX - 1), CPY_RACED);
    assert_int_equal(walk_instruction(INT64_C(2) * INT32_MAX), CPY_OK);
    assert_int_equal(walk_instruction(INT64_C(2) * INT32_MAX + 2), CPY_RACED);
}

static void refuses_an_instruction_between_two_units(void **state)
{
    (void)state;
    assert_int_equal(walk_instruction(7), CPY_RACED);
    assert_int_equal(walk_instruction(-1), CPY_RACED);
}

static void takes_3_11_chains_that_end_at_an_entry_frame_only(void **state)
{
    struct fake *fake = fake_of(11);
    cpy_addr root = fake_frame(fake, FAKE_CODE, 0, 0);

    (void)state;
    assert_int_equal(walk_from(fake, root), CPY_RACED);
    fake = fake_of(11);
    root = fake_frame(fake, FAKE_CODE, 0, 0);
    fake_put8(fake, root + fake->layout.frame.is_entry, 1);
    assert_int_equal(walk_from(fake, put_chain(fake, 2, root)), CPY_OK);
    assert_int_equal(got.depth, 3);
}

static void takes_3_12_chains_that_end_at_a_shim_only(void **state)
{
    struct fake *fake = fake_of(12);

    (void)state;
    assert_int_equal(walk_from(fake, put_chain(fake, 2, 0)), CPY_RACED);
    fake = fake_of(12);
    assert_int_equal(walk_from(fake, put_chain(fake, 2, fake_shim(fake, 0))), CPY_OK);
    assert_int_equal(got.depth, 2);
}

static enum cpy_rc walk_3_15(cpy_addr end_of(struct fake *fake, cpy_addr base))
{
    struct fake *fake = fake_of(15);
    cpy_addr base = fake_shim(fake, 0);
    cpy_addr thread = fake_thread(fake, put_chain(fake, 2, end_of(fake, base)));
    enum cpy_rc rc;

    fake_put64(fake, thread + fake->layout.thread.base_frame, base);
    rc = fake_walk(fake, thread, NULL, &got);
    mem_close(&fake->mem);
    return rc;
}

static cpy_addr base_itself(struct fake *fake, cpy_addr base)
{
    (void)fake;
    return base;
}

static cpy_addr another_shim(struct fake *fake, cpy_addr base)
{
    (void)base;
    return fake_shim(fake, 0);
}

static cpy_addr no_shim(struct fake *fake, cpy_addr base)
{
    (void)fake;
    (void)base;
    return 0;
}

static void
takes_3_15_chains_that_end_at_the_base_frame_or_at_the_first_of_a_data_stack(void **state)
{
    (void)state;
    assert_int_equal(walk_3_15(base_itself), CPY_OK);
    assert_int_equal(got.depth, 2);
    assert_int_equal(walk_3_15(another_shim), CPY_OK); /* a greenlet: see test_greenlets.c */
    assert_int_equal(walk_3_15(no_shim), CPY_RACED);
}

static void refuses_a_chain_into_unmapped_memory(void **state)
{
    struct fake *fake = fake_of(12);

    (void)state;
    assert_int_equal(walk_from(fake, put_chain(fake, 2, NOWHERE)), CPY_RACED);
}

static void takes_a_stack_of_exactly_the_greatest_depth_whole(void **state)
{
    struct fake *fake = fake_of(12);

    (void)state;
    assert_int_equal(walk_from(fake, put_chain(fake, CPY_DEPTH_MAX, fake_shim(fake, 0))), CPY_OK);

    assert_int_equal(got.depth, CPY_DEPTH_MAX);
    assert_false(got.cut);
}

static void cuts_a_deeper_stack_at_the_root_and_says_so(void **state)
{
    struct fake *fake = fake_of(12);

    (void)state;
    assert_int_equal(walk_from(fake, put_chain(fake, CPY_DEPTH_MAX + 1, fake_shim(fake, 0))),
                     CPY_OK);

    assert_int_equal(got.depth, CPY_DEPTH_MAX);
    assert_true(got.cut);
    assert_int_equal(got.frames[0].code, FAKE_CODE);
    assert_int_equal(got.frames[CPY_DEPTH_MAX - 1].code, FAKE_CODE + 16 * (CPY_DEPTH_MAX - 1));
}

static cpy_addr thread_to_change;

static void call_another_function(struct fake *fake)
{
    const struct layout *l = &fake->layout;
    cpy_addr at = thread_to_change + l->thread.current_frame;

    if (l->thread.cframe != NO_FIELD)
        at = fake_get64(fake, thread_to_change + l->thread.cframe) + l->cframe.current_frame;
    fake_put_stack(fake, thread_to_change, fake_frame(fake, FAKE_CODE, 0, fake_get64(fake, at)));
}

/* Walks with a call made before read `change_at`; *reads: how many reads there were. */
static enum cpy_rc walk_with_a_call(unsigned minor, uint64_t change_at, uint64_t *reads)
{
    struct fake *fake = fake_of(minor);
    cpy_addr base = fake_shim(fake, 0);
    enum cpy_rc rc;

    thread_to_change = fake_thread(fake, put_chain(fake, 4, base));
    if (fake->layout.thread.base_frame != NO_FIELD)
        fake_put64(fake, thread_to_change + fake->layout.thread.base_frame, base);
    fake->change = call_another_function;
    fake->change_at = change_at;
    rc = fake_walk(fake, thread_to_change, NULL, &got);
    *reads = fake->mem.reads;
    mem_close(&fake->mem);
    return rc;
}

static void notices_a_call_made_during_the_walk(void **state)
{
    static const unsigned minors[] = {12, 14, 15};
    uint64_t reads, unused, first, i;

    (void)state;
    for (size_t m = 0; m < sizeof(minors) / sizeof(minors[0]); m++) {
        assert_int_equal(walk_with_a_call(minors[m], UINT64_MAX, &reads), CPY_OK);
        first = minors[m] == 12 ? 3 : 2; /* after the current frame was read */
        for (i = first; i <= reads; i++)
            assert_int_equal(walk_with_a_call(minors[m], i, &unused), CPY_RACED);
        assert_int_equal(walk_with_a_call(minors[m], 1, &unused), CPY_OK);
        assert_int_equal(got.depth, 5);
    }
}

static cpy_addr frame_to_change;

static void move_the_caller_on(struct fake *fake)
{
    fake_put64(fake, frame_to_change + fake->layout.frame.instr, 0);
}

/* Walks from a frame whose caller, called through C code or not, goes on before the last read. */
static enum cpy_rc walk_with_a_caller_that_moves_on(unsigned minor, bool through_c)
{
    struct fake *fake = fake_of(minor);
    cpy_addr caller = fake_frame(fake, FAKE_CODE, 1, put_chain(fake, 2, fake_shim(fake, 0)));
    cpy_addr leaf = fake_frame(fake, FAKE_CODE, 1, through_c ? fake_shim(fake, caller) : caller);
    cpy_addr thread = fake_thread(fake, leaf);
    enum cpy_rc rc;

    frame_to_change = caller;
    assert_int_equal(fake_walk(fake, thread, NULL, &got), CPY_OK);
    fake->change = move_the_caller_on;
    fake->change_at = 2 * fake->mem.reads;
    rc = fake_walk(fake, thread, NULL, &got);
    mem_close(&fake->mem);
    return rc;
}

static void notices_that_the_caller_went_on_where_returned_frames_are_not_marked(void **state)
{
    (void)state;
    for (unsigned minor = 12; minor <= 13; minor++) {
        assert_int_equal(walk_with_a_caller_that_moves_on(minor, false), CPY_RACED);
        assert_int_equal(walk_with_a_caller_that_moves_on(minor, true), CPY_RACED);
    }
}

static void change_the_cframe(struct fake *fake)
{
    cpy_addr field = thread_to_change + fake->layout.thread.cframe;

    fake_put64(fake, field, fake_room(fake, 64));
}

static void notices_a_cframe_that_is_another_one_after_the_walk(void **state)
{
    struct fake *fake = fake_of(12);

    (void)state;
    thread_to_change = fake_thread(fake, put_chain(fake, 4, fake_shim(fake, 0)));
    fake->change = change_the_cframe; /* the old one stays as it was */
    fake->change_at = 4;

    assert_int_equal(fake_walk(fake, thread_to_change, NULL, &got), CPY_RACED);
    mem_close(&fake->mem);
}

static void reads_the_generation_after_the_frames(void **state)
{
    struct fake *fake = fake_of(14);
    struct walk_scratch *scratch = walk_scratch_new();
    cpy_addr thread = fake_thread(fake, put_chain(fake, 2, fake_shim(fake, 0)));
    cpy_addr generation_at = fake_room(fake, 8);
    const struct walk_marks marks = {0};
    struct thread_words words;
    uint64_t generation = 0;

    (void)state;
    fake_put64(fake, generation_at, 77);
    assert_int_equal(walk_read_thread(&fake->reader, thread, &words), CPY_OK);
    assert_int_equal(walk_stack(&fake->reader, scratch, &words, &marks,
                                &(const struct raw_before){0}, generation_at, &got, &generation),
                     CPY_OK);
    assert_int_equal(generation, 77);
    assert_int_equal(got.depth, 2);
    walk_scratch_free(scratch);
    mem_close(&fake->mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_frames_innermost_first),
        cmocka_unit_test(gives_no_frames_for_a_thread_without_any),
        cmocka_unit_test(takes_the_tag_off_an_executable),
        cmocka_unit_test(keeps_a_generator_frame_that_has_not_started),
        cmocka_unit_test(passes_over_shims_and_frames_without_code),
        cmocka_unit_test(ends_on_a_loop_of_frames),
        cmocka_unit_test(ends_on_a_loop_of_shims_alone),
        cmocka_unit_test(refuses_a_frame_at_an_odd_address),
        cmocka_unit_test(refuses_a_code_object_at_an_odd_address),
        cmocka_unit_test(refuses_an_instruction_outside_the_code),
        cmocka_unit_test(refuses_an_instruction_between_two_units),
        cmocka_unit_test(takes_3_11_chains_that_end_at_an_entry_frame_only),
        cmocka_unit_test(takes_3_12_chains_that_end_at_a_shim_only),
        cmocka_unit_test(
            takes_3_15_chains_that_end_at_the_base_frame_or_at_the_first_of_a_data_stack),
        cmocka_unit_test(refuses_a_chain_into_unmapped_memory),
        cmocka_unit_test(takes_a_stack_of_exactly_the_greatest_depth_whole),
        cmocka_unit_test(cuts_a_deeper_stack_at_the_root_and_says_so),
        cmocka_unit_test(notices_a_call_made_during_the_walk),
        cmocka_unit_test(notices_that_the_caller_went_on_where_returned_frames_are_not_marked),
        cmocka_unit_test(notices_a_cframe_that_is_another_one_after_the_walk),
        cmocka_unit_test(reads_the_generation_after_the_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

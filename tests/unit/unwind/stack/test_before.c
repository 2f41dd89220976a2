/* SPDX-License-Identifier: Apache-2.0 */
/* test_before.c - a stack is compared with the one before, and is what a whole walk gives.
 */
#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum {
    CHUNK_HEAD = 24,
    FRAMES = 6,
    ENTERED = 3
}; /* C code is between frames ENTERED - 1 and ENTERED */

/*
 * A thread of 3.15 with FRAMES frames in its data stack, 0 the outermost, that was walked once.
 * Whole stacks are read from it by threads that do not count their frames.
 */
struct stack {
    struct fake *fake;
    cpy_addr thread, base, chunk, root_entry, entry;
    struct raw_before before;
};

static struct raw_stack first, got;
static bool late; /* as if the thread state had been read after the frames */

static bool is_late(const struct mem *mem)
{
    (void)mem;
    return late;
}

static cpy_addr frame_at(const struct stack *s, size_t i)
{
    return s->chunk + CHUNK_HEAD + i * s->fake->layout.frame.size;
}

/* What frame i was called by. */
static cpy_addr caller_of(const struct stack *s, size_t i)
{
    return i == 0 ? s->root_entry : i == ENTERED ? s->entry : frame_at(s, i - 1);
}

static void put_frame(struct stack *s, size_t i, int64_t unit, cpy_addr previous)
{
    fake_put_frame(
        s->fake, frame_at(s, i),
        &(struct fake_frame){.code = FAKE_CODE + 64 * i, .unit = unit, .previous = previous});
}

/* What the thread says of how many Python frames it has. */
static void count_frames(struct stack *s, int32_t count)
{
    uint32_t at = s->fake->layout.thread.recursion_remaining;

    fake_put32(s->fake, s->thread + at, (uint32_t)(1000 - count));
    fake_put32(s->fake, s->thread + at + 4, 1000);
}

/* The stack ends at frame `leaf`. */
static void stand_at(struct stack *s, size_t leaf)
{
    fake_put64(s->fake, s->thread + s->fake->layout.thread.current_frame, frame_at(s, leaf));
    fake_set_data_stack(s->fake, s->thread, s->chunk, frame_at(s, leaf + 1));
}

static enum cpy_rc walk(struct stack *s, const struct raw_before *before, struct raw_stack *out)
{
    return fake_walk(s->fake, s->thread, before, out);
}

static struct stack make_stack(void)
{
    struct stack s = {.fake = fake_of(15)};
    const struct layout *l = &s.fake->layout;
    size_t i;

    s.fake->mem.is_late = is_late;
    late = true;
    s.thread = fake_thread(s.fake, 0);
    s.base = fake_shim(s.fake, 0);
    fake_put64(s.fake, s.thread + l->thread.base_frame, s.base);
    s.chunk = fake_room(s.fake, CHUNK_HEAD + (FRAMES + 2) * l->frame.size);
    s.root_entry = fake_shim(s.fake, s.base);
    s.entry = fake_shim(s.fake, frame_at(&s, ENTERED - 1));
    for (i = 0; i < FRAMES; i++)
        put_frame(&s, i, (int64_t)i, caller_of(&s, i));
    stand_at(&s, FRAMES - 1);
    count_frames(&s, FRAMES);
    assert_int_equal(walk(&s, &(const struct raw_before){0}, &first), CPY_OK);
    assert_int_equal(first.depth, FRAMES);
    assert_int_equal(first.same, 0);
    s.before = (struct raw_before){first.frames, first.depth};
    return s;
}

/* Entry frames cannot be read any more: whoever tries fails. */
static void hide_entries(struct stack *s)
{
    s->fake->hole = s->root_entry;
    s->fake->hole_end = s->entry + s->fake->layout.frame.size;
}

/* The frames of `got`, those that are the same included, are as a walk without `before` has them.
 */
static void check_whole(struct stack *s)
{
    static struct raw_stack whole;
    uint32_t i;

    assert_int_equal(walk(s, &(const struct raw_before){0}, &whole), CPY_OK);
    assert_int_equal(got.depth + got.same, whole.depth);
    assert_int_equal(got.cut, whole.cut);
    for (i = 0; i < whole.depth; i++) {
        const struct raw_frame *frame =
            i < got.depth ? &got.frames[i]
                          : &s->before.frames[s->before.depth - got.same + (i - got.depth)];

        assert_memory_equal(frame, &whole.frames[i], sizeof(*frame));
    }
}

static void a_stack_that_stands_still_is_the_same(void **state)
{
    struct stack s = make_stack();

    (void)state;
    hide_entries(&s);
    assert_int_equal(walk(&s, &s.before, &got), CPY_OK);
    assert_int_equal(got.depth, 0);
    assert_int_equal(got.same, FRAMES);
    s.fake->hole = s.fake->hole_end = 0;
    check_whole(&s);
    mem_close(&s.fake->mem);
}

static void only_what_moved_is_taken(void **state)
{
    struct stack s = make_stack();

    (void)state;
    hide_entries(&s);
    put_frame(&s, FRAMES - 1, 77, frame_at(&s, FRAMES - 2));
    assert_int_equal(walk(&s, &s.before, &got), CPY_OK);
    assert_int_equal(got.depth, 1);
    assert_int_equal(got.frames[0].unit, 77);
    assert_int_equal(got.same, FRAMES - 1);
    put_frame(&s, FRAMES, 3, frame_at(&s, FRAMES - 1)); /* a call more */
    stand_at(&s, FRAMES);
    count_frames(&s, FRAMES + 1);
    assert_int_equal(walk(&s, &s.before, &got), CPY_OK);
    assert_int_equal(got.depth, 2);
    assert_int_equal(got.same, FRAMES - 1);
    stand_at(&s, 4); /* two less: the frame of before is in the middle of what was kept */
    count_frames(&s, 5);
    assert_int_equal(walk(&s, &s.before, &got), CPY_OK);
    assert_int_equal(got.depth, 0);
    assert_int_equal(got.same, 5);
    s.fake->hole = s.fake->hole_end = 0;
    check_whole(&s);
    mem_close(&s.fake->mem);
}

static void what_is_the_same_above_a_change_is_taken_with_it(void **state)
{
    size_t changed;

    (void)state;
    for (changed = 0; changed < FRAMES; changed++) {
        struct stack s = make_stack();

        put_frame(&s, changed, 50, caller_of(&s, changed));
        assert_int_equal(walk(&s, &s.before, &got), CPY_OK);
        assert_int_equal(got.depth, FRAMES - changed);
        assert_int_equal(got.same, changed);
        check_whole(&s);
        mem_close(&s.fake->mem);
    }
}

/* Puts a generator's frame between the C code and what it has called. */
static cpy_addr put_generator(struct stack *s)
{
    cpy_addr generator = fake_room(s->fake, s->fake->layout.frame.size);

    fake_put_frame(s->fake, generator,
                   &(struct fake_frame){.code = FAKE_CODE + 4096,
                                        .previous = frame_at(s, ENTERED - 1),
                                        .owner = OWNER_GENERATOR});
    fake_put64(s->fake, s->entry + s->fake->layout.frame.previous, generator);
    return generator;
}

static void a_generator_behind_an_entry_frame_is_found_by_the_count(void **state)
{
    struct stack s = make_stack();
    cpy_addr generator = put_generator(&s);

    (void)state;
    count_frames(&s, FRAMES + 1);
    assert_int_equal(walk(&s, &s.before, &got), CPY_OK);
    assert_int_equal(got.depth + got.same, FRAMES + 1);
    assert_int_equal(got.frames[FRAMES - ENTERED].addr, generator);
    assert_int_equal(got.frames[FRAMES - ENTERED].kind, RAW_GENERATOR);
    check_whole(&s);
    mem_close(&s.fake->mem);
}

static void entry_frames_are_read_where_nothing_vouches_for_them(void **state)
{
    struct stack s = make_stack();

    (void)state;
    hide_entries(&s);
    late = false; /* the count is older than the frames */
    assert_int_equal(walk(&s, &s.before, &got), CPY_RACED);
    late = true;
    count_frames(&s, FRAMES + 3); /* greenlets begin with a count of their own */
    assert_int_equal(walk(&s, &s.before, &got), CPY_RACED);
    s.fake->layout.thread.recursion_remaining = NO_FIELD;
    assert_int_equal(walk(&s, &s.before, &got), CPY_RACED);
    s.fake->hole = s.fake->hole_end = 0;
    assert_int_equal(walk(&s, &s.before, &got), CPY_OK);
    assert_int_equal(got.same, FRAMES);
    mem_close(&s.fake->mem);
}

static void a_frame_that_has_returned_is_not_passed(void **state)
{
    struct stack s = make_stack();

    (void)state;
    /* Below the C code is another stack by now; what is left of the old one has no code. */
    fake_put64(s.fake, frame_at(&s, 1) + s.fake->layout.frame.executable, 0);
    count_frames(&s, FRAMES);
    assert_int_equal(walk(&s, &s.before, &got), CPY_OK);
    assert_int_equal(got.depth + got.same, FRAMES - 1); /* as a walk from the start has it */
    check_whole(&s);
    mem_close(&s.fake->mem);
}

static void older_versions_compare_and_read_their_entry_frames(void **state)
{
    struct layout layout = fake_layout(13);
    struct fake *fake = fake_new(&layout);
    struct stack s = {.fake = fake};
    uint64_t reads;

    (void)state;
    s.thread = fake_thread(fake, 0);
    s.chunk = fake_room(fake, CHUNK_HEAD + FRAMES * layout.frame.size);
    s.root_entry = fake_shim(fake, 0);
    for (size_t i = 0; i < 4; i++)
        put_frame(&s, i, 1, i == 0 ? s.root_entry : frame_at(&s, i - 1));
    stand_at(&s, 3);
    assert_int_equal(walk(&s, &(const struct raw_before){0}, &first), CPY_OK);
    s.before = (struct raw_before){first.frames, first.depth};
    reads = fake->mem.reads;
    assert_int_equal(walk(&s, &(const struct raw_before){0}, &got), CPY_OK);
    reads = fake->mem.reads - reads;
    assert_int_equal(walk(&s, &s.before, &got), CPY_OK);
    assert_int_equal(got.same, 4);
    fake->hole = s.root_entry;
    fake->hole_end = s.root_entry + 8;
    assert_int_equal(walk(&s, &s.before, &got), CPY_RACED);
    assert_true(reads > 0);
    mem_close(&fake->mem);
}

static void nothing_is_the_same_where_c_code_is_to_be_shown(void **state)
{
    struct stack s = make_stack();
    struct walk_scratch *scratch = walk_scratch_new();
    struct thread_words words;

    (void)state;
    assert_non_null(scratch);
    assert_int_equal(walk_read_thread(&s.fake->reader, s.thread, &words), CPY_OK);
    assert_int_equal(walk_stack(&s.fake->reader, scratch, &words,
                                &(const struct walk_marks){.native = true}, &s.before, 0, &got,
                                NULL),
                     CPY_OK);
    assert_int_equal(got.same, 0);
    assert_int_equal(got.depth, FRAMES + 1);
    assert_int_equal(got.frames[FRAMES - ENTERED].kind, RAW_NATIVE);
    walk_scratch_free(scratch);
    mem_close(&s.fake->mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_that_stands_still_is_the_same),
        cmocka_unit_test(only_what_moved_is_taken),
        cmocka_unit_test(what_is_the_same_above_a_change_is_taken_with_it),
        cmocka_unit_test(a_generator_behind_an_entry_frame_is_found_by_the_count),
        cmocka_unit_test(entry_frames_are_read_where_nothing_vouches_for_them),
        cmocka_unit_test(a_frame_that_has_returned_is_not_passed),
        cmocka_unit_test(older_versions_compare_and_read_their_entry_frames),
        cmocka_unit_test(nothing_is_the_same_where_c_code_is_to_be_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

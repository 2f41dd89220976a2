/* SPDX-License-Identifier: Apache-2.0 */
/* test_data_stack.c - a thread's data stack is copied within bounds, whatever it claims. */
#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { CHUNK_HEAD = 24, CHUNK_SIZE = 8, CHUNK_TOP = 16 };

static struct raw_stack got;

/* A chunk with room for `count` frames. */
static cpy_addr put_chunk(struct fake *fake, cpy_addr previous, size_t count)
{
    size_t size = CHUNK_HEAD + count * fake->layout.frame.size;
    cpy_addr chunk = fake_room(fake, size);

    fake_put64(fake, chunk, previous);
    fake_put64(fake, chunk + CHUNK_SIZE, size);
    fake_put64(fake, chunk + CHUNK_TOP, (size - CHUNK_HEAD) / 8);
    return chunk;
}

static cpy_addr frame_in(struct fake *fake, cpy_addr chunk, size_t i, cpy_addr previous)
{
    cpy_addr at = chunk + CHUNK_HEAD + i * fake->layout.frame.size;

    fake_put_frame(fake, at, &(struct fake_frame){.code = FAKE_CODE, .previous = previous});
    return at;
}

/* Two chunks with two frames each, and a shim outside. */
struct stack {
    struct fake *fake;
    cpy_addr older, newer, top, thread;
};

static struct stack make_stack(void)
{
    struct stack s;
    cpy_addr frame;

    s.fake = fake_new(layout_of_version(0x030c0000));
    s.older = put_chunk(s.fake, 0, 2);
    s.newer = put_chunk(s.fake, s.older, 2);
    s.top = s.newer + CHUNK_HEAD + 2 * s.fake->layout.frame.size;
    frame = frame_in(s.fake, s.older, 0, fake_shim(s.fake, 0));
    frame = frame_in(s.fake, s.older, 1, frame);
    frame = frame_in(s.fake, s.newer, 0, frame);
    frame = frame_in(s.fake, s.newer, 1, frame);
    s.thread = fake_thread(s.fake, frame);
    fake_set_data_stack(s.fake, s.thread, s.newer, s.top);
    return s;
}

static enum cpy_rc walk_and_end(struct stack *s)
{
    enum cpy_rc rc = fake_walk(s->fake, s->thread, NULL, &got);

    mem_close(&s->fake->mem);
    return rc;
}

static void reads_a_chunk_at_once_and_not_frame_by_frame(void **state)
{
    struct stack s = make_stack();

    (void)state;
    assert_int_equal(fake_walk(s.fake, s.thread, NULL, &got), CPY_OK);

    assert_int_equal(got.depth, 4);
    /* The thread, its cframe, two chunks and the older one's head, the shim, the end. */
    assert_int_equal(s.fake->mem.reads, 7);
    mem_close(&s.fake->mem);
}

static void refuses_a_top_before_its_chunk(void **state)
{
    struct stack s = make_stack();

    (void)state;
    fake_set_data_stack(s.fake, s.thread, s.newer, s.newer - 8);
    assert_int_equal(walk_and_end(&s), CPY_RACED);
    s = make_stack();
    fake_set_data_stack(s.fake, s.thread, s.newer, s.newer + CHUNK_HEAD - 8);
    assert_int_equal(walk_and_end(&s), CPY_RACED);
}

static void refuses_a_newest_chunk_of_a_size_that_cannot_be(void **state)
{
    static const uint64_t sizes[] = {(4 << 20) + 8, UINT32_MAX, INT64_MAX, UINT64_MAX / 2};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct stack s = make_stack();

        fake_set_data_stack(s.fake, s.thread, s.newer, s.newer + sizes[i]);
        assert_int_equal(walk_and_end(&s), CPY_RACED);
    }
}

/* As when a call has just got a chunk: what lies between the two is not ours to copy. */
static void copies_nothing_between_two_chunks_when_the_top_is_in_the_older_one(void **state)
{
    enum { BETWEEN = 40000 };
    struct stack s = {.fake = fake_new(layout_of_version(0x030c0000))};
    cpy_addr frame;

    (void)state;
    s.newer = put_chunk(s.fake, 0, 2);
    (void)fake_room(s.fake, BETWEEN);
    s.older = put_chunk(s.fake, 0, 2);
    fake_put64(s.fake, s.newer, s.older);
    frame = frame_in(s.fake, s.older, 0, fake_shim(s.fake, 0));
    frame = frame_in(s.fake, s.older, 1, frame);
    s.thread = fake_thread(s.fake, frame);
    s.top = s.older + CHUNK_HEAD + 2 * s.fake->layout.frame.size;
    fake_set_data_stack(s.fake, s.thread, s.newer, s.top);

    assert_int_equal(fake_walk(s.fake, s.thread, NULL, &got), CPY_RACED);
    assert_true(s.fake->mem.bytes < BETWEEN / 10);
    fake_set_data_stack(s.fake, s.thread, s.older, s.top); /* a moment later */
    assert_int_equal(walk_and_end(&s), CPY_OK);
    assert_int_equal(got.depth, 2);
}

static void reads_a_chunk_that_one_frame_made_larger(void **state)
{
    struct stack s = {.fake = fake_new(layout_of_version(0x030c0000))};
    cpy_addr frame;

    (void)state;
    s.newer = put_chunk(s.fake, 0, 500);
    frame = frame_in(s.fake, s.newer, 0, fake_shim(s.fake, 0));
    frame = frame_in(s.fake, s.newer, 499, frame);
    s.thread = fake_thread(s.fake, frame);
    s.top = s.newer + CHUNK_HEAD + 500 * s.fake->layout.frame.size;
    fake_set_data_stack(s.fake, s.thread, s.newer, s.top);

    assert_int_equal(walk_and_end(&s), CPY_OK);
    assert_int_equal(got.depth, 2);
}

static void refuses_an_older_chunk_whose_top_is_beyond_its_size(void **state)
{
    static const uint64_t tops[] = {21, 1 << 20, (4 << 20) + 1, UINT64_C(1) << 61, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
        struct stack s = make_stack();

        fake_put64(s.fake, s.older + CHUNK_TOP, tops[i]);
        assert_int_equal(walk_and_end(&s), CPY_RACED);
    }
}

static void refuses_an_older_chunk_that_says_it_is_huge(void **state)
{
    struct stack s = make_stack();

    (void)state;
    fake_put64(s.fake, s.older + CHUNK_SIZE, UINT64_MAX);
    fake_put64(s.fake, s.older + CHUNK_TOP, (4 << 20) / 8);
    assert_int_equal(walk_and_end(&s), CPY_RACED);
}

static void refuses_chunks_that_are_not_mapped(void **state)
{
    struct stack s = make_stack();

    (void)state;
    fake_put64(s.fake, s.newer, NOWHERE);
    assert_int_equal(walk_and_end(&s), CPY_RACED);
    s = make_stack();
    fake_set_data_stack(s.fake, s.thread, NOWHERE, NOWHERE + 64);
    assert_int_equal(walk_and_end(&s), CPY_RACED);
}

static void refuses_a_frame_that_reaches_over_the_used_part(void **state)
{
    struct stack s = make_stack();

    (void)state;
    fake_set_data_stack(s.fake, s.thread, s.newer, s.top - 8);
    assert_int_equal(walk_and_end(&s), CPY_RACED);
}

static void ends_on_frames_that_loop_over_two_chunks(void **state)
{
    struct stack s = make_stack();

    (void)state;
    (void)frame_in(s.fake, s.older, 0, s.newer + CHUNK_HEAD + s.fake->layout.frame.size);
    assert_int_equal(walk_and_end(&s), CPY_RACED);
}

static void reads_frames_one_by_one_where_chunks_loop(void **state)
{
    struct stack s = make_stack();

    (void)state;
    fake_put64(s.fake, s.older, s.newer);
    assert_int_equal(fake_walk(s.fake, s.thread, NULL, &got), CPY_OK);

    assert_int_equal(got.depth, 4);
    assert_true(s.fake->mem.reads < 1000);
    mem_close(&s.fake->mem);
}

static void stops_copying_a_loop_of_large_chunks(void **state)
{
    enum { FRAMES = 8192 };
    struct fake *fake = fake_new(layout_of_version(0x030c0000));
    cpy_addr chunk = put_chunk(fake, 0, FRAMES), thread;

    (void)state;
    fake_put64(fake, chunk, chunk);
    thread = fake_thread(fake, frame_in(fake, chunk, 0, fake_shim(fake, 0)));
    fake_set_data_stack(fake, thread, chunk, chunk + CHUNK_HEAD + FRAMES * fake->layout.frame.size);

    assert_int_equal(fake_walk(fake, thread, NULL, &got), CPY_OK);
    assert_int_equal(got.depth, 1);
    assert_true(fake->mem.bytes < 5 << 20);
    mem_close(&fake->mem);
}

static void reads_what_lies_beyond_the_greatest_number_of_chunks(void **state)
{
    enum { CHUNKS = 300 };
    struct fake *fake = fake_new(layout_of_version(0x030c0000));
    cpy_addr chunk = 0, frame = fake_shim(fake, 0), thread;
    size_t i;

    (void)state;
    for (i = 0; i < CHUNKS; i++) {
        chunk = put_chunk(fake, chunk, 1);
        frame = frame_in(fake, chunk, 0, frame);
    }
    thread = fake_thread(fake, frame);
    fake_set_data_stack(fake, thread, chunk, chunk + CHUNK_HEAD + fake->layout.frame.size);

    assert_int_equal(fake_walk(fake, thread, NULL, &got), CPY_OK);
    assert_int_equal(got.depth, CHUNKS);
    mem_close(&fake->mem);
}

static void never_shows_frames_of_a_walk_with_a_hole_in_it(void **state)
{
    struct stack s = make_stack();
    cpy_addr end = FAKE_BASE + s.fake->used, at;

    (void)state;
    for (at = FAKE_BASE; at < end; at += 8) {
        s.fake->hole = at;
        s.fake->hole_end = at + 8;
        if (fake_walk(s.fake, s.thread, NULL, &got) == CPY_OK)
            assert_int_equal(got.depth, 4);
        else
            s.fake->change_at++; /* counts those that failed: no change is set */
    }

    assert_true(s.fake->change_at > 50);
    mem_close(&s.fake->mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_chunk_at_once_and_not_frame_by_frame),
        cmocka_unit_test(refuses_a_top_before_its_chunk),
        cmocka_unit_test(refuses_a_newest_chunk_of_a_size_that_cannot_be),
        cmocka_unit_test(copies_nothing_between_two_chunks_when_the_top_is_in_the_older_one),
        cmocka_unit_test(reads_a_chunk_that_one_frame_made_larger),
        cmocka_unit_test(refuses_an_older_chunk_whose_top_is_beyond_its_size),
        cmocka_unit_test(refuses_an_older_chunk_that_says_it_is_huge),
        cmocka_unit_test(refuses_chunks_that_are_not_mapped),
        cmocka_unit_test(refuses_a_frame_that_reaches_over_the_used_part),
        cmocka_unit_test(ends_on_frames_that_loop_over_two_chunks),
        cmocka_unit_test(reads_frames_one_by_one_where_chunks_loop),
        cmocka_unit_test(stops_copying_a_loop_of_large_chunks),
        cmocka_unit_test(reads_what_lies_beyond_the_greatest_number_of_chunks),
        cmocka_unit_test(never_shows_frames_of_a_walk_with_a_hole_in_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_greenlets.c - the stack of a greenlet is taken whole, and never with another's frames; so is
 * that of compiled functions, which link their frames in their own way.
 *
 * Greenlets have data stacks of their own, but share the C stack with its entry frames.
 */
#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { FRAMES = 4, FIRST = 12, LAST = 15 };
enum { OBJECT_BYTES = 160, NAMED_AFTER_TYPE = 16 };

static struct raw_stack got;

/* A greenlet of FRAMES frames: C code called the first one, and the third one. */
struct greenlet {
    cpy_addr root_shim, inner_shim;
    cpy_addr frames[FRAMES]; /* the outermost first */
};

static struct greenlet put_greenlet(struct fake *fake, cpy_addr code)
{
    struct greenlet g = {.root_shim = fake_shim(fake, 0)};

    g.frames[0] = fake_frame(fake, code, 1, g.root_shim);
    g.frames[1] = fake_frame(fake, code, 1, g.frames[0]);
    g.inner_shim = fake_shim(fake, g.frames[1]);
    g.frames[2] = fake_frame(fake, code, 1, g.inner_shim);
    g.frames[3] = fake_frame(fake, code, 1, g.frames[2]);
    return g;
}

/* A thread that runs it. */
static cpy_addr put_thread(struct fake *fake, const struct greenlet *g)
{
    cpy_addr thread = fake_thread(fake, g->frames[FRAMES - 1]);

    if (fake->layout.thread.base_frame != NO_FIELD)
        fake_put64(fake, thread + fake->layout.thread.base_frame, fake_shim(fake, 0));
    return thread;
}

/* Gives a frame an object, which names `named` as its frame. */
static void put_object(struct fake *fake, cpy_addr frame, cpy_addr named)
{
    cpy_addr object = fake_room(fake, OBJECT_BYTES);

    fake_put64(fake, frame + fake->layout.frame.frame_obj, object);
    fake_put64(fake, object + fake->layout.object.ob_type + NAMED_AFTER_TYPE, named);
}

static void set_previous(struct fake *fake, cpy_addr frame, cpy_addr previous)
{
    fake_put64(fake, frame + fake->layout.frame.previous, previous);
}

/* Takes the entry frames out of the chain, as greenlet does before it switches. */
static void expose(struct fake *fake, const struct greenlet *g)
{
    for (int i = 0; i < FRAMES; i++) {
        put_object(fake, g->frames[i], g->frames[i]);
        set_previous(fake, g->frames[i], i == 0 ? 0 : g->frames[i - 1]);
    }
    set_previous(fake, g->root_shim, NOWHERE); /* the C stack is another's by now */
    set_previous(fake, g->inner_shim, NOWHERE);
}

static enum cpy_rc walk_and_end(struct fake *fake, cpy_addr thread)
{
    enum cpy_rc rc = fake_walk(fake, thread, NULL, &got);

    mem_close(&fake->mem);
    return rc;
}

static void takes_a_greenlet_that_ends_without_the_threads_own_end(void **state)
{
    (void)state;
    for (unsigned minor = FIRST; minor <= LAST; minor++) {
        struct fake *fake = fake_of(minor);
        struct greenlet g = put_greenlet(fake, FAKE_CODE);

        assert_int_equal(walk_and_end(fake, put_thread(fake, &g)), CPY_OK);
        assert_int_equal(got.depth, FRAMES);
    }
}

static void takes_a_greenlet_whose_entry_frames_are_taken_out(void **state)
{
    (void)state;
    for (unsigned minor = FIRST; minor <= LAST; minor++) {
        struct fake *fake = fake_of(minor);
        struct greenlet g = put_greenlet(fake, FAKE_CODE);

        expose(fake, &g);
        assert_int_equal(walk_and_end(fake, put_thread(fake, &g)), CPY_OK);
        assert_int_equal(got.depth, FRAMES);
    }
}

static void wants_the_frame_object_of_one_without_an_entry_frame(void **state)
{
    (void)state;
    for (unsigned minor = FIRST; minor <= LAST; minor++) {
        struct fake *fake = fake_of(minor);
        struct greenlet g = put_greenlet(fake, FAKE_CODE);

        expose(fake, &g);
        fake_put64(fake, g.frames[0] + fake->layout.frame.frame_obj, 0);
        assert_int_equal(walk_and_end(fake, put_thread(fake, &g)), CPY_RACED);
        fake = fake_of(minor);
        g = put_greenlet(fake, FAKE_CODE);
        expose(fake, &g);
        put_object(fake, g.frames[0], g.frames[1]);
        assert_int_equal(walk_and_end(fake, put_thread(fake, &g)), CPY_RACED);
    }
}

static void refuses_a_chain_that_ends_above_the_first_frame(void **state)
{
    (void)state;
    for (unsigned minor = FIRST; minor <= LAST; minor++) {
        struct fake *fake = fake_of(minor);
        struct greenlet g = put_greenlet(fake, FAKE_CODE);
        cpy_addr thread = put_thread(fake, &g);

        set_previous(fake, g.inner_shim, 0); /* another greenlet's first, at the same place */
        assert_int_equal(walk_and_end(fake, thread), CPY_RACED);
        fake = fake_of(minor);
        g = put_greenlet(fake, FAKE_CODE);
        expose(fake, &g);
        thread = put_thread(fake, &g);
        set_previous(fake, g.frames[1], 0);
        assert_int_equal(walk_and_end(fake, thread), CPY_RACED);
    }
}

static void refuses_a_chain_that_goes_on_in_another_greenlet(void **state)
{
    (void)state;
    for (unsigned minor = FIRST; minor <= LAST; minor++) {
        struct fake *fake = fake_of(minor);
        struct greenlet other = put_greenlet(fake, FAKE_CODE + 16),
                        g = put_greenlet(fake, FAKE_CODE);
        cpy_addr thread = put_thread(fake, &g);

        set_previous(fake, g.inner_shim, other.frames[1]);
        assert_int_equal(walk_and_end(fake, thread), CPY_RACED);
    }
}

static void refuses_a_current_frame_of_another_greenlet(void **state)
{
    (void)state;
    for (unsigned minor = FIRST; minor <= LAST; minor++) {
        struct fake *fake = fake_of(minor);
        struct greenlet other = put_greenlet(fake, FAKE_CODE + 16),
                        g = put_greenlet(fake, FAKE_CODE);
        cpy_addr thread = put_thread(fake, &g), chunk, top;

        chunk = fake_get64(fake, thread + fake->layout.thread.datastack_chunk);
        top = fake_get64(fake, thread + fake->layout.thread.datastack_chunk + 8);
        fake_put_stack(fake, thread, other.frames[FRAMES - 1]);
        fake_set_data_stack(fake, thread, chunk, top);
        assert_int_equal(walk_and_end(fake, thread), CPY_RACED);
        fake = fake_of(minor);
        g = put_greenlet(fake, FAKE_CODE);
        thread = put_thread(fake, &g);
        fake_set_data_stack(fake, thread, 0, 0); /* as when a greenlet has ended */
        assert_int_equal(walk_and_end(fake, thread), CPY_RACED);
    }
}

/* A thread of 3.12 whose data stack is still that of the greenlet that it leaves. */
static cpy_addr put_incoming(struct fake *fake, struct greenlet *g)
{
    enum { PAGE = 4096, HEAD = 24, SKIPPED = 8 };
    struct greenlet old = put_greenlet(fake, FAKE_CODE + 16);
    cpy_addr thread = put_thread(fake, &old), chunk, at, top;
    cpy_addr previous = g->root_shim = fake_shim(fake, 0);

    (void)fake_room(fake, PAGE - fake->used % PAGE);
    chunk = fake_room(fake, PAGE);
    fake_put64(fake, chunk + 8, PAGE);
    for (int i = 0; i < FRAMES; i++) {
        at = chunk + HEAD + SKIPPED + (cpy_addr)i * fake->layout.frame.size;
        fake_put_frame(fake, at, &(struct fake_frame){FAKE_CODE, previous, 1, OWNER_THREAD, false});
        previous = g->frames[i] = at;
    }
    at = fake_get64(fake, thread + fake->layout.thread.datastack_chunk);
    top = fake_get64(fake, thread + fake->layout.thread.datastack_chunk + 8);
    fake_put_stack(fake, thread, previous);
    fake_set_data_stack(fake, thread, at, top);
    return thread;
}

static void takes_a_3_12_greenlet_that_has_no_data_stack_yet(void **state)
{
    struct fake *fake = fake_of(12);
    struct greenlet g;
    cpy_addr thread = put_incoming(fake, &g);

    (void)state;
    assert_int_equal(fake_walk(fake, thread, NULL, &got), CPY_OK);
    assert_int_equal(got.depth, FRAMES);
    put_object(fake, g.frames[0], g.frames[0]); /* its entry frame is not put back yet */
    set_previous(fake, g.frames[0], 0);
    assert_int_equal(fake_walk(fake, thread, NULL, &got), CPY_OK);
    assert_int_equal(got.depth, FRAMES);
    mem_close(&fake->mem);
}

static void refuses_one_whose_frames_are_not_all_of_one_data_stack(void **state)
{
    struct fake *fake = fake_of(12);
    struct greenlet g;
    cpy_addr thread = put_incoming(fake, &g);

    (void)state;
    set_previous(fake, g.frames[2], g.root_shim); /* it ends above the first */
    assert_int_equal(fake_walk(fake, thread, NULL, &got), CPY_RACED);
    set_previous(fake, g.frames[2], g.frames[1]);
    set_previous(fake, g.frames[0], put_greenlet(fake, FAKE_CODE).frames[1]);
    assert_int_equal(fake_walk(fake, thread, NULL, &got), CPY_RACED);
    mem_close(&fake->mem);
    fake = fake_of(12);
    thread = put_incoming(fake, &g);
    fake_put64(fake, g.frames[0] - 32, FAKE_BASE); /* its chunk is not the first */
    assert_int_equal(walk_and_end(fake, thread), CPY_RACED);
}

static void takes_a_3_12_greenlet_whose_entry_frames_are_taken_out_in_part(void **state)
{
    (void)state;
    for (int with_object = 0; with_object < 2; with_object++) {
        struct fake *fake = fake_of(12);
        const uint32_t current = fake->layout.cframe.current_frame;
        struct greenlet g = put_greenlet(fake, FAKE_CODE);
        cpy_addr thread = put_thread(fake, &g), below = fake_room(fake, 64);

        fake_put64(fake, below + current, g.frames[1]);
        fake_put64(fake, fake_get64(fake, thread + fake->layout.thread.cframe) + current + 8,
                   below);
        set_previous(fake, g.frames[2], g.frames[1]);
        if (with_object)
            put_object(fake, g.frames[3], g.frames[3]);
        assert_int_equal(walk_and_end(fake, thread), with_object ? CPY_OK : CPY_RACED);
        assert_true(!with_object || got.depth == FRAMES);
    }
}

static void keeps_a_thread_whose_record_on_the_c_stack_is_overwritten(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 12; minor++) {
        struct fake *fake = fake_of(minor);
        struct greenlet g = put_greenlet(fake, FAKE_CODE);
        cpy_addr thread = put_thread(fake, &g);
        struct thread_words words;

        fake_put64(fake,
                   fake_get64(fake, thread + fake->layout.thread.cframe) +
                       fake->layout.cframe.current_frame + 8,
                   NOWHERE);
        assert_int_equal(walk_read_thread(&fake->reader, thread, &words), CPY_OK);
        assert_int_equal(walk_and_end(fake, thread), CPY_RACED);
    }
}

/* Puts a record with no current frame, called by `previous`, on the C stack of a thread. */
static enum cpy_rc walk_empty_record(struct fake *fake, cpy_addr thread, cpy_addr previous)
{
    const uint32_t current = fake->layout.cframe.current_frame;
    cpy_addr record = fake_room(fake, 64);

    fake_put64(fake, thread + fake->layout.thread.cframe, record);
    fake_put64(fake, record + current + 8, previous);
    return fake_walk(fake, thread, NULL, &got);
}

static void takes_no_overwritten_record_for_a_thread_without_python_code(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 12; minor++) {
        struct fake *fake = fake_of(minor);
        cpy_addr thread = fake_thread(fake, 0);
        cpy_addr root = fake_own_cframe(fake, thread);

        assert_int_equal(fake_walk(fake, thread, NULL, &got), CPY_OK);
        assert_int_equal(walk_empty_record(fake, thread, root), CPY_OK); /* one that begins */
        assert_int_equal(got.depth, 0);
        assert_int_equal(walk_empty_record(fake, thread, 0), CPY_RACED);
        assert_int_equal(walk_empty_record(fake, thread, thread), CPY_RACED);
        assert_int_equal(walk_empty_record(fake, thread, fake_room(fake, 64)), CPY_RACED);
        mem_close(&fake->mem);
    }
}

/* Two frames of compiled functions, each in its frame object; gives the innermost. */
static cpy_addr put_compiled(struct fake *fake, cpy_addr *outermost)
{
    const struct layout *l = &fake->layout;
    cpy_addr frame = 0, object;

    for (int i = 0; i < 2; i++) {
        object = fake_room(fake, OBJECT_BYTES + l->frame.size);
        fake_put_frame(fake, object + OBJECT_BYTES,
                       &(struct fake_frame){FAKE_CODE, frame, 0, OWNER_GENERATOR, false});
        frame = object + OBJECT_BYTES;
        fake_put64(fake, frame + l->frame.frame_obj, object);
        fake_put64(fake, object + l->object.ob_type + NAMED_AFTER_TYPE, frame);
        *outermost = i == 0 ? frame : *outermost;
    }
    return frame;
}

static void takes_compiled_functions_without_entry_frames(void **state)
{
    (void)state;
    for (unsigned minor = FIRST; minor <= LAST; minor++) {
        struct fake *fake = fake_of(minor);
        cpy_addr outermost, innermost = put_compiled(fake, &outermost);

        assert_int_equal(walk_and_end(fake, fake_thread(fake, innermost)), CPY_OK);
        assert_int_equal(got.depth, 2);
    }
}

static void refuses_a_generators_frame_without_an_entry_frame(void **state)
{
    (void)state;
    for (unsigned minor = FIRST; minor <= LAST; minor++) {
        struct fake *fake = fake_of(minor);
        cpy_addr outermost, innermost = put_compiled(fake, &outermost);

        put_object(fake, outermost, outermost); /* it lies elsewhere */
        assert_int_equal(walk_and_end(fake, fake_thread(fake, innermost)), CPY_RACED);
    }
}

static cpy_addr outermost_compiled;

static void link_it_again(struct fake *fake)
{
    set_previous(fake, outermost_compiled, FAKE_BASE);
}

static void notices_a_compiled_function_that_is_called_again_meanwhile(void **state)
{
    (void)state;
    for (unsigned minor = FIRST; minor <= LAST; minor++) {
        struct fake *fake = fake_of(minor);
        cpy_addr thread = fake_thread(fake, put_compiled(fake, &outermost_compiled));
        uint64_t reads;

        assert_int_equal(fake_walk(fake, thread, NULL, &got), CPY_OK);
        reads = fake->mem.reads;
        fake->change = link_it_again;
        fake->change_at = 2 * reads; /* the last one of the next walk */
        assert_int_equal(walk_and_end(fake, thread), CPY_RACED);
    }
}

static void notices_that_a_compiled_function_is_not_alone_after_all(void **state)
{
    (void)state;
    for (unsigned minor = FIRST; minor <= LAST; minor++) {
        struct fake *fake = fake_of(minor);
        cpy_addr thread;
        uint64_t reads;

        (void)put_compiled(fake, &outermost_compiled);
        thread = fake_thread(fake, outermost_compiled);
        assert_int_equal(fake_walk(fake, thread, NULL, &got), CPY_OK);
        assert_int_equal(got.depth, 1);
        reads = fake->mem.reads;
        fake->change = link_it_again;
        fake->change_at = 2 * reads; /* the last one of the next walk */
        assert_int_equal(walk_and_end(fake, thread), CPY_RACED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_greenlet_that_ends_without_the_threads_own_end),
        cmocka_unit_test(takes_a_greenlet_whose_entry_frames_are_taken_out),
        cmocka_unit_test(wants_the_frame_object_of_one_without_an_entry_frame),
        cmocka_unit_test(refuses_a_chain_that_ends_above_the_first_frame),
        cmocka_unit_test(refuses_a_chain_that_goes_on_in_another_greenlet),
        cmocka_unit_test(refuses_a_current_frame_of_another_greenlet),
        cmocka_unit_test(takes_a_3_12_greenlet_that_has_no_data_stack_yet),
        cmocka_unit_test(refuses_one_whose_frames_are_not_all_of_one_data_stack),
        cmocka_unit_test(takes_a_3_12_greenlet_whose_entry_frames_are_taken_out_in_part),
        cmocka_unit_test(keeps_a_thread_whose_record_on_the_c_stack_is_overwritten),
        cmocka_unit_test(takes_no_overwritten_record_for_a_thread_without_python_code),
        cmocka_unit_test(takes_compiled_functions_without_entry_frames),
        cmocka_unit_test(refuses_a_generators_frame_without_an_entry_frame),
        cmocka_unit_test(notices_a_compiled_function_that_is_called_again_meanwhile),
        cmocka_unit_test(notices_that_a_compiled_function_is_not_alone_after_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

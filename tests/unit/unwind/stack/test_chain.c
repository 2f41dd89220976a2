/* SPDX-License-Identifier: Apache-2.0 */
/* test_chain.c - chains of coroutines are followed as far as they go, and no further. */
#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

static struct chain got;

/* A fake target of 3.`minor` with the built-in types. */
struct world {
    struct fake *fake;
    struct kinds kinds;
    cpy_addr coroutine, generator, asend, future;
};

static struct world make_world(unsigned minor)
{
    struct world w = {.fake = fake_of_tasks(minor)};

    w.coroutine = fake_type(w.fake, "coroutine", 0);
    w.generator = fake_type(w.fake, "generator", 0);
    w.asend = fake_type(w.fake, "async_generator_asend", 0);
    w.future = fake_type(w.fake, "_asyncio.FutureIter", TYPE_HEAP);
    return w;
}

static enum cpy_rc read_and_end(struct world *w, cpy_addr coro)
{
    enum cpy_rc rc = chain_read(&w->fake->reader, &w->kinds, coro, &got);

    mem_close(&w->fake->mem);
    return rc;
}

static void gives_each_coroutine_innermost_first(void **state)
{
    static const unsigned minors[] = {14, 15};
    static struct raw_stack frames;

    (void)state;
    for (size_t m = 0; m < 2; m++) {
        struct world w = make_world(minors[m]);
        cpy_addr at = fake_object(w.fake, w.future, 0);

        at = fake_generator(w.fake, w.generator, FAKE_CODE + 32, 3, at);
        at = fake_generator(w.fake, w.coroutine, FAKE_CODE + 16, 2, at | 1); /* tagged */
        at = fake_generator(w.fake, w.coroutine, FAKE_CODE, 1, at);
        assert_int_equal(chain_read(&w.fake->reader, &w.kinds, at, &got), CPY_OK);
        assert_int_equal(chain_verify(&w.fake->reader, &got), CPY_OK);
        mem_close(&w.fake->mem);
        chain_frames(&got, &frames);

        assert_int_equal(frames.depth, 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(frames.frames[i].code, FAKE_CODE + 16 * (2 - i));
            assert_int_equal(frames.frames[i].unit, 3 - i);
            assert_int_equal(frames.frames[i].kind, RAW_GENERATOR);
        }
        assert_false(got.cut || got.finished || got.executing);
    }
}

static void goes_through_what_stands_for_a_generator(void **state)
{
    struct world w = make_world(15);
    cpy_addr inner = fake_generator(w.fake, w.generator, FAKE_CODE + 16, 0, 0);
    cpy_addr helper = fake_object(w.fake, w.asend, inner);

    (void)state;
    assert_int_equal(read_and_end(&w, fake_generator(w.fake, w.coroutine, FAKE_CODE, 0, helper)),
                     CPY_OK);

    assert_int_equal(got.depth, 2);
    assert_int_equal(got.links[1].addr, inner);
}

static void ends_at_a_class_that_is_only_called_coroutine(void **state)
{
    struct world w = make_world(15);
    cpy_addr type = fake_type(w.fake, "coroutine", TYPE_HEAP);
    cpy_addr other = fake_generator(w.fake, type, FAKE_CODE + 16, 0, 0);

    (void)state;
    assert_int_equal(read_and_end(&w, fake_generator(w.fake, w.coroutine, FAKE_CODE, 0, other)),
                     CPY_OK);

    assert_int_equal(got.depth, 1);
}

static void is_empty_for_what_is_no_coroutine(void **state)
{
    struct world w = make_world(15);

    (void)state;
    assert_int_equal(read_and_end(&w, fake_object(w.fake, w.future, 0)), CPY_OK);

    assert_int_equal(got.depth, 0);
    assert_false(got.finished);
}

static void says_that_a_coroutine_has_ended_or_runs(void **state)
{
    struct world w = make_world(15);
    cpy_addr coro = fake_generator(w.fake, w.coroutine, FAKE_CODE, 0, 0);

    (void)state;
    fake_put8(w.fake, coro + w.fake->layout.generator.frame_state,
              (uint8_t)w.fake->layout.generator.cleared);
    assert_int_equal(chain_read(&w.fake->reader, &w.kinds, coro, &got), CPY_OK);
    assert_true(got.finished);
    assert_int_equal(got.depth, 0);
    fake_put8(w.fake, coro + w.fake->layout.generator.frame_state, FAKE_EXECUTING_15);
    assert_int_equal(read_and_end(&w, coro), CPY_OK);
    assert_true(got.executing);
    assert_int_equal(got.depth, 1);
}

/* `length` coroutines of which the last awaits the first. */
static cpy_addr put_loop(struct world *w, size_t length)
{
    const struct layout *l = &w->fake->layout;
    cpy_addr last = fake_generator(w->fake, w->coroutine, FAKE_CODE, 0, 8), first = last;

    while (--length > 0)
        first = fake_generator(w->fake, w->coroutine, FAKE_CODE, 0, first);
    fake_put64(w->fake, last + l->generator.size + 32 - l->generator.awaited, first);
    return first;
}

static void refuses_coroutines_that_await_each_other_in_a_loop(void **state)
{
    (void)state;
    for (size_t length = 1; length <= 20; length++) {
        struct world w = make_world(14);

        assert_int_equal(read_and_end(&w, put_loop(&w, length)), CPY_RACED);
    }
}

static void refuses_helpers_that_stand_for_each_other(void **state)
{
    struct world w = make_world(15);
    cpy_addr first = fake_object(w.fake, w.asend, 0), second = fake_object(w.fake, w.asend, first);

    (void)state;
    fake_put64(w.fake, first + w.fake->layout.generator.held, second);
    assert_int_equal(read_and_end(&w, fake_generator(w.fake, w.coroutine, FAKE_CODE, 0, first)),
                     CPY_RACED);
}

static void cuts_a_chain_that_is_too_long(void **state)
{
    struct world w = make_world(15);
    cpy_addr at = 0;

    (void)state;
    for (size_t i = 0; i < CPY_DEPTH_MAX + 1; i++)
        at = fake_generator(w.fake, w.coroutine, FAKE_CODE, 0, at);
    assert_int_equal(chain_read(&w.fake->reader, &w.kinds, at, &got), CPY_OK);
    assert_true(got.cut);
    assert_int_equal(got.depth, CPY_DEPTH_MAX);
    assert_int_equal(chain_verify(&w.fake->reader, &got), CPY_OK);
    mem_close(&w.fake->mem);
}

static void refuses_a_stack_pointer_outside_of_the_generator(void **state)
{
    static const uint64_t offsets[] = {0, 8, 72, 4, UINT64_C(1) << 21, UINT64_C(1) << 62};

    (void)state;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        struct world w = make_world(15);
        const struct layout *l = &w.fake->layout;
        cpy_addr coro = fake_generator(w.fake, w.coroutine, FAKE_CODE, 0, FAKE_BASE);

        fake_put64(w.fake, coro + l->generator.iframe + l->generator.stackpointer,
                   coro + offsets[i]);
        assert_int_equal(read_and_end(&w, coro), CPY_RACED);
    }
}

static void refuses_a_generator_that_does_not_own_its_frame(void **state)
{
    struct world w = make_world(15);
    const struct layout *l = &w.fake->layout;
    cpy_addr coro = fake_generator(w.fake, w.coroutine, FAKE_CODE, 0, 0);

    (void)state;
    fake_put8(w.fake, coro + l->generator.iframe + l->frame.owner, OWNER_THREAD);
    assert_int_equal(chain_read(&w.fake->reader, &w.kinds, coro, &got), CPY_RACED);
    fake_put8(w.fake, coro + l->generator.iframe + l->frame.owner, OWNER_SHIM);
    assert_int_equal(read_and_end(&w, coro), CPY_RACED);
}

static void refuses_what_is_not_mapped_or_not_aligned(void **state)
{
    struct world w = make_world(15);

    (void)state;
    assert_int_equal(chain_read(&w.fake->reader, &w.kinds, NOWHERE, &got), CPY_RACED);
    assert_int_equal(chain_read(&w.fake->reader, &w.kinds, FAKE_BASE + 4, &got), CPY_RACED);
    assert_int_equal(read_and_end(&w, fake_generator(w.fake, w.coroutine, FAKE_CODE, 0, NOWHERE)),
                     CPY_RACED);
}

static void notices_that_a_coroutine_has_moved_since(void **state)
{
    struct world w = make_world(15);
    const struct layout *l = &w.fake->layout;
    cpy_addr inner = fake_generator(w.fake, w.coroutine, FAKE_CODE, 1, 0);
    cpy_addr outer = fake_generator(w.fake, w.coroutine, FAKE_CODE, 1, inner);
    cpy_addr slot = outer + l->generator.size + 32 - l->generator.awaited;

    (void)state;
    assert_int_equal(chain_read(&w.fake->reader, &w.kinds, outer, &got), CPY_OK);
    fake_put64(w.fake, slot, outer);
    assert_int_equal(chain_verify(&w.fake->reader, &got), CPY_RACED);
    fake_put64(w.fake, slot, inner);
    assert_int_equal(chain_verify(&w.fake->reader, &got), CPY_OK);
    fake_put64(w.fake, inner + l->generator.iframe + l->frame.instr,
               FAKE_CODE + l->code.bytecode + 4);
    assert_int_equal(chain_verify(&w.fake->reader, &got), CPY_RACED);
    mem_close(&w.fake->mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_each_coroutine_innermost_first),
        cmocka_unit_test(goes_through_what_stands_for_a_generator),
        cmocka_unit_test(ends_at_a_class_that_is_only_called_coroutine),
        cmocka_unit_test(is_empty_for_what_is_no_coroutine),
        cmocka_unit_test(says_that_a_coroutine_has_ended_or_runs),
        cmocka_unit_test(refuses_coroutines_that_await_each_other_in_a_loop),
        cmocka_unit_test(refuses_helpers_that_stand_for_each_other),
        cmocka_unit_test(cuts_a_chain_that_is_too_long),
        cmocka_unit_test(refuses_a_stack_pointer_outside_of_the_generator),
        cmocka_unit_test(refuses_a_generator_that_does_not_own_its_frame),
        cmocka_unit_test(refuses_what_is_not_mapped_or_not_aligned),
        cmocka_unit_test(notices_that_a_coroutine_has_moved_since),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

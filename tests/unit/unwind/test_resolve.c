/* SPDX-License-Identifier: Apache-2.0 */
/* test_resolve.c - frames get the names and lines of their code, and only new ones are
 * decoded. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"
#include "unwind/resolve.h"

enum { UNITS = 10, FIRST_TRACEABLE = 3, CODES = 4 };

/* A target with a few functions, and a stack of it. */
struct fixture {
    struct fake *fake;
    struct cpy_target *target;
    struct cached_stack *stack;
    cpy_addr type, codes[CODES]; /* named "f0", "f1" ... at lines 100, 200 ... */
};

/* Writes a function over whatever is at `at`; each of its code units is a line. */
static void put_code(struct fixture *f, cpy_addr at, const char *func, uint32_t first_line)
{
    /* One unit a record, the line one further each time, no columns. */
    static const unsigned char table[] = {0xe8, 0, 0xe8, 2, 0xe8, 2, 0xe8, 2, 0xe8, 2,
                                          0xe8, 2, 0xe8, 2, 0xe8, 2, 0xe8, 2, 0xe8, 2};

    fake_put_code(f->fake, at,
                  &(struct fake_code){.type = f->type,
                                      .func = func,
                                      .units = UNITS,
                                      .first_line = first_line,
                                      .first_traceable = FIRST_TRACEABLE,
                                      .table = table,
                                      .table_size = sizeof(table)});
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct fake_process process = fake_process_make(14);
    uint32_t i;

    assert_non_null(f);
    f->fake = process.fake;
    f->target = process.target;
    f->type = process.code_type;
    for (i = 0; i < CODES; i++) {
        f->codes[i] = fake_room(f->fake, f->fake->layout.code.size + 2 * UNITS);
        put_code(f, f->codes[i], (const char[]){'f', (char)('0' + i), '\0'}, 100 * (i + 1));
    }
    f->target->process.reads_limit = UINT64_MAX;
    f->stack = &thread_cache_get(&f->target->cache.threads, FAKE_BASE)->stack;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cpy_close(f->target); /* the memory, too */
    free(f);
    return 0;
}

/* A frame of function `code`. */
static struct raw_frame frame(const struct fixture *f, size_t code, int32_t unit)
{
    return (struct raw_frame){.code = f->codes[code], .unit = unit, .kind = RAW_FRAME};
}

/* Sets what was walked, innermost first, and resolves it. */
static enum cpy_rc resolved(struct fixture *f, const struct raw_frame *frames, uint32_t count,
                            uint64_t generation)
{
    struct raw_stack *raw = f->target->scratch->raw;

    memcpy(raw->frames, frames, count * sizeof(*frames));
    raw->depth = count;
    raw->same = 0;
    raw->cut = false;
    raw->tear = TEAR_MOVED;
    f->target->stats.frames_decoded = f->target->stats.frames_reused = 0;
    return resolve(f->target, raw, &(struct codes_owner){.generation = generation}, f->stack);
}

/* The frame at `at`, innermost first. */
static const struct cpy_frame *got(const struct fixture *f, uint32_t at)
{
    assert_true(at < f->stack->depth);
    return &f->stack->frames[f->stack->room - f->stack->depth + at];
}

static void check(const struct fixture *f, uint32_t at, const char *func, int32_t line)
{
    assert_string_equal(got(f, at)->code->func, func);
    assert_int_equal(got(f, at)->line, line);
}

/* How many frames were decoded and reused by the last call. */
static void check_counts(const struct fixture *f, uint64_t decoded, uint64_t reused)
{
    assert_int_equal(f->target->stats.frames_decoded, decoded);
    assert_int_equal(f->target->stats.frames_reused, reused);
}

static void gives_each_frame_its_name_and_line(void **state)
{
    struct fixture *f = *state;
    const struct raw_frame raw[] = {frame(f, 2, 7), frame(f, 1, 3), frame(f, 0, 9)};

    assert_int_equal(resolved(f, raw, 3, 0), CPY_OK);

    assert_int_equal(f->stack->depth, 3);
    check(f, 0, "f2", 307);
    check(f, 1, "f1", 203);
    check(f, 2, "f0", 109);
    assert_string_equal(got(f, 0)->code->file, "/srv/app.py");
    assert_false(f->stack->cut);
    check_counts(f, 3, 0);
}

static void decodes_nothing_of_a_stack_that_is_as_it_was(void **state)
{
    struct fixture *f = *state;
    const struct raw_frame raw[] = {frame(f, 2, 7), frame(f, 1, 3), frame(f, 0, 9)};
    uint64_t generation;

    for (generation = 0; generation < 2; generation++) {
        assert_int_equal(resolved(f, raw, 3, generation), CPY_OK);
        assert_int_equal(resolved(f, raw, 3, generation), CPY_OK);
        check_counts(f, 0, 3);
        check(f, 0, "f2", 307);
        check(f, 2, "f0", 109);
    }
}

static void decodes_only_what_is_inside_of_the_first_change(void **state)
{
    struct fixture *f = *state;
    struct raw_frame raw[] = {frame(f, 3, 4), frame(f, 2, 7), frame(f, 1, 3), frame(f, 0, 9)};

    assert_int_equal(resolved(f, raw, 4, 1), CPY_OK);
    raw[0].unit = 5;
    assert_int_equal(resolved(f, raw, 4, 1), CPY_OK);
    check_counts(f, 1, 3);
    check(f, 0, "f3", 405);
    raw[2].unit = 4; /* what is inside of it was called from somewhere else */
    assert_int_equal(resolved(f, raw, 4, 1), CPY_OK);
    check_counts(f, 3, 1);
    check(f, 2, "f1", 204);
    raw[1].code = f->codes[3];
    assert_int_equal(resolved(f, raw, 4, 1), CPY_OK);
    check_counts(f, 2, 2);
    check(f, 1, "f3", 407);
    raw[0].kind = RAW_GENERATOR;
    assert_int_equal(resolved(f, raw, 4, 1), CPY_OK);
    check_counts(f, 1, 3);
}

static void follows_calls_and_returns(void **state)
{
    struct fixture *f = *state;
    const struct raw_frame raw[] = {frame(f, 3, 4), frame(f, 2, 7), frame(f, 1, 3), frame(f, 0, 9)};
    uint32_t depth, i;

    assert_int_equal(resolved(f, raw + 2, 2, 1), CPY_OK);
    assert_int_equal(resolved(f, raw, 4, 1), CPY_OK); /* two calls */
    check_counts(f, 2, 2);
    for (depth = 3; depth > 0; depth--) { /* a return each time */
        assert_int_equal(resolved(f, raw + 4 - depth, depth, 1), CPY_OK);
        check_counts(f, 0, depth);
        assert_int_equal(f->stack->depth, depth);
        for (i = 0; i < depth; i++)
            assert_int_equal(got(f, i)->code->func[1], '0' + (int)(depth - 1 - i));
    }
    assert_int_equal(resolved(f, raw, 0, 1), CPY_OK);
    assert_int_equal(f->stack->depth, 0);
}

static void reuses_a_deep_stack_that_grows(void **state)
{
    struct fixture *f = *state;
    struct raw_frame raw[CPY_DEPTH_MAX];
    uint32_t i;

    for (i = 0; i < CPY_DEPTH_MAX; i++)
        raw[i] = frame(f, i % CODES, (int32_t)(FIRST_TRACEABLE + i % 5));
    assert_int_equal(resolved(f, raw + 40, CPY_DEPTH_MAX - 40, 1), CPY_OK);
    assert_int_equal(resolved(f, raw, CPY_DEPTH_MAX, 1), CPY_OK);

    check_counts(f, 40, CPY_DEPTH_MAX - 40);
    for (i = 0; i < CPY_DEPTH_MAX; i++)
        assert_int_equal(got(f, i)->line, 100 * (i % CODES + 1) + FIRST_TRACEABLE + i % 5);
}

static void reads_no_code_object_under_the_same_generation(void **state)
{
    struct fixture *f = *state;
    const struct raw_frame raw[] = {frame(f, 1, 3), frame(f, 0, 9)};
    uint64_t reads;

    assert_int_equal(resolved(f, raw, 2, 7), CPY_OK);
    reads = f->fake->mem.reads;
    assert_int_equal(resolved(f, raw, 2, 7), CPY_OK);
    assert_int_equal(f->fake->mem.reads, reads);
    assert_int_equal(resolved(f, raw, 2, 8), CPY_OK);
    assert_true(f->fake->mem.reads > reads);
    check_counts(f, 0, 2); /* they are the same ones */
}

static void does_not_reuse_a_frame_whose_code_object_was_replaced(void **state)
{
    static const uint64_t generations[][2] = {{0, 0}, {7, 8}, {0, 9}, {10, 0}};
    struct fixture *f = *state;
    const struct raw_frame raw[] = {frame(f, 2, 7), frame(f, 1, 3), frame(f, 0, 9)};
    size_t i;

    for (i = 0; i < 4; i++) {
        put_code(f, f->codes[1], "old", 200);
        assert_int_equal(resolved(f, raw, 3, generations[i][0]), CPY_OK);
        check(f, 1, "old", 203);
        put_code(f, f->codes[1], "new", 5000);
        assert_int_equal(resolved(f, raw, 3, generations[i][1]), CPY_OK);

        check(f, 1, "new", 5003);
        check_counts(f, 2, 1); /* what lies inside of it, too */
        codes_sweep(&f->target->cache.codes);
        check(f, 0, "f2", 307); /* a sanitizer sees it if something freed is kept */
        check(f, 1, "new", 5003);
    }
}

/* Begins samples until a process whose code objects stay is trusted, and it is not compared now. */
static void begin_trusted_sample(struct fixture *f)
{
    struct codes *codes = &f->target->cache.codes;

    while (!codes_trusted(codes) || codes_compared_now(codes))
        codes_sweep(codes);
}

static void compares_trusted_frames_in_one_sample_of_some(void **state)
{
    struct fixture *f = *state;
    const struct raw_frame raw[] = {frame(f, 2, 7), frame(f, 1, 3), frame(f, 0, 9)};
    struct codes *codes = &f->target->cache.codes;
    uint64_t reads;
    int samples;

    assert_int_equal(resolved(f, raw, 3, 0), CPY_OK);
    begin_trusted_sample(f);
    put_code(f, f->codes[1], "new", 5000);
    reads = f->fake->mem.reads;
    assert_int_equal(resolved(f, raw, 3, 0), CPY_OK);
    check(f, 1, "f1", 203);
    check_counts(f, 0, 3);
    assert_int_equal(f->fake->mem.reads, reads); /* that is what it is for */

    for (samples = 1; !codes_compared_now(codes); samples++)
        codes_sweep(codes);
    assert_true(samples <= CODES_EACH);
    assert_int_equal(resolved(f, raw, 3, 0), CPY_RACED); /* what was there when it was read? */
    assert_int_equal(resolved(f, raw, 3, 0), CPY_OK);
    check(f, 1, "new", 5003);

    put_code(f, f->codes[1], "newer", 6000); /* such a process is trusted no more */
    codes_sweep(codes);
    assert_int_equal(resolved(f, raw, 3, 0), CPY_OK);
    check(f, 1, "newer", 6003);
}

static void compares_frames_that_are_not_as_they_were(void **state)
{
    struct fixture *f = *state;
    struct raw_frame raw[] = {frame(f, 2, 7), frame(f, 1, 3), frame(f, 0, 9)};

    assert_int_equal(resolved(f, raw, 3, 0), CPY_OK);
    begin_trusted_sample(f);
    put_code(f, f->codes[1], "new", 5000);
    raw[1].unit = 4;
    assert_int_equal(resolved(f, raw, 3, 0), CPY_OK);
    check(f, 1, "new", 5004);
}

static void compares_all_frames_without_memo(void **state)
{
    struct fixture *f = *state;
    const struct raw_frame raw[] = {frame(f, 1, 3), frame(f, 0, 9)};

    f->target->options.plain = CPY_LAYER_MEMO;
    assert_int_equal(resolved(f, raw, 2, 0), CPY_OK);
    begin_trusted_sample(f);
    put_code(f, f->codes[1], "new", 5000);
    assert_int_equal(resolved(f, raw, 2, 0), CPY_OK);
    check(f, 0, "new", 5003);
}

static void leaves_out_a_call_whose_arguments_are_not_in_place(void **state)
{
    struct fixture *f = *state;
    struct raw_frame raw[] = {frame(f, 2, FIRST_TRACEABLE - 1), frame(f, 1, 3), frame(f, 0, 9)};
    int i;

    for (i = 0; i < 2; i++) {
        assert_int_equal(resolved(f, raw, 3, 1), CPY_OK);
        assert_int_equal(f->stack->depth, 2);
        check(f, 0, "f1", 203);
    }
    raw[0].unit++;
    assert_int_equal(resolved(f, raw, 3, 1), CPY_OK);
    assert_int_equal(f->stack->depth, 3);
    check_counts(f, 1, 2);
    raw[0] = (struct raw_frame){f->codes[2], -1, RAW_GENERATOR, 0, 0};
    assert_int_equal(resolved(f, raw, 3, 1), CPY_OK);
    check(f, 0, "f2", 300); /* a generator is shown before it starts */
}

static void names_what_is_no_function(void **state)
{
    struct fixture *f = *state;
    const struct raw_frame raw[] = {{.kind = RAW_GC}, frame(f, 1, 3), {.kind = RAW_NATIVE}};
    int i;

    for (i = 0; i < 2; i++) {
        assert_int_equal(resolved(f, raw, 3, 0), CPY_OK);
        check(f, 0, "<GC>", 0);
        check(f, 1, "f1", 203);
        check(f, 2, "<native>", 0);
        assert_string_equal(got(f, 2)->code->file, "~");
    }
    check_counts(f, 0, 3);
    assert_int_not_equal(got(f, 0)->code->id, got(f, 2)->code->id);
}

static void refuses_an_instruction_that_is_not_in_the_code(void **state)
{
    struct fixture *f = *state;
    struct raw_frame raw[] = {frame(f, 1, UNITS), frame(f, 0, 9)};

    assert_int_equal(resolved(f, raw, 2, 7), CPY_RACED);
    assert_int_equal(f->target->scratch->raw->tear, TEAR_CODE);
    raw[0].unit = UNITS - 1;
    assert_int_equal(resolved(f, raw, 2, 7), CPY_OK);
    check(f, 0, "f1", 200 + UNITS - 1);
    check_counts(f, 1, 1);
}

static void refuses_what_is_no_code_object(void **state)
{
    struct fixture *f = *state;
    struct raw_frame raw[] = {frame(f, 1, 3), frame(f, 0, 9)};
    uint64_t generation;

    for (generation = 0; generation < 2; generation++) {
        raw[0].code = f->type;
        assert_int_equal(resolved(f, raw, 2, generation), CPY_RACED);
        assert_int_equal(f->target->scratch->raw->tear, TEAR_CODE);
        raw[0].code = NOWHERE;
        assert_int_equal(resolved(f, raw, 2, generation), CPY_RACED);
        raw[0].code = f->codes[1];
        assert_int_equal(resolved(f, raw, 2, generation), CPY_OK);
        check(f, 0, "f1", 203);
        check(f, 1, "f0", 109);
    }
}

static void says_so_where_there_is_no_room_to_keep_a_stack(void **state)
{
    struct fixture *f = *state;
    const struct raw_frame raw[] = {frame(f, 1, 3), frame(f, 0, 9)};
    size_t before = f->target->cache.threads.frames;

    f->target->cache.threads.frames = THREAD_CACHE_FRAMES_MAX;
    assert_int_equal(resolved(f, raw, 2, 1), CPY_NOMEM);
    f->stack = &f->target->scratch->stack; /* this one has room already */
    assert_int_equal(resolved(f, raw, 2, 1), CPY_OK);
    check(f, 0, "f1", 203);
    f->target->cache.threads.frames = before;
}

static void says_that_a_stack_was_cut(void **state)
{
    struct fixture *f = *state;
    const struct raw_frame raw[] = {frame(f, 0, 9)};

    assert_int_equal(resolved(f, raw, 1, 1), CPY_OK);
    f->target->scratch->raw->cut = true;
    assert_int_equal(resolve(f->target, f->target->scratch->raw,
                             &(struct codes_owner){.generation = 1}, f->stack),
                     CPY_OK);
    assert_true(f->stack->cut);
    assert_int_equal(resolved(f, raw, 1, 1), CPY_OK);
    assert_false(f->stack->cut);
}

static void decodes_all_frames_where_instructions_are_asked_for(void **state)
{
    struct fixture *f = *state;
    const struct raw_frame raw[] = {frame(f, 1, 3), frame(f, 0, 9)};
    int i;

    f->target->options.frames = CPY_FRAME_OPCODES;
    for (i = 0; i < 2; i++) {
        assert_int_equal(resolved(f, raw, 2, 7), CPY_OK);
        check_counts(f, 2, 0); /* the interpreter changes them while it runs them */
        check(f, 0, "f1", 203);
    }
    f->target->process.reads_limit = 0; /* the sample has taken too long */
    assert_int_equal(resolved(f, raw, 2, 7), CPY_RACED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(gives_each_frame_its_name_and_line),
        TEST(decodes_nothing_of_a_stack_that_is_as_it_was),
        TEST(decodes_only_what_is_inside_of_the_first_change),
        TEST(follows_calls_and_returns),
        TEST(reuses_a_deep_stack_that_grows),
        TEST(reads_no_code_object_under_the_same_generation),
        TEST(does_not_reuse_a_frame_whose_code_object_was_replaced),
        TEST(compares_trusted_frames_in_one_sample_of_some),
        TEST(compares_frames_that_are_not_as_they_were),
        TEST(compares_all_frames_without_memo),
        TEST(leaves_out_a_call_whose_arguments_are_not_in_place),
        TEST(names_what_is_no_function),
        TEST(refuses_an_instruction_that_is_not_in_the_code),
        TEST(refuses_what_is_no_code_object),
        TEST(says_so_where_there_is_no_room_to_keep_a_stack),
        TEST(says_that_a_stack_was_cut),
        TEST(decodes_all_frames_where_instructions_are_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

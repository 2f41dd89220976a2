/* SPDX-License-Identifier: Apache-2.0 */
/* test_instr.c - a frame's instruction is named, whatever stands in the inline caches. */
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"
#include "unwind/layouts/opcodes.h"
#include "unwind/objects/instr.h"

enum { UNITS = 5000 };

/* A code object whose bytecode is being written. */
struct fixture {
    struct fake *fake;
    struct code_entry entry;
    cpy_addr bytecode, monitoring, lines, instructions;
    int32_t count;
};

static struct fixture make(unsigned minor)
{
    const struct layout layout = fake_layout(minor);
    struct fixture f = {.fake = fake_new(&layout)};

    f.entry.addr = fake_room(f.fake, layout.code.size + 2 * UNITS);
    if (layout.code.co_code != NO_FIELD)
        f.entry.co_code = fake_room(f.fake, layout.bytes.ob_sval + 2 * UNITS);
    f.bytecode = f.entry.co_code ? f.entry.co_code + layout.bytes.ob_sval
                                 : f.entry.addr + layout.code.bytecode;
    return f;
}

static void finish(struct fixture *f)
{
    mem_close(&f->fake->mem);
}

static uint8_t opcode_of(const struct fixture *f, const char *name)
{
    const char *other;
    unsigned opcode;

    for (opcode = 0; opcode <= UINT8_MAX; opcode++) {
        other = opcode_name(f->fake->layout.minor, (uint8_t)opcode);
        if (other && strcmp(other, name) == 0)
            return (uint8_t)opcode;
    }
    fail_msg("there is no %s", name);
    return 0;
}

/* Puts a unit; gives where it is. */
static int32_t put_unit(struct fixture *f, uint8_t opcode)
{
    assert_true(f->count < UNITS);
    fake_put8(f->fake, f->bytecode + 2 * (cpy_addr)f->count, opcode);
    return f->count++;
}

/* Puts an instruction, its caches full of opcodes that have the most caches themselves. */
static int32_t put(struct fixture *f, const char *name)
{
    uint8_t opcode = opcode_of(f, name);
    int32_t at = put_unit(f, opcode);
    uint8_t caches = opcode_caches(f->fake->layout.minor, opcode);

    for (; caches > 0 && caches <= OPCODE_CACHES_MAX; caches--)
        (void)put_unit(f, opcode_of(f, "LOAD_ATTR"));
    return at;
}

/* Has what the code's instrumented opcodes hide kept beside it. */
static void monitor(struct fixture *f)
{
    const struct layout *l = &f->fake->layout;

    f->monitoring = fake_room(f->fake, 128);
    f->lines = fake_room(f->fake, (size_t)2 * UNITS);
    f->instructions = fake_room(f->fake, UNITS);
    fake_put64(f->fake, f->entry.addr + l->code.monitoring, f->monitoring);
    fake_put64(f->fake, f->monitoring + l->monitoring.lines, f->lines);
    fake_put64(f->fake, f->monitoring + l->monitoring.per_instruction_opcodes, f->instructions);
}

/* Puts an instruction of which only the hidden opcode tells how many caches follow. */
static int32_t put_hidden(struct fixture *f, const char *name, bool line, bool instruction)
{
    int32_t at = put(f, name);
    uint8_t under = opcode_of(f, name);

    if (instruction) {
        fake_put8(f->fake, f->instructions + (cpy_addr)at, under);
        under = opcode_of(f, "INSTRUMENTED_INSTRUCTION");
    }
    if (line) {
        fake_put8(f->fake, f->lines + 2 * (cpy_addr)at, under);
        under = opcode_of(f, "INSTRUMENTED_LINE");
    }
    fake_put8(f->fake, f->bytecode + 2 * (cpy_addr)at, under);
    return at;
}

static const char *name_at(struct fixture *f, int32_t unit)
{
    const char *name = "untouched";

    assert_int_equal(instr_name(&f->fake->reader, &f->entry, unit, &name), CPY_OK);
    return name;
}

static void names_the_instruction_whose_last_cache_a_frame_points_to(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 12; minor++) {
        struct fixture f = make(minor);
        int32_t load, call, end;

        (void)put(&f, "RESUME");
        load = put(&f, "LOAD_GLOBAL_MODULE");
        call = put(&f, "CALL_PY_EXACT_ARGS");
        end = put(&f, "RETURN_VALUE");

        assert_string_equal(name_at(&f, load), "LOAD_GLOBAL_MODULE");
        assert_string_equal(name_at(&f, call - 1), "LOAD_GLOBAL_MODULE");
        assert_string_equal(name_at(&f, call), "CALL_PY_EXACT_ARGS");
        assert_string_equal(name_at(&f, end - 1), "CALL_PY_EXACT_ARGS");
        assert_string_equal(name_at(&f, end), "RETURN_VALUE");
        finish(&f);
    }
}

static void gives_no_name_amid_the_caches_where_no_frame_points(void **state)
{
    struct fixture f = make(12);
    int32_t call = put(&f, "CALL"), end = put(&f, "RETURN_VALUE");

    (void)state;
    assert_int_equal(end - call, 4);
    assert_null(name_at(&f, call + 1));
    assert_null(name_at(&f, call + 2));
    assert_string_equal(name_at(&f, call + 3), "CALL");
    finish(&f);
}

static void takes_each_extended_argument_for_an_instruction(void **state)
{
    struct fixture f = make(11);
    int32_t first = put(&f, "EXTENDED_ARG"), second = put(&f, "EXTENDED_ARG_QUICK"), method, end;

    (void)state;
    method = put(&f, "LOAD_METHOD_NO_DICT");
    end = put(&f, "POP_TOP");
    assert_string_equal(name_at(&f, first), "EXTENDED_ARG");
    assert_string_equal(name_at(&f, second), "EXTENDED_ARG_QUICK");
    assert_string_equal(name_at(&f, method), "LOAD_METHOD_NO_DICT");
    assert_string_equal(name_at(&f, end - 1), "LOAD_METHOD_NO_DICT");
    assert_string_equal(name_at(&f, end), "POP_TOP");
    finish(&f);
}

static void passes_by_what_instrumented_opcodes_hide(void **state)
{
    struct fixture f = make(12);
    int32_t call, line, instruction, both, end;

    (void)state;
    monitor(&f);
    call = put(&f, "INSTRUMENTED_CALL");
    line = put_hidden(&f, "LOAD_GLOBAL", true, false);
    instruction = put_hidden(&f, "INSTRUMENTED_CALL", false, true);
    both = put_hidden(&f, "LOAD_ATTR", true, true);
    end = put(&f, "INSTRUMENTED_RETURN_VALUE");

    assert_string_equal(name_at(&f, line - 1), "INSTRUMENTED_CALL");
    assert_string_equal(name_at(&f, call), "INSTRUMENTED_CALL");
    assert_string_equal(name_at(&f, line), "INSTRUMENTED_LINE");
    assert_string_equal(name_at(&f, instruction - 1), "INSTRUMENTED_LINE");
    assert_string_equal(name_at(&f, both - 1), "INSTRUMENTED_INSTRUCTION");
    assert_string_equal(name_at(&f, end - 1), "INSTRUMENTED_LINE");
    assert_string_equal(name_at(&f, end), "INSTRUMENTED_RETURN_VALUE");
    finish(&f);
}

static void names_nothing_behind_what_is_hidden_for_good(void **state)
{
    struct fixture f = make(12);
    int32_t before, line;

    (void)state;
    before = put(&f, "LOAD_FAST");
    line = put(&f, "INSTRUMENTED_LINE");
    (void)put(&f, "LOAD_FAST");
    assert_string_equal(name_at(&f, before), "LOAD_FAST");
    assert_string_equal(name_at(&f, line), "INSTRUMENTED_LINE");
    assert_null(name_at(&f, line + 1));
    monitor(&f); /* now there is a place for it, but nothing in it */
    assert_null(name_at(&f, line + 1));
    finish(&f);
}

static void names_nothing_from_an_opcode_on_that_the_version_does_not_have(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 12; minor++) {
        struct fixture f = make(minor);
        int32_t before = put(&f, "LOAD_FAST"), unknown = put_unit(&f, UINT8_MAX), cache;

        (void)put(&f, "LOAD_FAST");
        assert_string_equal(name_at(&f, before), "LOAD_FAST");
        assert_null(name_at(&f, unknown));
        assert_null(name_at(&f, unknown + 1));
        f.count = unknown;
        cache = put_unit(&f, opcode_of(&f, "CACHE")); /* begins no instruction */
        assert_null(name_at(&f, cache));
        assert_null(name_at(&f, cache + 1));
        finish(&f);
    }
}

static void follows_code_of_any_length_piece_by_piece(void **state)
{
    struct fixture f = make(12);
    int32_t at = 0, call;

    (void)state;
    monitor(&f);
    while (f.count < 4500) { /* of seven units: the pieces end within some of them */
        at = put_hidden(&f, "CALL", f.count % 2, f.count % 3);
        (void)put(&f, "COPY");
        (void)put(&f, "SWAP");
        (void)put(&f, "NOP");
    }
    call = put(&f, "CALL_NO_KW_BUILTIN_O");

    assert_true(f.count > 4500);
    assert_string_equal(name_at(&f, call), "CALL_NO_KW_BUILTIN_O");
    assert_string_equal(name_at(&f, call + 3), "CALL_NO_KW_BUILTIN_O");
    assert_string_equal(name_at(&f, call - 1), "NOP");
    assert_non_null(name_at(&f, at));
    f.fake->mem.reads = 0;
    (void)name_at(&f, call);
    assert_int_equal(f.fake->mem.reads, 2 + 5);
    finish(&f);
}

static void says_so_where_the_bytecode_cannot_be_read(void **state)
{
    (void)state;
    for (unsigned minor = 10; minor <= 13; minor++) {
        struct fixture f = make(minor);
        const char *name;
        int32_t at = put(&f, "NOP");

        f.fake->hole = f.bytecode;
        f.fake->hole_end = f.bytecode + 1;
        assert_int_equal(instr_name(&f.fake->reader, &f.entry, at, &name), CPY_RACED);
        finish(&f);
    }
}

static void reads_nothing_for_a_unit_that_no_code_has(void **state)
{
    (void)state;
    for (unsigned minor = 10; minor <= 13; minor++) {
        struct fixture f = make(minor);

        assert_null(name_at(&f, -1));
        assert_null(name_at(&f, INSTR_UNITS_MAX));
        assert_null(name_at(&f, INT32_MAX));
        assert_int_equal(f.fake->mem.reads, 0);
        finish(&f);
    }
}

static void looks_at_one_unit_where_frames_point_to_it(void **state)
{
    static const unsigned minors[] = {6, 10, 13, 14, 15};

    (void)state;
    for (size_t i = 0; i < sizeof(minors) / sizeof(minors[0]); i++) {
        struct fixture f = make(minors[i]);
        int32_t at;

        (void)put_unit(&f, UINT8_MAX);
        at = put_unit(&f, opcode_of(&f, "POP_TOP"));
        assert_string_equal(name_at(&f, at), "POP_TOP");
        assert_int_equal(f.fake->mem.reads, 1);
        finish(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_instruction_whose_last_cache_a_frame_points_to),
        cmocka_unit_test(gives_no_name_amid_the_caches_where_no_frame_points),
        cmocka_unit_test(takes_each_extended_argument_for_an_instruction),
        cmocka_unit_test(passes_by_what_instrumented_opcodes_hide),
        cmocka_unit_test(names_nothing_behind_what_is_hidden_for_good),
        cmocka_unit_test(names_nothing_from_an_opcode_on_that_the_version_does_not_have),
        cmocka_unit_test(follows_code_of_any_length_piece_by_piece),
        cmocka_unit_test(says_so_where_the_bytecode_cannot_be_read),
        cmocka_unit_test(reads_nothing_for_a_unit_that_no_code_has),
        cmocka_unit_test(looks_at_one_unit_where_frames_point_to_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

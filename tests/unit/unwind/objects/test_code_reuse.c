/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_code_reuse.c - a code object that has the address of one that died, and its names and its
 * line table at the same addresses, too, is taken for what it is.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

static const unsigned minors[] = {6, 8, 10, 11, 12, 13, 14, 15};
enum { VERSIONS = sizeof(minors) / sizeof(minors[0]), UNITS = 10 };

/* A cache, and a code object called "old" whose parts can be changed in place. */
struct scene {
    struct fake *fake;
    struct codes codes;
    struct codes_owner owner; /* of no count, unless a test says so */
    cpy_addr code, func, file, table;
};

static void begin_with(struct scene *s, unsigned minor, const void *table, size_t size)
{
    *s = (struct scene){.fake = fake_of(minor)};
    codes_init(&s->codes);
    s->code = fake_code(s->fake, &(struct fake_code){.type = fake_type(s->fake, "code", 0),
                                                     .func = "old",
                                                     .units = UNITS,
                                                     .first_line = 42,
                                                     .table = table,
                                                     .table_size = size});
    s->func = fake_get64(s->fake, s->code + s->fake->layout.code.qualname);
    s->file = fake_get64(s->fake, s->code + s->fake->layout.code.filename);
    s->table = fake_get64(s->fake, s->code + s->fake->layout.code.linetable);
}

static void begin(struct scene *s, unsigned minor)
{
    begin_with(s, minor, "\x87\x01", 2);
}

static void end(struct scene *s)
{
    codes_finish(&s->codes);
    mem_close(&s->fake->mem);
}

/* What is known of the code object in the next sample. */
static const struct code_entry *look(struct scene *s)
{
    codes_sweep(&s->codes);
    assert_int_equal(codes_check(&s->codes, &s->fake->reader, &s->code, 1, &s->owner), CPY_OK);
    return codes_find(&s->codes, s->code);
}

static cpy_addr chars_of(const struct scene *s, cpy_addr str)
{
    return str + s->fake->layout.unicode.ascii_data;
}

static void notices_another_name_at_the_same_address(void **state)
{
    struct scene s;
    uint64_t id;

    (void)state;
    for (size_t v = 0; v < VERSIONS; v++) {
        begin(&s, minors[v]);
        id = look(&s)->code.id;
        fake_put(s.fake, chars_of(&s, s.func), "new", 3);
        assert_string_equal(look(&s)->code.func, "new");
        assert_int_not_equal(codes_find(&s.codes, s.code)->code.id, id);
        fake_put(s.fake, chars_of(&s, s.file), "/opt", 4);
        assert_string_equal(look(&s)->code.file, "/opt/app.py");
        end(&s);
    }
}

static void notices_a_name_that_is_longer_or_of_other_characters(void **state)
{
    struct scene s;
    cpy_addr state_at;

    (void)state;
    for (size_t v = 0; v < VERSIONS; v++) {
        begin(&s, minors[v]);
        assert_string_equal(look(&s)->code.func, "old");
        fake_put64(s.fake, s.func + s.fake->layout.unicode.length, 2);
        assert_string_equal(look(&s)->code.func, "ol");
        state_at = s.func + s.fake->layout.unicode.state;
        fake_put32(s.fake, state_at,
                   (1U << s.fake->layout.unicode.kind_shift) | s.fake->layout.unicode.compact);
        fake_put(s.fake, s.func + s.fake->layout.unicode.compact_data, "\xfcx", 2);
        assert_string_equal(look(&s)->code.func, "\xc3\xbcx");
        end(&s);
    }
}

static void notices_another_line_table_at_the_same_address(void **state)
{
    struct scene s;

    (void)state;
    for (size_t v = 0; v < VERSIONS; v++) {
        begin(&s, minors[v]);
        assert_memory_equal(look(&s)->table, "\x87\x01", 2);
        fake_put(s.fake, s.table + s.fake->layout.bytes.ob_sval, "\x87\x03", 2);
        assert_memory_equal(look(&s)->table, "\x87\x03", 2);
        fake_put64(s.fake, s.table + s.fake->layout.object.ob_size, 1);
        assert_int_equal(look(&s)->table_size, 1);
        end(&s);
    }
}

static void takes_a_str_whose_hash_is_computed_for_the_same(void **state)
{
    struct scene s;
    uint64_t id;

    (void)state;
    for (size_t v = 0; v < VERSIONS; v++) {
        begin(&s, minors[v]);
        fake_put64(s.fake, s.func + s.fake->layout.unicode.length + 8, UINT64_MAX);
        id = look(&s)->code.id;
        fake_put64(s.fake, s.func + s.fake->layout.unicode.length + 8, 12345);
        assert_int_equal(look(&s)->code.id, id);
        end(&s);
    }
}

static void compares_no_more_than_the_first_part_of_a_large_line_table(void **state)
{
    static unsigned char table[CODES_TABLE_COMPARED + 100];
    struct scene s;
    uint64_t bytes;

    (void)state;
    begin_with(&s, 11, table, sizeof(table));
    (void)look(&s);
    bytes = s.fake->mem.bytes;
    (void)look(&s);
    assert_true(s.fake->mem.bytes - bytes < CODES_TABLE_COMPARED + 1024);
    fake_put8(s.fake, s.table + s.fake->layout.bytes.ob_sval + CODES_TABLE_COMPARED - 1, 7);
    assert_int_equal(look(&s)->table[CODES_TABLE_COMPARED - 1], 7);
    end(&s);
}

static void leaves_out_the_lines_of_a_table_that_is_too_large(void **state)
{
    static unsigned char table[CODES_TABLE_COMPARED];
    const struct code_entry *entry;
    struct scene s;
    uint64_t id;

    (void)state;
    for (size_t v = 0; v < VERSIONS; v++) {
        begin_with(&s, minors[v], table, sizeof(table));
        fake_put64(s.fake, s.table + s.fake->layout.object.ob_type, fake_type(s.fake, "bytes", 0));
        fake_put64(s.fake, s.table + s.fake->layout.object.ob_size, OBJECT_BYTES_MAX + 1);
        entry = look(&s);
        assert_string_equal(entry->code.func, "old");
        assert_int_equal(entry->code.first_line, 42);
        assert_int_equal(code_lines_size(entry), 0);
        id = entry->code.id;
        assert_int_equal(look(&s)->code.id, id);
        fake_put64(s.fake, s.table + s.fake->layout.object.ob_size, OBJECT_BYTES_MAX + 2);
        assert_int_not_equal(look(&s)->code.id, id); /* another table */
        end(&s);
    }
}

static void refuses_what_is_no_bytes_object_where_a_large_table_was(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, 8);
    fake_put64(s.fake, s.table + s.fake->layout.object.ob_size, OBJECT_BYTES_MAX + 1);
    codes_sweep(&s.codes);
    assert_int_equal(codes_check(&s.codes, &s.fake->reader, &s.code, 1, &s.owner), CPY_RACED);
    end(&s);
}

static void compares_names_once_a_sample(void **state)
{
    const uint32_t *size;
    struct scene s;
    uint64_t bytes;

    (void)state;
    begin(&s, 11);
    size = &s.fake->layout.code.size;
    (void)look(&s);
    (void)look(&s);
    bytes = s.fake->mem.bytes;
    assert_int_equal(codes_check(&s.codes, &s.fake->reader, &s.code, 1, &s.owner), CPY_OK);
    assert_int_equal(s.fake->mem.bytes - bytes, *size);
    end(&s);
}

/* 3.12 and 3.13 give each code object a number. */
static void compares_no_names_while_the_version_is_the_same(void **state)
{
    struct scene s;
    uint64_t bytes, id;

    (void)state;
    for (unsigned minor = 12; minor <= 13; minor++) {
        begin(&s, minor);
        fake_put32(s.fake, s.code + s.fake->layout.code.version, 900);
        id = look(&s)->code.id;
        bytes = s.fake->mem.bytes;
        assert_int_equal(look(&s)->code.id, id);
        assert_int_equal(s.fake->mem.bytes - bytes, s.fake->layout.code.size);
        fake_put(s.fake, chars_of(&s, s.func), "new", 3);
        fake_put32(s.fake, s.code + s.fake->layout.code.version, 902);
        assert_string_equal(look(&s)->code.func, "new");
        end(&s);
    }
}

static void compares_names_if_another_interpreter_has_given_the_same_version(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, 13);
    fake_put32(s.fake, s.code + s.fake->layout.code.version, 900);
    s.owner.interp_id = 1;
    assert_string_equal(look(&s)->code.func, "old");
    fake_put(s.fake, chars_of(&s, s.func), "new", 3);
    s.owner.interp_id = 2;
    assert_string_equal(look(&s)->code.func, "new");
    fake_put(s.fake, chars_of(&s, s.func), "one", 3);
    s.codes.restarts++; /* ids begin anew */
    assert_string_equal(look(&s)->code.func, "one");
    end(&s);
}

static void compares_nothing_under_the_same_count_of_the_same_interpreter(void **state)
{
    enum { COUNT = 7 };
    struct scene s;
    uint64_t reads;

    (void)state;
    begin(&s, 14);
    s.owner = (struct codes_owner){1, codes_stamp(&s.codes, 1, COUNT)};
    (void)look(&s);
    reads = s.fake->mem.reads;
    (void)look(&s);
    assert_int_equal(s.fake->mem.reads, reads);
    fake_put(s.fake, chars_of(&s, s.func), "new", 3);
    s.owner = (struct codes_owner){2, codes_stamp(&s.codes, 2, COUNT)};
    assert_string_equal(look(&s)->code.func, "new");
    end(&s);
}

static void has_a_stamp_of_its_own_for_each_count_of_each_interpreter(void **state)
{
    enum { IDS = 50, RESTARTS = 10, COUNTS = 20 };
    static uint64_t stamps[IDS * RESTARTS * COUNTS];
    struct codes codes = {0};
    size_t i, count = 0;

    (void)state;
    for (codes.restarts = 0; codes.restarts < RESTARTS; codes.restarts++)
        for (uint64_t id = 0; id < IDS; id++)
            for (i = 0; i < COUNTS; i++)
                stamps[count++] = codes_stamp(&codes, id, i * i * i * 1000003);
    for (count = 0; count < sizeof(stamps) / sizeof(stamps[0]); count++)
        for (i = 0; i < count; i++)
            if (stamps[i] == stamps[count])
                fail_msg("stamps %zu and %zu are the same", i, count);
}

static void decodes_another_one_whose_predecessors_names_are_not_mapped_any_more(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, 14);
    s.owner.generation = 7;
    (void)look(&s);
    fake_put64(s.fake, s.code + s.fake->layout.code.qualname, fake_str(s.fake, "new"));
    s.fake->hole = s.func;
    s.fake->hole_end = s.func + 1;
    s.owner.generation = 8;
    assert_string_equal(look(&s)->code.func, "new");
    end(&s);
}

static void decodes_again_what_a_frame_does_not_fit(void **state)
{
    struct scene s;
    cpy_addr bytecode;

    (void)state;
    begin(&s, 8);
    assert_int_equal(look(&s)->unit_count, UNITS);
    bytecode = fake_get64(s.fake, s.code + s.fake->layout.code.co_code);
    fake_put64(s.fake, bytecode + s.fake->layout.object.ob_size, 2 * UNITS + 4);
    codes_distrust(&s.codes, s.code);
    codes_distrust(&s.codes, NOWHERE);
    assert_int_equal(look(&s)->unit_count, UNITS + 2);
    end(&s);
}

static void decodes_once_what_comes_twice(void **state)
{
    struct scene s;
    cpy_addr addrs[3];

    (void)state;
    begin(&s, 11);
    (void)look(&s);
    addrs[0] = addrs[2] = s.code;
    addrs[1] = fake_code(s.fake, &(struct fake_code){.type = s.codes.code_type,
                                                     .func = "other",
                                                     .units = UNITS,
                                                     .table = "",
                                                     .table_size = 0});
    fake_put(s.fake, chars_of(&s, s.func), "new", 3);
    codes_sweep(&s.codes);
    assert_int_equal(codes_check(&s.codes, &s.fake->reader, addrs, 3, &s.owner), CPY_OK);
    assert_int_equal(s.codes.decoded, 3);
    assert_int_equal(s.codes.replaced, 1);
    assert_string_equal(codes_find(&s.codes, s.code)->code.func, "new");
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notices_another_name_at_the_same_address),
        cmocka_unit_test(notices_a_name_that_is_longer_or_of_other_characters),
        cmocka_unit_test(notices_another_line_table_at_the_same_address),
        cmocka_unit_test(takes_a_str_whose_hash_is_computed_for_the_same),
        cmocka_unit_test(compares_no_more_than_the_first_part_of_a_large_line_table),
        cmocka_unit_test(leaves_out_the_lines_of_a_table_that_is_too_large),
        cmocka_unit_test(refuses_what_is_no_bytes_object_where_a_large_table_was),
        cmocka_unit_test(compares_names_once_a_sample),
        cmocka_unit_test(compares_no_names_while_the_version_is_the_same),
        cmocka_unit_test(compares_names_if_another_interpreter_has_given_the_same_version),
        cmocka_unit_test(compares_nothing_under_the_same_count_of_the_same_interpreter),
        cmocka_unit_test(has_a_stamp_of_its_own_for_each_count_of_each_interpreter),
        cmocka_unit_test(decodes_another_one_whose_predecessors_names_are_not_mapped_any_more),
        cmocka_unit_test(decodes_again_what_a_frame_does_not_fit),
        cmocka_unit_test(decodes_once_what_comes_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

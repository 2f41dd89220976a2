/* SPDX-License-Identifier: Apache-2.0 */
/* test_layout.c - rows and tables of offsets are those of CPython's headers, and checked. */
#include <stdio.h>

#include "tests/images/image.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/images.h"

enum { VERSIONS = 5 };
static const unsigned minors[VERSIONS] = {11, 12, 13, 14, 15};
static const char *const images[VERSIONS] = {
    [2] = "tests/golden/unwind/3.13.18-debian.img",
    [3] = "tests/golden/unwind/3.14.10-debian.img",
    [4] = "tests/golden/unwind/3.15.2-debian.img",
};

/* offsetof and sizeof, compiled against the headers of 3.11.7, 3.12.1, 3.13.18, 3.14.10, 3.15.2. */
static const struct {
    const char *name;
    size_t field;
    uint32_t values[VERSIONS];
} expected[] = {
#define FIELD(name, at11, at12, at13, at14, at15) \
    {                                             \
#name, offsetof(struct layout, name),     \
        {                                         \
            at11, at12, at13, at14, at15          \
        }                                         \
    }
    FIELD(runtime.interpreters_head, 40, 40, 632, 808, 936),
    FIELD(runtime.finalizing, 24, 24, 608, 784, 912),
    FIELD(runtime.main_thread, 80, 64, NO_FIELD, NO_FIELD, NO_FIELD),
    FIELD(runtime.tstate_current, 576 + IMAGES_MUTEX_SHIFT, NO_FIELD, NO_FIELD, NO_FIELD, NO_FIELD),
    FIELD(interp.size, 107752, 383552, 194984, 225864, 226240),
    FIELD(interp.next, 0, 0, 7264, 7272, 7264),
    FIELD(interp.id, 48, 8, 7272, 7280, 7272),
    FIELD(interp.threads_head, 16, 72, 7344, 7344, 7336),
    FIELD(interp.threads_main, NO_FIELD, NO_FIELD, 7352, 7360, 7352),
    FIELD(interp.modules, 888, 944, 7656, 7688, 7592),
    FIELD(interp.gil, NO_FIELD, 384, 16, 16, 16),
    FIELD(interp.code_generation, NO_FIELD, NO_FIELD, NO_FIELD, 7992, 7944),
    FIELD(gil.last_holder, NO_FIELD, 8, 8, 8, 8),
    FIELD(gil.locked, NO_FIELD, 16, 16, 16, 16),
    FIELD(thread.size, 360, 288, 312, 832, 888),
    FIELD(thread.next, 8, 8, 8, 8, 8),
    FIELD(thread.interp, 16, 16, 16, 16, 16),
    FIELD(thread.current_frame, NO_FIELD, NO_FIELD, 72, 72, 72),
    FIELD(thread.cframe, 56, 56, NO_FIELD, NO_FIELD, NO_FIELD),
    FIELD(thread.base_frame, NO_FIELD, NO_FIELD, NO_FIELD, NO_FIELD, 80),
    FIELD(thread.status, NO_FIELD, 24, 32, 32, 32),
    FIELD(thread.thread_id, 152, 136, 152, 152, 176),
    FIELD(thread.native_thread_id, 160, 144, 160, 160, 184),
    FIELD(thread.datastack_chunk, 296, 232, 232, 232, 256),
    FIELD(cframe.current_frame, 8, 0, NO_FIELD, NO_FIELD, NO_FIELD),
    FIELD(frame.size, 72, 72, 80, 88, 88),
    FIELD(frame.executable, 32, 0, 0, 0, 0),
    FIELD(frame.previous, 48, 8, 8, 8, 8),
    FIELD(frame.instr, 56, 56, 56, 56, 56),
    FIELD(frame.owner, 69, 70, 70, 74, 74),
    FIELD(frame.is_entry, 68, NO_FIELD, NO_FIELD, NO_FIELD, NO_FIELD),
    FIELD(frame.frame_obj, 40, 48, 48, 48, 48),
    FIELD(code.size, 192, 200, 208, 216, 216),
    FIELD(code.filename, 112, 112, 112, 112, 112),
    FIELD(code.qualname, 128, 128, 128, 128, 128),
    FIELD(code.linetable, 136, 136, 136, 136, 136),
    FIELD(code.firstlineno, 72, 68, 68, 68, 68),
    FIELD(code.firsttraceable, 168, 176, 184, 192, 192),
    FIELD(code.version, NO_FIELD, 92, 92, NO_FIELD, NO_FIELD),
    FIELD(code.bytecode, 184, 192, 200, 208, 208),
    FIELD(object.ob_type, 8, 8, 8, 8, 8),
    FIELD(object.ob_size, 16, 16, 16, 16, 16),
    FIELD(type.tp_name, 24, 24, 24, 24, 24),
    FIELD(type.tp_flags, 168, 168, 168, 168, 168),
    FIELD(type.tp_basicsize, 32, 32, 32, 32, 32),
    FIELD(type.tp_dictoffset, 288, 288, 288, 288, 288),
    FIELD(type.ht_cached_keys, 872, 880, 880, 880, 888),
    FIELD(unicode.length, 16, 16, 16, 16, 16),
    FIELD(unicode.state, 32, 32, 32, 32, 32),
    FIELD(unicode.ascii_data, 48, 40, 40, 40, 40),
    FIELD(unicode.compact_data, 72, 56, 56, 56, 56),
    FIELD(bytes.ob_sval, 32, 32, 32, 32, 32),
    FIELD(integer.tag, 16, 16, 16, 16, 16),
    FIELD(integer.digit, 24, 24, 24, 24, 24),
    FIELD(dict.ma_keys, 32, 32, 32, 32, 32),
    FIELD(dict.ma_values, 40, 40, 40, 40, 40),
    FIELD(dict.values_skip, 0, 0, 8, 8, 8),
#undef FIELD
};

/* The fields that must lie inside their structure. */
static const struct {
    const char *name;
    size_t field, size;
    uint32_t width;
} inside[] = {
#define INSIDE(part, name, width)                                                                \
    {                                                                                            \
#part "." #name, offsetof(struct layout, part.name), offsetof(struct layout, part.size), \
            width                                                                                \
    }
    INSIDE(interp, id, 8),
    INSIDE(interp, next, 8),
    INSIDE(interp, threads_head, 8),
    INSIDE(interp, threads_main, 8),
    INSIDE(interp, modules, 8),
    INSIDE(interp, gil, 8),
    INSIDE(interp, code_generation, 8),
    INSIDE(thread, next, 8),
    INSIDE(thread, interp, 8),
    INSIDE(thread, current_frame, 8),
    INSIDE(thread, cframe, 8),
    INSIDE(thread, base_frame, 8),
    INSIDE(thread, status, 4),
    INSIDE(thread, thread_id, 8),
    INSIDE(thread, native_thread_id, 8),
    INSIDE(thread, datastack_chunk, 16),
    INSIDE(frame, executable, 8),
    INSIDE(frame, previous, 8),
    INSIDE(frame, instr, 8),
    INSIDE(frame, owner, 1),
    INSIDE(frame, is_entry, 1),
    INSIDE(code, filename, 8),
    INSIDE(code, qualname, 8),
    INSIDE(code, linetable, 8),
    INSIDE(code, firstlineno, 4),
    INSIDE(code, firsttraceable, 4),
    INSIDE(code, version, 4),
    INSIDE(code, bytecode, 2),
#undef INSIDE
    {"object.ob_type", offsetof(struct layout, object.ob_type), offsetof(struct layout, code.size),
     8},
    {"object.ob_size", offsetof(struct layout, object.ob_size), offsetof(struct layout, code.size),
     8},
};

enum { INSIDE_COUNT = sizeof(inside) / sizeof(inside[0]) };

static const struct {
    size_t size;
    uint32_t max;
} sizes[] = {
    {offsetof(struct layout, interp.size), 1 << 20},
    {offsetof(struct layout, thread.size), 4096},
    {offsetof(struct layout, frame.size), 512},
    {offsetof(struct layout, code.size), 1024},
};

static uint32_t get(const struct layout *layout, size_t field)
{
    uint32_t value;

    memcpy(&value, (const char *)layout + field, sizeof(value));
    return value;
}

static void set(struct layout *layout, size_t field, uint32_t value)
{
    memcpy((char *)layout + field, &value, sizeof(value));
}

/* The table of offsets in a golden image. */
static void read_table(size_t version, unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX])
{
    struct mem *mem;
    struct found found;

    assert_int_equal(image_open(images[version], &mem, &found, NULL), CPY_OK);
    assert_int_equal(mem_read(mem, found.runtime, table, LAYOUT_DEBUG_OFFSETS_MAX), CPY_OK);
    mem_close(mem);
}

static void put_word(unsigned char *table, size_t at, uint64_t word)
{
    memcpy(table + at, &word, sizeof(word));
}

static enum cpy_rc parse(const unsigned char *table, struct layout *out, struct err *err)
{
    uint32_t hexversion;

    memset(out, 0, sizeof(*out));
    err->text[0] = '\0';
    return layout_from_debug_offsets(table, out, &hexversion, err);
}

static struct layout layout_for(size_t version)
{
    unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX];
    struct layout layout;
    struct err err;

    if (!images[version])
        return *layout_of_version(3U << 24 | minors[version] << 16);
    read_table(version, table);
    assert_int_equal(parse(table, &layout, &err), CPY_OK);
    return layout;
}

static void has_the_offsets_of_the_headers(void **state)
{
    (void)state;
    for (size_t v = 0; v < VERSIONS; v++) {
        struct layout layout = layout_for(v);

        for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
            if (get(&layout, expected[i].field) != expected[i].values[v])
                fail_msg("3.%u: %s is %u, the headers say %u", minors[v], expected[i].name,
                         get(&layout, expected[i].field), expected[i].values[v]);
        assert_int_equal(layout.minor, minors[v]);
    }
}

static void fits_in_every_version(void **state)
{
    struct err err = {""};

    (void)state;
    for (size_t v = 0; v < VERSIONS; v++) {
        struct layout layout = layout_for(v);

        if (!layout_fits(&layout, &err))
            fail_msg("3.%u: %s", minors[v], err.text);
    }
}

static void says_how_each_version_behaves(void **state)
{
    static const enum layout_chain_end ends[VERSIONS] = {END_ENTRY, END_SHIM, END_SHIM, END_SHIM,
                                                         END_BASE_FRAME};
    static const uint32_t cleared[VERSIONS] = {0, 1 << 6, 1 << 7, 1 << 6, 1 << 6};

    (void)state;
    for (size_t v = 0; v < VERSIONS; v++) {
        struct layout layout = layout_for(v);

        assert_int_equal(layout.chain_end, ends[v]);
        assert_int_equal(layout.status_cleared, cleared[v]);
        assert_int_equal(layout.status_bound, v == 0 ? 0 : 2);
        assert_int_equal(layout.shim_owner, v == 0 ? 255 : 3);
        assert_int_equal(layout.generator_owner, 1);
        assert_true(layout.tag_mask == (v < 3 ? UINT64_MAX : UINT64_MAX - 3));
        assert_int_equal(layout.attributes, v < 2 ? ATTRIBUTES_3_11 + v : ATTRIBUTES_3_13);
        assert_int_equal(layout.integer_tag_is_count, v == 0);
    }
}

static void finds_rows_by_major_and_minor_only(void **state)
{
    (void)state;
    assert_ptr_equal(layout_of_version(0x030b00a1), layout_of_version(0x030b0ff0));
    assert_int_equal(layout_of_version(0x030c0000)->minor, 12);
    assert_int_equal(layout_of_version(0x030600f0)->minor, 6);
    assert_int_equal(layout_of_version(0x030a0df0)->minor, 10);
    assert_null(layout_of_version(0x030500f0));
    assert_null(layout_of_version(0x030d00f0));
    assert_null(layout_of_version(0x040b00f0));
    assert_null(layout_of_version(0x000b00f0));
    assert_null(layout_of_version(0));
}

static void refuses_a_table_without_the_cookie(void **state)
{
    unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX];
    struct layout layout;
    struct err err;

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        read_table(4, table);
        table[i] ^= 1;
        assert_int_equal(parse(table, &layout, &err), CPY_FOREIGN);
        assert_string_equal(err.text, "its table of offsets does not start as CPython's does");
    }
}

static void refuses_a_table_of_another_major_or_an_older_minor(void **state)
{
    static const uint32_t versions[] = {0x030c01f0, 0x040f00f0, 0};
    unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX];
    struct layout layout;
    struct err err;

    (void)state;
    read_table(4, table);
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        put_word(table, 8, versions[i]);
        assert_int_equal(parse(table, &layout, &err), CPY_FOREIGN);
        assert_string_equal(err.text, "its table of offsets does not start as CPython's does");
    }
}

static void tries_a_newer_version_as_the_newest_that_is_known(void **state)
{
    unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX];
    struct layout layout, known = layout_for(4);
    struct err err;

    (void)state;
    read_table(4, table);
    put_word(table, 8, 0x031000a3);
    assert_int_equal(parse(table, &layout, &err), CPY_OK);
    assert_memory_equal(&layout, &known, sizeof(layout));
    assert_false(layout_is_proven(0x031000a3));
}

static void names_a_newer_version_whose_offsets_cannot_be(void **state)
{
    unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX];
    struct layout layout;
    struct err err;

    (void)state;
    read_table(4, table);
    put_word(table, 8, 0x031000f0);
    put_word(table, 240, UINT64_MAX); /* thread_state.thread_id */
    assert_int_equal(parse(table, &layout, &err), CPY_FOREIGN);
    assert_non_null(strstr(err.text, "CPython 3.16.0 is not known to this pystrobe"));
}

static void calls_final_releases_that_were_out_proven(void **state)
{
    (void)state;
    assert_true(layout_is_proven(0x030600f0));
    assert_true(layout_is_proven(0x030f02f0));
    assert_false(layout_is_proven(0x030f00b1));
    assert_false(layout_is_proven(0x030e00c2));
    assert_false(layout_is_proven(0x031000f0));
}

static void refuses_a_field_beyond_its_structure(void **state)
{
    struct layout layout;
    struct err err;
    uint32_t size;

    (void)state;
    for (size_t v = 0; v < VERSIONS; v++)
        for (size_t i = 0; i < INSIDE_COUNT; i++) {
            layout = layout_for(v);
            layout.bytes.ob_sval = 4096; /* behind ob_size, wherever that is */
            size = get(&layout, inside[i].size);
            if (get(&layout, inside[i].field) == NO_FIELD)
                continue;
            set(&layout, inside[i].field, size - inside[i].width);
            assert_true(layout_fits(&layout, NULL));
            set(&layout, inside[i].field, size - inside[i].width + 1);
            err.text[0] = '\0';
            if (layout_fits(&layout, &err) || !strstr(err.text, inside[i].name))
                fail_msg("3.%u: %s at %u of %u passes: '%s'", minors[v], inside[i].name,
                         get(&layout, inside[i].field), size, err.text);
            set(&layout, inside[i].field, UINT32_MAX - 1);
            assert_false(layout_fits(&layout, NULL));
        }
}

static void refuses_a_structure_that_is_absurdly_large(void **state)
{
    struct layout layout;

    (void)state;
    for (size_t v = 0; v < VERSIONS; v++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            layout = layout_for(v);
            layout.generator.size = 0; /* which holds a frame: it has a bound of its own */
            set(&layout, sizes[i].size, sizes[i].max);
            assert_true(layout_fits(&layout, NULL));
            set(&layout, sizes[i].size, sizes[i].max + 1);
            assert_false(layout_fits(&layout, NULL));
            set(&layout, sizes[i].size, 0);
            assert_false(layout_fits(&layout, NULL));
        }
}

/* What a walk relies on, whatever the table said. */
static void check_inside(const struct layout *layout)
{
    uint32_t offset, size;
    size_t i;

    for (i = 0; i < INSIDE_COUNT; i++) {
        offset = get(layout, inside[i].field);
        size = get(layout, inside[i].size);
        assert_true(offset == NO_FIELD || (offset < size && size - offset >= inside[i].width));
    }
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        assert_true(get(layout, sizes[i].size) <= sizes[i].max);
    for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        assert_true(get(layout, expected[i].field) == NO_FIELD ||
                    get(layout, expected[i].field) <= 1 << 20);
}

static void takes_no_hostile_word_of_a_table(void **state)
{
    static const uint64_t words[] = {0,
                                     1,
                                     4095,
                                     4097,
                                     UINT16_MAX,
                                     1 << 20,
                                     INT32_MAX,
                                     UINT32_MAX,
                                     UINT32_MAX - 1,
                                     UINT64_MAX,
                                     INT64_MAX,
                                     UINT64_C(1) << 32,
                                     UINT64_MAX - 7,
                                     UINT64_C(1) << 63};
    unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX];
    struct layout layout, good;
    struct err err;
    size_t refused = 0;

    (void)state;
    for (size_t v = 2; v < VERSIONS; v++)
        for (size_t at = 24; at < LAYOUT_DEBUG_OFFSETS_MAX; at += 8)
            for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
                good = layout_for(v);
                read_table(v, table);
                put_word(table, at, words[i]);
                if (parse(table, &layout, &err) == CPY_OK) {
                    check_inside(&layout);
                    if (words[i] > 1 << 20) /* nothing of it was taken */
                        assert_memory_equal(&layout, &good, sizeof(good));
                    continue;
                }
                assert_true(strncmp(err.text, "CPython 3.", 10) == 0);
                refused++;
            }
    assert_true(refused > 3 * 40 * 8);
}

static void refuses_a_gil_before_its_own_start(void **state)
{
    static const size_t locked_at[VERSIONS] = {0, 0, 136, 144, 144};
    unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX];
    struct layout layout;
    struct err err;
    uint64_t embedded;

    (void)state;
    for (size_t v = 2; v < VERSIONS; v++) {
        read_table(v, table);
        memcpy(&embedded, table + locked_at[v] - 16, sizeof(embedded));
        for (uint64_t before = 1; before <= 8; before++) {
            put_word(table, locked_at[v], embedded - before);
            assert_int_equal(parse(table, &layout, &err), CPY_FOREIGN);
        }
    }
}

static void writes_versions_as_python_does(void **state)
{
    static const struct {
        uint32_t hexversion;
        const char *text;
    } rows[] = {{0x030f02f0, "3.15.2"},   {0x030e00c2, "3.14.0rc2"}, {0x030f00b1, "3.15.0b1"},
                {0x031000a3, "3.16.0a3"}, {0x030b00f0, "3.11.0"},    {0xffffffff, "255.255.255"},
                {0x030e0a00, "3.14.10"}};
    char text[32], small[5];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        layout_version_text(rows[i].hexversion, text, sizeof(text));
        assert_string_equal(text, rows[i].text);
    }
    layout_version_text(0x030e00c2, small, sizeof(small));
    assert_string_equal(small, "3.14");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_offsets_of_the_headers),
        cmocka_unit_test(fits_in_every_version),
        cmocka_unit_test(says_how_each_version_behaves),
        cmocka_unit_test(finds_rows_by_major_and_minor_only),
        cmocka_unit_test(refuses_a_table_without_the_cookie),
        cmocka_unit_test(refuses_a_table_of_another_major_or_an_older_minor),
        cmocka_unit_test(tries_a_newer_version_as_the_newest_that_is_known),
        cmocka_unit_test(names_a_newer_version_whose_offsets_cannot_be),
        cmocka_unit_test(calls_final_releases_that_were_out_proven),
        cmocka_unit_test(refuses_a_field_beyond_its_structure),
        cmocka_unit_test(refuses_a_structure_that_is_absurdly_large),
        cmocka_unit_test(takes_no_hostile_word_of_a_table),
        cmocka_unit_test(refuses_a_gil_before_its_own_start),
        cmocka_unit_test(writes_versions_as_python_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

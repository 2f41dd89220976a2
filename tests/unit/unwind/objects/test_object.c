/* SPDX-License-Identifier: Apache-2.0 */
/* test_object.c - str, bytes and int objects are read as Python has them, or refused. */
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

static int make_fake(void **state)
{
    *state = fake_of(15);
    return 0;
}

static int end_fake(void **state)
{
    struct fake *fake = *state;

    mem_close(&fake->mem);
    return 0;
}

/* What a str becomes, with its NUL; NULL: CPY_RACED. Lends until the next call. */
static const char *text_of(struct fake *fake, cpy_addr str, size_t *size)
{
    static char text[8 * OBJECT_TEXT_MAX];
    struct buf out;
    enum cpy_rc rc;

    buf_init(&out, sizeof(text));
    rc = object_read_str(&fake->reader, str, &out);
    assert_true(rc == CPY_OK || rc == CPY_RACED);
    if (rc == CPY_OK) {
        memcpy(text, out.data, out.size);
        assert_int_equal(text[out.size - 1], 0);
        *size = out.size - 1;
    } else {
        assert_int_equal(out.size, 0);
    }
    buf_finish(&out);
    return rc == CPY_OK ? text : NULL;
}

static void assert_text(struct fake *fake, cpy_addr str, const char *wanted)
{
    size_t size = 0;
    const char *text = text_of(fake, str, &size);

    assert_non_null(text);
    assert_string_equal(text, wanted);
    assert_int_equal(size, strlen(wanted));
}

static void assert_no_str(struct fake *fake, cpy_addr str)
{
    size_t size;

    assert_null(text_of(fake, str, &size));
}

static void reads_ascii(void **state)
{
    struct fake *fake = *state;

    assert_text(fake, fake_str(fake, "Thread-1 (descend)"), "Thread-1 (descend)");
    assert_text(fake, fake_str(fake, ""), "");
}

static void reads_latin_1(void **state)
{
    struct fake *fake = *state;

    assert_text(fake, fake_str_of(fake, 1, false, "W\xf6rker\x80\xff", 8),
                "W\xc3\xb6rker\xc2\x80\xc3\xbf");
}

static void reads_two_bytes_a_character(void **state)
{
    static const uint16_t chars[] = {'a', 0x3c0, 0x7ff, 0x800, 0x2603, 0xffff};
    struct fake *fake = *state;

    assert_text(fake, fake_str_of(fake, 2, false, chars, 6),
                "a\xcf\x80\xdf\xbf\xe0\xa0\x80\xe2\x98\x83\xef\xbf\xbf");
}

static void reads_four_bytes_a_character(void **state)
{
    static const uint32_t chars[] = {'a', 0x10000, 0x1f40d, 0x10ffff};
    struct fake *fake = *state;

    assert_text(fake, fake_str_of(fake, 4, false, chars, 4),
                "a\xf0\x90\x80\x80\xf0\x9f\x90\x8d\xf4\x8f\xbf\xbf");
}

#define U_FFFD "\xef\xbf\xbd"

static void replaces_what_is_no_character(void **state)
{
    static const uint16_t lone[] = {0xd800, 'x', 0xdfff, 0xdbff};
    static const uint32_t over[] = {0x110000, 0xffffffff, 0xd834, 'x'};
    struct fake *fake = *state;

    assert_text(fake, fake_str_of(fake, 2, false, lone, 4), U_FFFD "x" U_FFFD U_FFFD);
    assert_text(fake, fake_str_of(fake, 4, false, over, 4), U_FFFD U_FFFD U_FFFD "x");
}

static void replaces_a_nul_inside(void **state)
{
    struct fake *fake = *state;

    assert_text(fake, fake_str_of(fake, 1, true, "a\0b", 3), "a" U_FFFD "b");
}

static void cuts_a_long_str_and_says_so(void **state)
{
    static uint32_t chars[OBJECT_TEXT_MAX + 1];
    struct fake *fake = *state;
    const char *text;
    size_t size = 0;

    for (size_t i = 0; i <= OBJECT_TEXT_MAX; i++)
        chars[i] = 0x10ffff; /* four bytes of UTF-8: as long as it can get */
    text = text_of(fake, fake_str_of(fake, 4, false, chars, OBJECT_TEXT_MAX), &size);
    assert_int_equal(size, 4 * OBJECT_TEXT_MAX);
    assert_true(strncmp(text + size - 4, "\xf4\x8f\xbf\xbf", 4) == 0);
    text = text_of(fake, fake_str_of(fake, 4, false, chars, OBJECT_TEXT_MAX + 1), &size);
    assert_int_equal(size, 4 * OBJECT_TEXT_MAX + 3);
    assert_string_equal(text + size - 3, "...");
}

static void refuses_a_str_of_an_unknown_kind(void **state)
{
    struct fake *fake = *state;
    cpy_addr str;

    for (uint32_t kind = 0; kind < 8; kind++) {
        if (kind == 1 || kind == 2 || kind == 4)
            continue;
        str = fake_str(fake, "x");
        fake_put32(fake, str + fake->layout.unicode.state, (kind | FAKE_COMPACT | FAKE_ASCII) << 2);
        assert_no_str(fake, str);
    }
}

static void refuses_a_str_that_is_not_compact(void **state)
{
    struct fake *fake = *state;
    cpy_addr str = fake_str(fake, "x");

    fake_put32(fake, str + fake->layout.unicode.state, (1 | FAKE_ASCII) << 2);
    assert_no_str(fake, str);
}

static void refuses_a_str_of_an_absurd_length(void **state)
{
    static const uint64_t lengths[] = {UINT64_C(1) << 31, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX};
    struct fake *fake = *state;
    cpy_addr str = fake_str(fake, "x");

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        fake_put64(fake, str + fake->layout.unicode.length, lengths[i]);
        assert_no_str(fake, str);
    }
}

static void refuses_a_str_that_is_not_mapped(void **state)
{
    struct fake *fake = *state;
    cpy_addr str = fake_str(fake, "some text");

    assert_no_str(fake, NOWHERE);
    fake->hole = str + fake->layout.unicode.ascii_data + 8;
    fake->hole_end = fake->hole + 1;
    assert_no_str(fake, str);
}

static void says_that_a_str_does_not_fit_the_buffer(void **state)
{
    struct fake *fake = *state;
    cpy_addr str = fake_str(fake, "12345678");
    struct buf out;

    buf_init(&out, 8); /* no room for the NUL */
    assert_int_equal(object_read_str(&fake->reader, str, &out), CPY_NOMEM);
    buf_finish(&out);
}

static enum cpy_rc read_bytes(struct fake *fake, cpy_addr bytes, struct buf *out)
{
    uint64_t size;

    buf_init(out, OBJECT_BYTES_MAX + 1);
    return object_read_bytes(&fake->reader, bytes, OBJECT_BYTES_MAX, out, &size);
}

static void reads_bytes(void **state)
{
    struct fake *fake = *state;
    struct buf out;

    assert_int_equal(read_bytes(fake, fake_bytes(fake, "\x80\0\xff", 3), &out), CPY_OK);
    assert_int_equal(out.size, 3);
    assert_memory_equal(out.data, "\x80\0\xff", 3);
    buf_finish(&out);
    assert_int_equal(read_bytes(fake, fake_bytes(fake, "", 0), &out), CPY_OK);
    assert_int_equal(out.size, 0);
    buf_finish(&out);
}

static void refuses_bytes_of_an_absurd_size(void **state)
{
    static const uint64_t sizes[] = {OBJECT_BYTES_MAX + 1, INT64_MAX, UINT64_MAX};
    struct fake *fake = *state;
    cpy_addr bytes = fake_bytes(fake, "x", 1);
    struct buf out;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fake_put64(fake, bytes + fake->layout.object.ob_size, sizes[i]);
        assert_int_equal(read_bytes(fake, bytes, &out), CPY_RACED);
        assert_null(out.data); /* nothing was allocated for it */
        buf_finish(&out);
    }
    fake_put64(fake, bytes + fake->layout.object.ob_size, OBJECT_BYTES_MAX);
    assert_int_equal(read_bytes(fake, bytes, &out), CPY_RACED); /* beyond what is mapped */
    buf_finish(&out);
}

static void keeps_the_first_part_of_bytes_that_are_too_large(void **state)
{
    static const unsigned char zeros[64];
    struct fake *fake = *state;
    cpy_addr bytes = fake_bytes(fake, zeros, sizeof(zeros));
    uint64_t size = 0;
    struct buf out;

    fake_put64(fake, bytes + fake->layout.object.ob_type, fake_type(fake, "bytes", 0));
    fake_put64(fake, bytes + fake->layout.object.ob_size, OBJECT_BYTES_MAX + 1);
    buf_init(&out, OBJECT_BYTES_MAX);
    assert_int_equal(object_read_bytes(&fake->reader, bytes, sizeof(zeros), &out, &size), CPY_OK);
    assert_int_equal(size, OBJECT_BYTES_MAX + 1);
    assert_int_equal(out.size, sizeof(zeros));
    fake_put64(fake, bytes + fake->layout.object.ob_size, UINT64_MAX);
    assert_int_equal(object_read_bytes(&fake->reader, bytes, sizeof(zeros), &out, &size),
                     CPY_RACED);
    buf_finish(&out);
}

/* An int of up to 4 digits; `tag` as the version has it. */
static cpy_addr put_int(struct fake *fake, uint64_t tag, const uint32_t digits[4])
{
    cpy_addr integer = fake_room(fake, fake->layout.integer.digit + 16);

    fake_put64(fake, integer + fake->layout.integer.tag, tag);
    fake_put(fake, integer + fake->layout.integer.digit, digits, 16);
    return integer;
}

static void assert_uint(struct fake *fake, uint64_t tag, const uint32_t digits[4], uint64_t wanted)
{
    uint64_t got = wanted + 1;

    assert_int_equal(object_read_uint(&fake->reader, put_int(fake, tag, digits), &got), CPY_OK);
    assert_true(got == wanted);
}

static void assert_no_uint(struct fake *fake, uint64_t tag, const uint32_t digits[4])
{
    uint64_t got = 42;

    assert_int_equal(object_read_uint(&fake->reader, put_int(fake, tag, digits), &got), CPY_RACED);
    assert_true(got == 42);
}

enum { DIGIT_MAX = (1 << 30) - 1 };
static const uint32_t digits_max[4] = {DIGIT_MAX, DIGIT_MAX, 15, 0}; /* 2**64 - 1 */

static void reads_ints_with_their_count_in_a_tag(void **state)
{
    struct fake *fake = *state;

    assert_uint(fake, 1, (uint32_t[4]){9, 9, 9, 9}, 0);
    assert_uint(fake, 1 << 3, (uint32_t[4]){7, 9, 9, 9}, 7);
    assert_uint(fake, 2 << 3, (uint32_t[4]){7, 1, 9, 9}, 7 + (UINT64_C(1) << 30));
    assert_uint(fake, 3 << 3, digits_max, UINT64_MAX);
    assert_uint(fake, 1 << 3 | 4, (uint32_t[4]){7}, 7); /* 3.14: bit 2 marks a small int */
}

static void reads_ints_with_their_count_as_size(void **state)
{
    struct fake *fake = *state;

    fake->layout = fake_layout(11);
    assert_uint(fake, 0, (uint32_t[4]){9, 9, 9, 9}, 0);
    assert_uint(fake, 1, (uint32_t[4]){7, 9, 9, 9}, 7);
    assert_uint(fake, 3, digits_max, UINT64_MAX);
    assert_no_uint(fake, UINT64_MAX, (uint32_t[4]){7}); /* negative */
    assert_no_uint(fake, 4, (uint32_t[4]){0, 0, 0, 0});
}

static void refuses_ints_that_are_no_64_bit_number(void **state)
{
    struct fake *fake = *state;

    assert_no_uint(fake, 1 << 3 | 2, (uint32_t[4]){7}); /* negative */
    assert_no_uint(fake, 1 << 3 | 3, (uint32_t[4]){7}); /* no sign at all */
    assert_no_uint(fake, 3 << 3, (uint32_t[4]){0, 0, 16, 0});
    assert_no_uint(fake, 4 << 3, (uint32_t[4]){1, 1, 1, 1});
    assert_no_uint(fake, UINT64_MAX & ~UINT64_C(3), digits_max);
    assert_no_uint(fake, 2 << 3, (uint32_t[4]){0, 1U << 30, 0, 0}); /* 31 bits in a digit */
    assert_no_uint(fake, 1 << 3, (uint32_t[4]){1U << 31, 0, 0, 0});
}

static void knows_types_by_their_exact_name(void **state)
{
    struct fake *fake = *state;
    cpy_addr type = fake_type(fake, "code", 0);

    assert_true(object_type_is(&fake->reader, type, "code"));
    assert_false(object_type_is(&fake->reader, type, "cod"));
    assert_false(object_type_is(&fake->reader, type, "code2"));
    assert_false(object_type_is(&fake->reader, NOWHERE, "code"));
    assert_false(object_type_is(&fake->reader,
                                fake_type(fake, "a_name_of_more_than_31_characters", 0),
                                "a_name_of_more_than_31_characters"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_fake, end_fake)
    const struct CMUnitTest tests[] = {
        TEST(reads_ascii),
        TEST(reads_latin_1),
        TEST(reads_two_bytes_a_character),
        TEST(reads_four_bytes_a_character),
        TEST(replaces_what_is_no_character),
        TEST(replaces_a_nul_inside),
        TEST(cuts_a_long_str_and_says_so),
        TEST(refuses_a_str_of_an_unknown_kind),
        TEST(refuses_a_str_that_is_not_compact),
        TEST(refuses_a_str_of_an_absurd_length),
        TEST(refuses_a_str_that_is_not_mapped),
        TEST(says_that_a_str_does_not_fit_the_buffer),
        TEST(reads_bytes),
        TEST(refuses_bytes_of_an_absurd_size),
        TEST(keeps_the_first_part_of_bytes_that_are_too_large),
        TEST(reads_ints_with_their_count_in_a_tag),
        TEST(reads_ints_with_their_count_as_size),
        TEST(refuses_ints_that_are_no_64_bit_number),
        TEST(knows_types_by_their_exact_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

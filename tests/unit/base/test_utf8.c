/* SPDX-License-Identifier: Apache-2.0 */
/* test_utf8.c - each character has one form, and whatever the bytes, what is repaired is text. */
#include <string.h>

#include "base/utf8.h"
#include "tests/unit/unit_test.h"

#define BAD "\xef\xbf\xbd"

static const struct {
    const char *in, *out;
} cases[] = {
    {"", ""},
    {"plain", "plain"},
    {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
    {"\xe2\x82\xac \xf0\x9f\x90\x8d", "\xe2\x82\xac \xf0\x9f\x90\x8d"},
    {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"}, /* U+10FFFF */
    {"\xf4\x90\x80\x80", BAD BAD BAD BAD},    /* one more */
    {"\xed\x9f\xbf", "\xed\x9f\xbf"},         /* U+D7FF */
    {"\xed\xa0\x80", BAD BAD BAD},            /* a surrogate */
    {"\xc0\x80", BAD BAD},                    /* NUL in two bytes */
    {"\xe0\x9f\xbf", BAD BAD BAD},            /* too long a form */
    {"\xf0\x8f\xbf\xbf", BAD BAD BAD BAD},    /* likewise */
    {"a\xff"
     "b\x80"
     "c",
     "a" BAD "b" BAD "c"},
    {"cut \xe2\x82", "cut " BAD BAD},
    {"cut \xf0\x9f\x90", "cut " BAD BAD BAD},
    {"\xc3", BAD},
};

static void repairs_exactly_what_is_broken(void **state)
{
    struct buf out;
    size_t i;

    (void)state;
    buf_init(&out, 1000);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buf_reset(&out);
        utf8_repair(cases[i].in, strlen(cases[i].in), &out);
        assert_string_equal(buf_text(&out), cases[i].out);
    }
    buf_finish(&out);
}

static void says_how_far_a_text_is_good(void **state)
{
    (void)state;
    assert_int_equal(utf8_good("abc", 3), 3);
    assert_int_equal(utf8_good("a\xc3\xbc\xff", 4), 3);
    assert_int_equal(utf8_good("\xff", 1), 0);
    assert_int_equal(utf8_good("", 0), 0);
}

static void a_nul_within_a_text_is_no_text(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 100);
    utf8_repair("a\0b", 3, &out);

    assert_int_equal(out.size, 5);
    assert_memory_equal(out.data, "a" BAD "b", 5);
    buf_finish(&out);
}

static void repaired_text_of_any_two_bytes_is_good(void **state)
{
    struct buf out;
    unsigned int i;

    (void)state;
    buf_init(&out, 100);
    for (i = 0; i < 0x10000; i++) {
        char bytes[4] = {(char)(i >> 8), (char)i, 'z', (char)(i >> 8)};

        buf_reset(&out);
        utf8_repair(bytes, sizeof(bytes), &out);
        assert_false(buf_failed(&out));
        assert_int_equal(utf8_good(out.data, out.size), out.size);
    }
    buf_finish(&out);
}

static void decodes_each_character_that_it_encodes(void **state)
{
    char bytes[UTF8_CHAR_MAX];
    size_t size, shorter;
    uint32_t c, got;

    (void)state;
    for (c = 0; c < 0x110100; c++) {
        size = utf8_encode(c, bytes);
        if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
            assert_int_equal(size, 0);
            continue;
        }
        assert_int_equal(utf8_decode(bytes, size, &got), size);
        assert_int_equal(got, c);
        for (shorter = 0; shorter < size; shorter++)
            assert_int_equal(utf8_decode(bytes, shorter, &got), 0);
    }
    assert_int_equal(utf8_encode(UINT32_MAX, bytes), 0);
}

/* Of all sequences of two bytes, and of three and four that begin with the given ones. */
static void decodes_nothing_that_it_does_not_encode(void **state)
{
    static const char *const heads[] = {"",         "\xe0",     "\xed",     "\xef",    "\xf0\x8f",
                                        "\xf0\x90", "\xf4\x8f", "\xf4\x90", "\xf5\x80"};
    char bytes[UTF8_CHAR_MAX], again[UTF8_CHAR_MAX];
    size_t i, head, size;
    uint32_t two, c;

    (void)state;
    for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        for (two = 0; two < 0x10000; two++) {
            head = strlen(heads[i]);
            memcpy(bytes, heads[i], head);
            bytes[head] = (char)(two >> 8);
            bytes[head + 1] = (char)two;
            size = utf8_decode(bytes, head + 2, &c);
            if (size == 0)
                continue;
            assert_int_equal(utf8_encode(c, again), size);
            assert_memory_equal(again, bytes, size);
        }
}

static void decodes_a_string_up_to_its_nul(void **state)
{
    static const char *const cut[] = {"\xc3", "\xe2\x82", "\xf0\x9f\x90", "\xf0"};
    uint32_t c = 7;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cut) / sizeof(cut[0]); i++)
        assert_int_equal(utf8_decode(cut[i], UTF8_CHAR_MAX, &c), 0);
    assert_int_equal(c, 7);
    assert_int_equal(utf8_decode("", UTF8_CHAR_MAX, &c), 1);
    assert_int_equal(c, 0);
}

static void tells_what_a_terminal_obeys_and_what_turns_text(void **state)
{
    (void)state;
    assert_true(utf8_is_control(0) && utf8_is_control(0x1f) && utf8_is_control(0x7f) &&
                utf8_is_control(0x9f));
    assert_false(utf8_is_control(' ') || utf8_is_control('~') || utf8_is_control(0xa0));
    assert_true(utf8_is_bidi_control(0x61c) && utf8_is_bidi_control(0x200e) &&
                utf8_is_bidi_control(0x202e) && utf8_is_bidi_control(0x2069));
    assert_false(utf8_is_bidi_control(0x200d) || utf8_is_bidi_control(0x2029) ||
                 utf8_is_bidi_control(0x206a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_each_character_that_it_encodes),
        cmocka_unit_test(decodes_nothing_that_it_does_not_encode),
        cmocka_unit_test(decodes_a_string_up_to_its_nul),
        cmocka_unit_test(tells_what_a_terminal_obeys_and_what_turns_text),
        cmocka_unit_test(repairs_exactly_what_is_broken),
        cmocka_unit_test(says_how_far_a_text_is_good),
        cmocka_unit_test(a_nul_within_a_text_is_no_text),
        cmocka_unit_test(repaired_text_of_any_two_bytes_is_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

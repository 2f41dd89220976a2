/* SPDX-License-Identifier: Apache-2.0 */
/* test_utf8.c - whatever the bytes, what comes out is text. */
#include <string.h>

#include "pprof/utf8.h"
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
        buf_add(&out, "", 1);
        assert_string_equal((char *)out.data, cases[i].out);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repairs_exactly_what_is_broken),
        cmocka_unit_test(says_how_far_a_text_is_good),
        cmocka_unit_test(a_nul_within_a_text_is_no_text),
        cmocka_unit_test(repaired_text_of_any_two_bytes_is_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

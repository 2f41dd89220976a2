/* SPDX-License-Identifier: Apache-2.0 */
/* test_escape.c - foreign text is shown, never obeyed, and its width is known. */
#include <string.h>

#include "agent/host/escape.h"
#include "tests/unit/unit_test.h"

/* How a text is shown. Lends until the next call. */
static const char *shown(const char *text)
{
    static char copy[256];
    struct buf out;

    buf_init(&out, sizeof(copy) - 1);
    escape_add_str(&out, text);
    assert_false(buf_failed(&out));
    if (out.size > 0)
        memcpy(copy, out.data, out.size);
    copy[out.size] = '\0';
    buf_finish(&out);
    return copy;
}

static void keeps_text_of_all_scripts(void **state)
{
    static const char *const texts[] = {"", "plain text", "größe_Ω_関数", "☃ snow",
                                        "\xF0\x9F\x90\x8D snake"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_string_equal(shown(texts[i]), texts[i]);
}

static void escapes_what_a_terminal_obeys(void **state)
{
    (void)state;
    assert_string_equal(shown("\x1b[2J\t\n\r\x7f"), "\\x1b[2J\\x09\\x0a\\x0d\\x7f");
    assert_string_equal(shown("\xC2\x9B"
                              "31m"),
                        "\\u009b31m");
}

static void escapes_what_misleads_a_reader(void **state)
{
    (void)state;
    assert_string_equal(shown("a\xE2\x80\xAE"
                              "b"),
                        "a\\u202eb");
    assert_string_equal(shown("\xE2\x81\xA6\xE2\x80\xA8\xE2\x80\x8F\xD8\x9C\xEF\xBB\xBF"),
                        "\\u2066\\u2028\\u200f\\u061c\\ufeff");
}

static void escapes_each_byte_that_is_no_utf8(void **state)
{
    (void)state;
    assert_string_equal(shown("\xFF\x80"), "\\xff\\x80");
    assert_string_equal(shown("\xC3"), "\\xc3");          /* cut */
    assert_string_equal(shown("\xE2\x82"), "\\xe2\\x82"); /* cut */
    assert_string_equal(shown("\xC0\xAF"), "\\xc0\\xaf"); /* too long a form */
    assert_string_equal(shown("\xE0\x80\xAF"), "\\xe0\\x80\\xaf");
    assert_string_equal(shown("\xED\xA0\x80"), "\\xed\\xa0\\x80"); /* a surrogate */
    assert_string_equal(shown("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
    assert_string_equal(shown("\xC3(x"), "\\xc3(x"); /* what follows is kept */
}

static void knows_how_many_columns_a_text_takes(void **state)
{
    static const struct {
        const char *text;
        size_t width;
    } cases[] = {
        {"", 0},     {"abc", 3},          {"größe", 5},
        {"日本", 4}, {"e\xCC\x81", 1},    {"\xF0\x9F\x90\x8D", 2},
        {"\x1b", 4}, {"\xE2\x80\xAE", 6}, {"\xFF", 4},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(escape_width(cases[i].text, strlen(cases[i].text)), cases[i].width);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_text_of_all_scripts),
        cmocka_unit_test(escapes_what_a_terminal_obeys),
        cmocka_unit_test(escapes_what_misleads_a_reader),
        cmocka_unit_test(escapes_each_byte_that_is_no_utf8),
        cmocka_unit_test(knows_how_many_columns_a_text_takes),
    };

    return cmocka_run_group_tests_name("visible", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_lines.c - lines to sections and pairs, where inih alone would go wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "conf/lines.h"
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

static void told_section(void *ctx, unsigned line, const char *text)
{
    buf_add_fmt(ctx, "%u [%s]\n", line, text);
}

static void told_pair(void *ctx, unsigned line, const char *name, const char *value)
{
    buf_add_fmt(ctx, "%u <%s> <%s>\n", line, name, value);
}

static void told_bad(void *ctx, unsigned line, const char *why)
{
    buf_add_fmt(ctx, "%u bad: %.10s\n", line, why);
}

static const struct conf_lines_to to = {told_section, told_pair, told_bad};

/* All that is told about a text, lent until the next call. */
static const char *lines_of(const char *text)
{
    static char told[3 * CONF_LINE_MAX];
    struct buf out;

    buf_init(&out, sizeof(told));
    assert_int_equal(conf_lines_each(text, strlen(text), &to, &out), CONF_OK);
    (void)snprintf(told, sizeof(told), "%s", conf_text_of(&out));
    buf_finish(&out);
    return told;
}

static void tells_the_line_of_each_section_and_pair(void **state)
{
    (void)state;
    assert_string_equal(lines_of("# c\n[a]\n\nx = 1\n; c\n[b]\ny: 2"),
                        "2 [a]\n4 <x> <1>\n6 [b]\n7 <y> <2>\n");
}

static void tells_sections_without_pairs(void **state)
{
    (void)state;
    assert_string_equal(lines_of("[a]\n[b]\n"), "1 [a]\n2 [b]\n");
}

static void takes_indented_lines_as_lines_of_their_own(void **state)
{
    (void)state;
    assert_string_equal(lines_of("[a]\n  x = 1\n\ty = 2\n  [b]\n"),
                        "1 [a]\n2 <x> <1>\n3 <y> <2>\n4 [b]\n");
}

static void ends_lines_at_crlf_as_well(void **state)
{
    (void)state;
    assert_string_equal(lines_of("[a]\r\nx = 1\r\n\r\ny = 2\r"), "1 [a]\n2 <x> <1>\n4 <y> <2>\n");
}

static void cuts_comments_that_follow_a_blank_only(void **state)
{
    (void)state;
    assert_string_equal(lines_of("x = 1 ; c\ny = a;b ; c ; d\nz = 1\t;c\nw = 1 # c\n[a] ; c\n"),
                        "1 <x> <1>\n2 <y> <a;b>\n3 <z> <1>\n4 <w> <1 # c>\n5 [a]\n");
}

static void refuses_a_value_that_would_be_a_comment_after_a_blank(void **state)
{
    (void)state;
    assert_string_equal(lines_of("x =;c\ny=;\n"), "1 bad: has a valu\n2 bad: has a valu\n");
}

static void trims_blanks_inside_brackets(void **state)
{
    (void)state;
    assert_string_equal(lines_of("[ \t target  web ]\n"), "1 [target  web]\n");
}

static void splits_at_the_first_sign(void **state)
{
    (void)state;
    assert_string_equal(lines_of("a = b = c : d\ne:f=g\n"), "1 <a> <b = c : d>\n2 <e> <f=g>\n");
}

static void tells_every_bad_line_and_goes_on(void **state)
{
    (void)state;
    assert_string_equal(lines_of("foo\n[a\n= 1\n[a] b\nx = 1\n"),
                        "1 bad: is not \"ke\n2 bad: has no \"]\"\n"
                        "3 bad: has no key\n4 bad: has text a\n5 <x> <1>\n");
}

static void gives_a_bad_line_none_of_the_next_ones_value(void **state)
{
    char text[700];

    (void)state;
    (void)snprintf(text, sizeof(text), "x = 1\n%0600d\ny = 2\n", 7);
    assert_string_equal(lines_of(text), "1 <x> <1>\n2 bad: is not \"ke\n3 <y> <2>\n");
}

/* Names and values of every size up to `most` come back whole, whatever inih's buffer is. */
static void check_sizes(size_t name_most, size_t value_most, size_t step)
{
    static char text[3 * CONF_LINE_MAX], expected[3 * CONF_LINE_MAX];
    static char name[CONF_LINE_MAX], value[CONF_LINE_MAX];
    size_t i, n;

    for (n = 1; n <= name_most || n <= value_most; n += step) {
        size_t name_size = n < name_most ? n : name_most;
        size_t value_size = n < value_most ? n : value_most;

        for (i = 0; i < name_size; i++)
            name[i] = "abc-"[i % 4];
        name[name_size] = '\0';
        for (i = 0; i < value_size; i++)
            value[i] = "x y;z#=["[i % 8];
        value[value_size - 1] = '.';
        value[value_size] = '\0';
        (void)snprintf(text, sizeof(text), "%s = %s\n", name, value);
        (void)snprintf(expected, sizeof(expected), "1 <%s> <%s>\n", name, value);

        assert_string_equal(lines_of(text), expected);
    }
}

static void keeps_values_longer_than_the_buffer_of_inih(void **state)
{
    (void)state;
    check_sizes(3, 700, 1);
    check_sizes(3, 4000, 97);
}

static void keeps_names_longer_than_the_buffer_of_inih(void **state)
{
    (void)state;
    check_sizes(700, 3, 1);
    check_sizes(1024, 2048, 89);
}

static void takes_a_line_of_the_greatest_size_and_no_more(void **state)
{
    static char text[CONF_LINE_MAX + 8];

    (void)state;
    memset(text, 'v', sizeof(text));
    memcpy(text, "x = ", 4);
    memcpy(text + CONF_LINE_MAX, "\n", 2);
    assert_memory_equal(lines_of(text), "1 <x> <vvv", 10);
    memcpy(text + CONF_LINE_MAX, "v\n", 3);
    assert_string_equal(lines_of(text), "1 bad: is too lon\n");
}

static void refuses_what_cannot_be_cut(void **state)
{
    char text[700];

    (void)state;
    (void)snprintf(text, sizeof(text), "x = a%500sb\ny = 2\n", "");
    assert_string_equal(lines_of(text), "1 bad: has too lo\n2 <y> <2>\n");
}

static void tells_nothing_of_an_empty_text(void **state)
{
    (void)state;
    assert_string_equal(lines_of(""), "");
    assert_string_equal(lines_of("\n\n \t\n"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_the_line_of_each_section_and_pair),
        cmocka_unit_test(tells_sections_without_pairs),
        cmocka_unit_test(takes_indented_lines_as_lines_of_their_own),
        cmocka_unit_test(ends_lines_at_crlf_as_well),
        cmocka_unit_test(cuts_comments_that_follow_a_blank_only),
        cmocka_unit_test(refuses_a_value_that_would_be_a_comment_after_a_blank),
        cmocka_unit_test(trims_blanks_inside_brackets),
        cmocka_unit_test(splits_at_the_first_sign),
        cmocka_unit_test(tells_every_bad_line_and_goes_on),
        cmocka_unit_test(gives_a_bad_line_none_of_the_next_ones_value),
        cmocka_unit_test(keeps_values_longer_than_the_buffer_of_inih),
        cmocka_unit_test(keeps_names_longer_than_the_buffer_of_inih),
        cmocka_unit_test(takes_a_line_of_the_greatest_size_and_no_more),
        cmocka_unit_test(refuses_what_cannot_be_cut),
        cmocka_unit_test(tells_nothing_of_an_empty_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - foreign text stays text wherever it is put. */
#include <string.h>

#include "formats/text.h"
#include "tests/unit/unit_test.h"

/* What was appended; lent until the next call. */
static const char *text_of(struct buf *out)
{
    static char text[512];

    assert_false(buf_failed(out));
    assert_true(out->size < sizeof(text));
    if (out->size)
        memcpy(text, out->data, out->size);
    text[out->size] = '\0';
    buf_finish(out);
    return text;
}

static const char *with(void (*add)(struct buf *, const char *), const char *text)
{
    struct buf out;

    buf_init(&out, 4096);
    add(&out, text);
    return text_of(&out);
}

static void markup_has_no_tags_and_no_forbidden_characters(void **state)
{
    (void)state;
    assert_string_equal(with(text_markup, "<b a='1'>&\"\x01\xef\xbf\xbe\xef\xbf\xbd"),
                        "&lt;b a=&#39;1&#39;&gt;&amp;&quot;\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void a_line_stays_a_line_of_its_fields(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 64);
    text_line(&out, "a;b\nc\x1b\xc2\x9b\xe2\x80\xae\xc3\xa9", ';');

    assert_string_equal(text_of(&out), "a:b c   \xc3\xa9");
}

static void a_terminal_obeys_nothing(void **state)
{
    (void)state;
    assert_string_equal(with(text_plain, "a\x1b[31m\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xc3\xa9"),
                        "a?[31m???\xc3\xa9");
}

static void values_are_in_units_for_people(void **state)
{
    static const struct {
        int64_t value;
        const char *unit, *text;
    } cases[] = {{7200000000000, "nanoseconds", "2.00 h"},
                 {1500000000, "nanoseconds", "1.50 s"},
                 {1500, "microseconds", "1.50 ms"},
                 {-1500, "nanoseconds", "-1.50 us"},
                 {7, "count", "7 count"}};
    struct buf out;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buf_init(&out, 64);
        text_value(&out, cases[i].value, cases[i].unit, text_markup);
        assert_string_equal(text_of(&out), cases[i].text);
    }
}

static void units_are_escaped_for_where_they_are_shown(void **state)
{
    static const char unit[] = "a&b\xc2\x9b";
    struct buf out;

    (void)state;
    buf_init(&out, 64);
    text_value(&out, 7, unit, text_plain);
    assert_string_equal(text_of(&out), "7 a&b?");
    buf_init(&out, 64);
    text_value(&out, 7, unit, text_markup);
    assert_string_equal(text_of(&out), "7 a&amp;b\xc2\x9b");
}

static void files_tell_whose_code_it_is(void **state)
{
    (void)state;
    assert_int_equal(text_kind_of("/srv/app.py"), TEXT_APP);
    assert_int_equal(text_kind_of("/usr/lib/python3.11/json/decoder.py"), TEXT_LIBRARY);
    assert_int_equal(text_kind_of("/srv/venv/lib/python3.14/site-packages/x.py"), TEXT_LIBRARY);
    assert_int_equal(text_kind_of("<frozen importlib._bootstrap>"), TEXT_LIBRARY);
    assert_int_equal(text_kind_of(""), TEXT_RUNTIME);
    assert_string_equal(text_base("/a/b.py"), "b.py");
    assert_string_equal(text_base("/a/"), "/a/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_has_no_tags_and_no_forbidden_characters),
        cmocka_unit_test(a_line_stays_a_line_of_its_fields),
        cmocka_unit_test(a_terminal_obeys_nothing),
        cmocka_unit_test(values_are_in_units_for_people),
        cmocka_unit_test(units_are_escaped_for_where_they_are_shown),
        cmocka_unit_test(files_tell_whose_code_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

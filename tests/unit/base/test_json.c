/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c - any text becomes one JSON string. */
#include <stdio.h>

#include "base/json.h"
#include "tests/unit/unit_test.h"

static void assert_json(const char *text, const char *wanted)
{
    struct buf out;

    buf_init(&out, 4096);
    json_string(&out, text);
    assert_false(buf_failed(&out));
    assert_string_equal(buf_text(&out), wanted);
    buf_finish(&out);
}

static void puts_plain_text_in_quotes(void **state)
{
    (void)state;
    assert_json("", "\"\"");
    assert_json("descend.<locals>.bottom", "\"descend.<locals>.bottom\"");
}

static void keeps_utf_8_as_it_is(void **state)
{
    (void)state;
    assert_json("Wörker-π ☃ 🐍", "\"Wörker-π ☃ 🐍\"");
}

static void writes_null_for_nothing(void **state)
{
    (void)state;
    assert_json(NULL, "null");
}

static void escapes_quotes_and_backslashes(void **state)
{
    (void)state;
    assert_json("\"", "\"\\\"\"");
    assert_json("C:\\x\\", "\"C:\\\\x\\\\\"");
    assert_json("a\",\"pid\":1", "\"a\\\",\\\"pid\\\":1\"");
}

static void escapes_every_control_character(void **state)
{
    char text[2] = "", wanted[16];

    (void)state;
    for (unsigned c = 1; c < 0x20; c++) {
        text[0] = (char)c;
        (void)snprintf(wanted, sizeof(wanted), "\"\\u%04x\"", c);
        assert_json(text, wanted);
    }
    assert_json("\x7f", "\"\\u007f\"");
    assert_json("a\nb", "\"a\\u000ab\"");
    assert_json("\xc2\x9b", "\"\\u009b\"");
}

static void escapes_marks_of_text_direction(void **state)
{
    (void)state;
    assert_json("a\xe2\x80\xae", "\"a\\u202e\"");
}

static void the_form_for_html_ends_no_script(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    json_html_string(&out, "a\"b\\c\n</script>\x7f\xc3\xa9");
    json_html_member(&out, ", ", "");
    json_html_member(&out, ", ", NULL);
    json_html_part(&out, "<");
    assert_string_equal(
        buf_text(&out),
        "\"a\\u0022b\\u005cc\\u000a\\u003c/script>\\u007f\xc3\xa9\", \"\", null\\u003c");
    buf_finish(&out);
}

static void writes_what_stands_before_a_member_as_it_is(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    json_member(&out, "{\"name\": ", "<module>");
    json_member(&out, ", \"file\": ", NULL);
    assert_string_equal(buf_text(&out), "{\"name\": \"<module>\", \"file\": null");
    buf_finish(&out);
}

static void a_count_that_is_not_known_is_null(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    json_count(&out, "", INT32_MAX);
    json_count(&out, ", \"line\": ", 0);
    json_count(&out, ", ", INT32_MIN);
    buf_add_str(&out, json_bool(true));
    buf_add_str(&out, json_bool(false));
    assert_string_equal(buf_text(&out), "2147483647, \"line\": null, nulltruefalse");
    buf_finish(&out);
}

static void fails_as_a_whole_where_the_buffer_is_full(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4);
    json_string(&out, "12345");
    assert_true(buf_failed(&out));
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_plain_text_in_quotes),
        cmocka_unit_test(keeps_utf_8_as_it_is),
        cmocka_unit_test(writes_null_for_nothing),
        cmocka_unit_test(escapes_quotes_and_backslashes),
        cmocka_unit_test(escapes_every_control_character),
        cmocka_unit_test(escapes_marks_of_text_direction),
        cmocka_unit_test(the_form_for_html_ends_no_script),
        cmocka_unit_test(writes_what_stands_before_a_member_as_it_is),
        cmocka_unit_test(a_count_that_is_not_known_is_null),
        cmocka_unit_test(fails_as_a_whole_where_the_buffer_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

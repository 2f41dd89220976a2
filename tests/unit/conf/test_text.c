/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - what text may hold, how it is quoted, which word is near. */
#include "conf/text.h"
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

static const char *nearest_of(const char *word, const char *const *candidates)
{
    struct conf_nearest nearest = {.word = word};

    for (; *candidates; candidates++)
        conf_nearest_try(&nearest, *candidates);
    return nearest.best;
}

static void finds_the_nearest_word(void **state)
{
    static const char *const words[] = {"rate", "interval", "scan", "log_level", "url", NULL};

    (void)state;
    assert_string_equal(nearest_of("rat", words), "rate");
    assert_string_equal(nearest_of("rtae", words), "rate");
    assert_string_equal(nearest_of("RATE", words), "rate");
    assert_string_equal(nearest_of("intervl", words), "interval");
    assert_string_equal(nearest_of("loglevel", words), "log_level");
    assert_string_equal(nearest_of("log-level", words), "log_level");
    assert_string_equal(nearest_of("uri", words), "url");
    assert_string_equal(nearest_of("log_level_name", words), "log_level");
    assert_string_equal(nearest_of("inter", words), "interval");
}

static void finds_no_word_that_is_far(void **state)
{
    static const char *const words[] = {"rate", "interval", "url", NULL};

    (void)state;
    assert_null(nearest_of("", words));
    assert_null(nearest_of("x", words));
    assert_null(nearest_of("frequency", words));
    assert_null(nearest_of("rateratearateraterateraterateraterate", words));
}

static void prefers_the_nearer_word_wherever_it_stands(void **state)
{
    static const char *const words[] = {"max_size", "max_age", NULL};
    static const char *const turned[] = {"max_age", "max_size", NULL};

    (void)state;
    assert_string_equal(nearest_of("max_sage", words), "max_age");
    assert_string_equal(nearest_of("max_sage", turned), "max_age");
}

static void takes_utf8_and_tabs(void **state)
{
    static const char text[] = "a\tb ~ \xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8d \xf4\x8f\xbf\xbf";

    (void)state;
    assert_int_equal(conf_text_check(text, sizeof(text) - 1, NULL), CONF_OK);
    assert_int_equal(conf_text_check("", 0, NULL), CONF_OK);
}

static void names_the_byte_that_is_no_text(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(conf_text_check("ab\0c", 4, &err), CONF_BAD);
    assert_string_equal(err.text, "has a control character: 0x00 in column 3");
    assert_int_equal(conf_text_check("\x7f", 1, &err), CONF_BAD);
    assert_string_equal(err.text, "has a control character: 0x7f in column 1");
    assert_int_equal(conf_text_check("a\x80", 2, &err), CONF_BAD);
    assert_string_equal(err.text, "has a byte that is not UTF-8: 0x80 in column 2");
    assert_int_equal(conf_text_check("\xf4\x90\x80\x80", 4, &err), CONF_BAD);
    assert_string_equal(err.text, "has a byte that is not UTF-8: 0xf4 in column 1");
    assert_int_equal(conf_text_check("\xe2\x82\xac", 2, &err), CONF_BAD);
    assert_string_equal(err.text, "has a byte that is not UTF-8: 0xe2 in column 1");
}

static void quotes_without_breaking_the_line_or_a_character(void **state)
{
    char out[CONF_QUOTE_MAX], text[200];
    size_t i;

    (void)state;
    assert_string_equal(conf_quote(out, "a\nb\x1b"), "\"a\\x0ab\\x1b\"");
    assert_string_equal(conf_quote(out, "\xff"), "\"\\xff\"");
    assert_string_equal(conf_quote(out, ""), "\"\"");
    for (i = 0; i + 4 < sizeof(text); i += 4)
        memcpy(text + i, "\xf0\x9f\x90\x8d", 5);
    (void)conf_quote(out, text);
    assert_int_equal(conf_text_check(out, strlen(out), NULL), CONF_OK);
    assert_string_equal(out + strlen(out) - 4, "...\"");
}

static void never_overruns_the_room_for_a_quote(void **state)
{
    struct {
        char out[CONF_QUOTE_MAX];
        char guard[8];
    } room;
    char text[300];
    size_t lead;

    (void)state;
    for (lead = 0; lead < 100; lead++) {
        memset(&room, 'G', sizeof(room));
        memset(text, 'a', lead);
        memset(text + lead, '\x01', sizeof(text) - lead);
        text[sizeof(text) - 1] = '\0';

        (void)conf_quote(room.out, text);

        assert_true(strlen(room.out) < CONF_QUOTE_MAX);
        assert_memory_equal(room.guard, "GGGGGGGG", 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_nearest_word),
        cmocka_unit_test(finds_no_word_that_is_far),
        cmocka_unit_test(prefers_the_nearer_word_wherever_it_stands),
        cmocka_unit_test(takes_utf8_and_tabs),
        cmocka_unit_test(names_the_byte_that_is_no_text),
        cmocka_unit_test(quotes_without_breaking_the_line_or_a_character),
        cmocka_unit_test(never_overruns_the_room_for_a_quote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

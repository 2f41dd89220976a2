/* SPDX-License-Identifier: Apache-2.0 */
/* test_err.c - how the text of a failure grows on its way up. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "tests/unit/unit_test.h"

static void puts_the_where_before_the_cause(void **state)
{
    struct err err = {""};

    (void)state;
    err_set(&err, "%s: %s", "/proc/7", "No such file");
    err_within(&err, "process %d", 7);

    assert_string_equal(err.text, "process 7: /proc/7: No such file");
}

static void says_only_where_if_there_is_no_cause(void **state)
{
    struct err err = {""};

    (void)state;
    err_within(&err, "line %d", 3);

    assert_string_equal(err.text, "line 3");
}

static void replaces_an_older_cause(void **state)
{
    struct err err = {""};

    (void)state;
    err_set(&err, "first");
    err_set(&err, "second");

    assert_string_equal(err.text, "second");
}

static void cuts_what_is_too_long(void **state)
{
    struct {
        struct err err;
        char after;
    } guarded = {{""}, '!'};
    char long_text[2 * ERR_TEXT_MAX];

    (void)state;
    memset(long_text, 'y', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    err_set(&guarded.err, "%s", long_text);
    err_within(&guarded.err, "where");

    assert_int_equal(strlen(guarded.err.text), ERR_TEXT_MAX - 1);
    assert_memory_equal(guarded.err.text, "where: yyy", 10);
    assert_int_equal(guarded.after, '!');
}

static void keeps_the_end_of_what_is_too_long(void **state)
{
    struct err err = {""};
    char long_text[2 * ERR_TEXT_MAX + 1];
    uint32_t c;

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(long_text); i += 2)
        memcpy(&long_text[i], "\xc3\xa9", 3); /* é, of two bytes */
    err_set(&err, "push failed: %s: limit is 30", long_text);
    err_within(&err, "2 of 3 profiles");

    assert_memory_equal(err.text, "2 of 3 profiles: push failed: ", 30);
    assert_string_equal(err.text + strlen(err.text) - 13, ": limit is 30");
    assert_non_null(strstr(err.text, " ... "));
    for (const char *at = err.text; *at; at += utf8_decode(at, UTF8_CHAR_MAX, &c))
        assert_int_not_equal(utf8_decode(at, UTF8_CHAR_MAX, &c), 0); /* no half character */
}

static void takes_null_and_keeps_errno(void **state)
{
    struct err err = {""};

    (void)state;
    errno = EPIPE;
    err_set(NULL, "x");
    err_within(NULL, "x");
    err_set(&err, "%s", strerror(ENOENT));
    err_within(&err, "y");

    assert_int_equal(errno, EPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_the_where_before_the_cause),
        cmocka_unit_test(says_only_where_if_there_is_no_cause),
        cmocka_unit_test(replaces_an_older_cause),
        cmocka_unit_test(cuts_what_is_too_long),
        cmocka_unit_test(keeps_the_end_of_what_is_too_long),
        cmocka_unit_test(takes_null_and_keeps_errno),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

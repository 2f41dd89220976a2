/* SPDX-License-Identifier: Apache-2.0 */
/* test_web_query.c - which words of an address the page's data is asked for with. */
#include <stdio.h>
#include <string.h>

#include "agent/serve/web_query.h"
#include "tests/unit/unit_test.h"

/* Pairs of a name and its value, NULL behind them. */
static const char *get(const void *ctx, const char *name)
{
    const char *const *pair = ctx;

    for (; pair[0]; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return NULL;
}

static bool read_pairs(const char *const *pairs, struct web_query *out, struct err *err)
{
    const struct web_words words = {get, pairs};

    return web_query_read(&words, out, err);
}

static void takes_a_range_of_a_service(void **state)
{
    static const char *const pairs[] = {"service", "my%20shop",     "from", "0",
                                        "to",      "1795372459205", NULL};
    struct web_query query;
    struct err err;

    (void)state;
    assert_true(read_pairs(pairs, &query, &err));
    assert_string_equal(query.service, "my%20shop");
    assert_string_equal(query.type, "");
    assert_int_equal(query.pid, 0);
    assert_int_equal(query.range.from_ms, 0);
    assert_int_equal(query.range.to_ms, 1795372459205);
    assert_false(query.compares);
}

static void takes_a_range_to_compare_with(void **state)
{
    static const char *const pairs[] = {
        "service", "a",         "from", "2",   "to",      "3",     "type",    "b", "before_from",
        "0",       "before_to", "1",    "pid", "4194304", "label", "a b=c=d", NULL};
    struct web_query query;
    struct err err;

    (void)state;
    assert_true(read_pairs(pairs, &query, &err));
    assert_true(query.compares);
    assert_string_equal(query.type, "b");
    assert_int_equal(query.before.to_ms, 1);
    assert_int_equal(query.pid, 4194304);
    assert_string_equal(query.label, "a b=c=d");
}

/* One wrong word beside good ones, and what is said of it. */
static void says_which_word_is_wrong(void **state)
{
    static const struct {
        const char *name, *value, *word;
    } bad[] = {
        {"service", "", "service"},
        {"service", ".", "service"},
        {"service", "..", "service"},
        {"service", "../a", "service"},
        {"service", "a/b", "service"},
        {"service", "%41", "service"},
        {"service", NULL, "service"},
        {"from", NULL, "from"},
        {"from", "", "from"},
        {"from", "-1", "from=-1"},
        {"from", "+1", "from=+1"},
        {"from", " 1", "from"},
        {"from", "1e3", "from"},
        {"from", "9000000000001", "from"},
        {"from", "99999999999999999999999", "from"},
        {"from", "10", "before"},
        {"to", "1", "before"},
        {"to", "0x10", "to"},
        {"label", "", "label"},
        {"label", "none", "label=none"},
        {"label", "=x", "label==x"},
        {"pid", "0", "pid=0"},
        {"pid", "-1", "pid=-1"},
        {"pid", "1234567890", "pid"},
        {"pid", "12x", "pid"},
        {"type", "", "type"},
        {"type", "--help", "type"},
        {"type", "a b", "type"},
        {"type", "0123456789012345678901234567890123456789012345678901234567890123", "type"},
        {"before_from", "1", "before_to"},
        {"before_to", "1", "before_from"},
    };
    struct web_query query;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *pairs[] = {bad[i].name, bad[i].value, "service", "a", "from",
                               "1",         "to",         "10",      NULL};
        struct err err = {""};

        if (read_pairs(pairs, &query, &err) || !strstr(err.text, bad[i].word))
            fail_msg("%s=%s: %s", bad[i].name, bad[i].value ? bad[i].value : "(none)", err.text);
    }
}

static void makes_the_words_of_a_command(void **state)
{
    static const char *const plain[] = {"pystrobe", "browse", "timeline", "/store", "a",
                                        "1",        "2",      "0",        "",       NULL};
    static const char *const compared[] = {"pystrobe", "browse", "difference", "/store", "a",
                                           "1",        "2",      "7",          "k=v",    "cpu",
                                           "3",        "4",      NULL};
    struct web_query query = {.service = "a", .range = {1, 2}, .before = {3, 4}};
    struct web_command command;
    size_t i;

    (void)state;
    web_query_command("/store", "timeline", &query, &command);
    for (i = 0; plain[i]; i++)
        assert_string_equal(command.argv[i], plain[i]);
    assert_null(command.argv[i]);

    query.compares = true;
    query.pid = 7;
    (void)snprintf(query.label, sizeof(query.label), "k=v");
    web_query_command("/store", "difference", &query, &command);
    for (i = 0; compared[i]; i++)
        assert_string_equal(command.argv[i], compared[i]);
    assert_null(command.argv[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_range_of_a_service),
        cmocka_unit_test(takes_a_range_to_compare_with),
        cmocka_unit_test(says_which_word_is_wrong),
        cmocka_unit_test(makes_the_words_of_a_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

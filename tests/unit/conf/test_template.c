/* SPDX-License-Identifier: Apache-2.0 */
/* test_template.c - ${...} in service and label.NAME. */
#include <string.h>

#include "conf/template.h"
#include "tests/unit/unit_test.h"

static const char *look_up(void *ctx, const char *name)
{
    static char many[600];

    (void)ctx;
    if (strcmp(name, "env:A") == 0)
        return "apple";
    if (strcmp(name, "env:EMPTY") == 0)
        return "";
    if (strcmp(name, "env:SLY") == 0)
        return "${env:A}";
    if (strcmp(name, "env:LONG") == 0)
        return memset(many, 'x', sizeof(many) - 1);
    return strcmp(name, "script") == 0 ? "run" : NULL;
}

static const struct {
    const char *text, *result;
} rows[] = {
    {"plain", "plain"},
    {"", ""},
    {"${env:A}", "apple"},
    {"a-${env:A}-b", "a-apple-b"},
    {"${env:NO}", ""},
    {"${env:NO:-b}", "b"},
    {"${env:EMPTY:-b}", "b"},
    {"${env:A:-b}", "apple"},
    {"${env:NO:-${script}}", "run"},
    {"${env:NO:-${env:EMPTY:-x${script}y}}!", "xruny!"},
    {"${env:A:-${script}}!", "apple!"},
    {"${env:NO:-}", ""},
    {"$$ $${env:A} $ $x", "$ ${env:A} $ $x"},
    {"a}b", "a}b"},
    {"${env:SLY}", "${env:A}"}, /* what a name stands for is no template */
};

static void replaces_names(void **state)
{
    char out[64];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {""};

        assert_int_equal(conf_template_check(rows[i].text, &err), CONF_OK);
        conf_template_expand(rows[i].text, look_up, NULL, out, sizeof(out));
        assert_string_equal(out, rows[i].result);
    }
}

static void cuts_what_has_no_room(void **state)
{
    char out[8];

    (void)state;
    conf_template_expand("${env:LONG}${env:LONG}", look_up, NULL, out, sizeof(out));
    assert_string_equal(out, "xxxxxxx");
}

static void refuses_what_is_no_template(void **state)
{
    static const char *const bad[] = {
        "${",
        "${}",
        "${:-a}",
        "${env:}",
        "${env:A B}",
        "${otel:}",
        "${pid}",
        "${env:A",
        "${env:A:-b",
        "${env:A:-${script}",
        "${env:A:-${env:A:-${env:A:-${env:A:-${env:A:-${env:A:-${env:A:-${env:A:-${env:A}}}}}}}}}",
    };
    struct err err;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(conf_template_check(bad[i], &err), CONF_BAD);
}

static void note(void *ctx, const char *name)
{
    char *names = ctx;

    strncat(names, name, 63 - strlen(names));
}

static void lists_all_variables_also_those_in_defaults(void **state)
{
    char names[64] = "";

    (void)state;
    conf_template_variables("${env:A:-${env:B:-${script}}} ${env:C}", note, names);
    assert_string_equal(names, "ABC");
}

static void knows_what_a_list_names(void **state)
{
    (void)state;
    assert_true(conf_is_listed("A B_* C", "A"));
    assert_true(conf_is_listed("A B_* C", "B_X"));
    assert_true(conf_is_listed("A B_* C", "C"));
    assert_true(conf_is_listed("*", "anything"));
    assert_false(conf_is_listed("A B_* C", "B"));
    assert_false(conf_is_listed("A B_* C", "AB"));
    assert_false(conf_is_listed("AB", "A"));
    assert_false(conf_is_listed("", "A"));
    assert_false(conf_is_listed(" ", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces_names),
        cmocka_unit_test(cuts_what_has_no_room),
        cmocka_unit_test(refuses_what_is_no_template),
        cmocka_unit_test(lists_all_variables_also_those_in_defaults),
        cmocka_unit_test(knows_what_a_list_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

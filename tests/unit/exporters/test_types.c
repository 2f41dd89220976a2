/* SPDX-License-Identifier: Apache-2.0 */
/* test_types.c - each row of the table of exporter types is whole, and its columns are true. */
#include <string.h>

#include "exporters/exporter.h"
#include "tests/unit/unit_test.h"

static void each_type_has_a_name_of_its_own(void **state)
{
    size_t i, k;

    (void)state;
    for (i = 0; i < EXPORTER_TYPES; i++) {
        assert_non_null(exporter_types[i].name);
        for (k = 0; k < i; k++)
            assert_string_not_equal(exporter_types[i].name, exporter_types[k].name);
    }
}

static void those_that_need_a_url_ask_for_it(void **state)
{
    struct exporter *exporter = NULL;
    size_t i;

    (void)state;
    for (i = 0; i < EXPORTER_TYPES; i++) {
        const struct exporter_settings empty = {.name = "x", .type = &exporter_types[i]};
        struct err err = {""};

        assert_int_equal(exporter_open(&empty, &exporter, &err), EXPORTER_BAD_CONFIG);
        assert_int_equal(strstr(err.text, "url: is not set") != NULL, empty.type->needs_url);
    }
    assert_null(exporter);
}

static void what_is_said_of_servers_is_not_said_of_folders(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < EXPORTER_TYPES; i++) {
        const struct exporter_type *type = &exporter_types[i];

        assert_true(type->needs_url || (!type->spread && !type->reads_otel));
        assert_false(type->needs_url && type->is_store);
        assert_int_equal(type->path != NULL, type->needs_url);
    }
}

static void every_pyroscope_takes_the_names_of_labels(void **state)
{
    static const char *const names[][2] = {{"env", "env"},
                                           {"k8s.pod.name", "k8s.pod.name"},
                                           {"_a9", "_a9"},
                                           {"", ""},
                                           {"cost-center", "cost_center"},
                                           {"gr\xc3\xb6\xc3\x9f"
                                            "e",
                                            "gr__e"},
                                           {"1a", "_1a"},
                                           {"9-9", "_9_9"},
                                           {"a b", "a_b"},
                                           {"\xe6\x97\xa5-x", "_x"},
                                           {"-_x", "_x"},
                                           {"bad\xff", "bad_"}};
    char out[EXPORTER_LABEL_NAME_MAX + 1], longest[EXPORTER_LABEL_NAME_MAX + 1] = "";

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(exporter_label_name(names[i][0], out),
                         strcmp(names[i][0], names[i][1]) != 0);
        assert_string_equal(out, names[i][1]);
    }
    memset(longest, '7', EXPORTER_LABEL_NAME_MAX);
    assert_true(exporter_label_name(longest, out));
    assert_int_equal(strlen(out), EXPORTER_LABEL_NAME_MAX);
}

static void limits_are_those_of_the_type_unless_the_key_says_otherwise(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXPORTER_TYPES; i++) {
        struct exporter_settings settings = {.type = &exporter_types[i]};

        assert_int_equal(exporter_is_limited(&settings), i == EXPORTER_PYROSCOPE);
        settings.limits = "pyroscope";
        assert_true(exporter_is_limited(&settings));
        settings.limits = "none";
        assert_false(exporter_is_limited(&settings));
    }
}

static void each_form_with_limits_has_one_without(void **state)
{
    (void)state;
    for (unsigned form = EXPORTER_WHOLE; form <= EXPORTER_REQUEST_GIL; form++) {
        assert_false(exporter_form_is_limited(form));
        assert_int_equal(exporter_form_unlimited(form), form);
    }
    assert_int_equal(exporter_form_unlimited(EXPORTER_PER_TYPE_LIMITED), EXPORTER_PER_TYPE);
    assert_int_equal(exporter_form_unlimited(EXPORTER_PER_TYPE_GIL_LIMITED), EXPORTER_PER_TYPE_GIL);
    assert_int_equal(exporter_form_unlimited(EXPORTER_REQUEST_LIMITED), EXPORTER_REQUEST);
    assert_int_equal(exporter_form_unlimited(EXPORTER_REQUEST_GIL_LIMITED), EXPORTER_REQUEST_GIL);
    assert_true(exporter_form_is_limited(EXPORTER_PER_TYPE_LIMITED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_has_a_name_of_its_own),
        cmocka_unit_test(those_that_need_a_url_ask_for_it),
        cmocka_unit_test(what_is_said_of_servers_is_not_said_of_folders),
        cmocka_unit_test(every_pyroscope_takes_the_names_of_labels),
        cmocka_unit_test(limits_are_those_of_the_type_unless_the_key_says_otherwise),
        cmocka_unit_test(each_form_with_limits_has_one_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

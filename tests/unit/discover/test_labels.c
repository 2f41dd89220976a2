/* SPDX-License-Identifier: Apache-2.0 */
/* test_labels.c - labels are in order, bounded, and fit to be shown. */
#include <stdio.h>
#include <string.h>

#include "agent/discover/labels.h"
#include "tests/unit/unit_test.h"

static void keeps_the_order_of_the_names(void **state)
{
    struct labels a = {0}, b = {0};
    const char *name, *value;
    char text[64] = "";
    size_t at = 0;

    (void)state;
    labels_put(&a, "b", "2");
    labels_put(&a, "a", "1");
    labels_put(&a, "c", "3");
    labels_put(&b, "c", "3");
    labels_put(&b, "b", "2");
    assert_false(labels_equal(&a, &b));
    labels_put(&b, "a", "1");
    assert_true(labels_equal(&a, &b));
    while (labels_next(&a, &at, &name, &value))
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%s ", name, value);
    assert_string_equal(text, "a=1 b=2 c=3 ");
    assert_string_equal(labels_get(&a, "b"), "2");
    assert_null(labels_get(&a, "d"));
}

static void takes_the_first_of_a_name_and_nothing_empty(void **state)
{
    struct labels labels = {0};

    (void)state;
    labels_put(&labels, "a", "");
    assert_int_equal(labels.count, 0);
    labels_put(&labels, "a", "1");
    labels_put(&labels, "a", "2");
    assert_int_equal(labels.count, 1);
    assert_string_equal(labels_get(&labels, "a"), "1");
}

static void is_bounded(void **state)
{
    struct labels labels = {0};
    char name[16], value[2000];
    int i;

    (void)state;
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        labels_put(&labels, name, value);
    }
    assert_true(labels.count > 3 && labels.size <= sizeof(labels.text));
    assert_int_equal(strlen(labels_get(&labels, "n0")), LABEL_VALUE_MAX - 1);
    labels = (struct labels){0};
    for (i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        labels_put(&labels, name, "x");
    }
    assert_int_equal(labels.count, LABELS_MAX);
}

static void cleans_what_could_mislead(void **state)
{
    char out[16];

    (void)state;
    labels_clean("a\nb", out, sizeof(out));
    assert_string_equal(out, "a\\x0ab");
    labels_clean("\xff", out, sizeof(out));
    assert_string_equal(out, "\\xff");
    labels_clean("gr\xc3\xbc\xc3\x9f", out, sizeof(out));
    assert_string_equal(out, "gr\xc3\xbc\xc3\x9f");
    labels_clean("12345678901234\xc3\xbc", out, sizeof(out)); /* never half a character */
    assert_string_equal(out, "12345678901234");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order_of_the_names),
        cmocka_unit_test(takes_the_first_of_a_name_and_nothing_empty),
        cmocka_unit_test(is_bounded),
        cmocka_unit_test(cleans_what_could_mislead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - how texts end, and words behind a number. */
#include "base/text.h"

#include "tests/unit/unit_test.h"

static void knows_the_end_of_a_text(void **state)
{
    (void)state;
    assert_true(text_ends_with("shop.service", ".service"));
    assert_true(text_ends_with("a", ""));
    assert_false(text_ends_with(".service", ".service"));
    assert_false(text_ends_with("shop.services", ".service"));
    assert_false(text_ends_with("e", ".service"));
    assert_false(text_ends_with("", ""));
}

static void has_the_singular_for_one_only(void **state)
{
    (void)state;
    assert_string_equal(text_plural(0, "process", "processes"), "processes");
    assert_string_equal(text_plural(1, "process", "processes"), "process");
    assert_string_equal(text_plural(UINT64_MAX, "process", "processes"), "processes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_end_of_a_text),
        cmocka_unit_test(has_the_singular_for_one_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_patterns.c - which paths a key takes. */
#include "conf/patterns.h"
#include "tests/unit/unit_test.h"

static void takes_folders_that_are_named_by_dots_alone(void **state)
{
    static const char *const good[] = {"/...", "/.../", "/./....", "/.x"};
    static const char *const root[] = {"/", "//", "/.", "/..", "/./../", "//.//"};
    struct err err = {""};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(conf_path_check(good[i], &err), CONF_OK);
    for (size_t i = 0; i < sizeof(root) / sizeof(root[0]); i++)
        assert_int_equal(conf_path_check(root[i], &err), CONF_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_folders_that_are_named_by_dots_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_library.c - a library that is loaded when it is needed, or is not there. */
#include <string.h>

#include "base/library.h"
#include "tests/unit/unit_test.h"

static const char *const names[] = {"strlen", "strcmp"};

struct api {
    size_t (*strlen)(const char *text);
    int (*strcmp)(const char *a, const char *b);
};

static struct library c_library(struct api *api)
{
    return (struct library){LIBRARY_TABLE(names, *api), .file = "libc.so.6",
                            .packages = "libc6 (Debian)", .needed_by = "this test"};
}

static void finds_the_functions_in_the_order_of_their_names(void **state)
{
    struct api api = {NULL, NULL};
    struct library library = c_library(&api);

    (void)state;
    assert_true(library_load(&library, NULL));

    assert_int_equal(api.strlen("four"), 4);
    assert_int_equal(api.strcmp("a", "a"), 0);
}

static void names_a_library_that_is_missing_and_what_to_install(void **state)
{
    struct api api = {NULL, NULL};
    struct library library = c_library(&api);
    struct err err;

    (void)state;
    library.file = "libnowhere.so.9";
    library.packages = "libnowhere9 (Debian)";

    assert_false(library_load(&library, &err));

    assert_non_null(strstr(err.text, "libnowhere.so.9 cannot be loaded"));
    assert_non_null(strstr(err.text, "needed by this test; install libnowhere9 (Debian)"));
    assert_null(api.strlen);
}

static void names_a_function_that_is_missing_and_gives_none_of_the_others(void **state)
{
    static const char *const some[] = {"strlen", "no_such_function"};
    struct api api = {NULL, NULL};
    struct library library = c_library(&api);
    struct err err;

    (void)state;
    library.names = some;

    assert_false(library_load(&library, &err));

    assert_string_equal(err.text, "libc.so.6 has no function no_such_function: it is too old; "
                                  "needed by this test; install libc6 (Debian)");
    assert_null(api.strlen);
}

static void loads_once_and_tries_again_after_a_failure(void **state)
{
    struct api api = {NULL, NULL};
    struct library library = c_library(&api);

    (void)state;
    library.file = "libnowhere.so.9";
    assert_false(library_load(&library, NULL));

    library.file = "libc.so.6";
    assert_true(library_load(&library, NULL));
    assert_non_null(api.strcmp);

    library.file = "libnowhere.so.9"; /* which is not looked for again */
    assert_true(library_load(&library, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_functions_in_the_order_of_their_names),
        cmocka_unit_test(names_a_library_that_is_missing_and_what_to_install),
        cmocka_unit_test(names_a_function_that_is_missing_and_gives_none_of_the_others),
        cmocka_unit_test(loads_once_and_tries_again_after_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

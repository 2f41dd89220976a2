/* SPDX-License-Identifier: Apache-2.0 */
/* test_denied.c - who may not open a file learns whose it is. */
#include "base/denied.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

static int begin(void **state)
{
    return tree_make(state);
}

static int end(void **state)
{
    return tree_remove(state);
}

/* The text with which it may not be opened; `whose` is what belongs to us. */
static void is_told(const char *path, const char *whose)
{
    const struct passwd *user = getpwuid(geteuid());
    char out[DENIED_TEXT_MAX], expected[DENIED_TEXT_MAX];

    (void)snprintf(expected, sizeof(expected),
                   "Permission denied, because %s belongs to %s; run this as root%s", whose,
                   user ? user->pw_name : "another user", geteuid() == 0 ? "" : " or as that user");
    assert_ptr_equal(denied_text(path, EACCES, out), out);
    assert_memory_equal(out, expected, strlen(expected));
}

static void names_the_owner_of_a_file_that_is_there(void **state)
{
    (void)state;
    tree_write_text("file", "x");
    is_told(tree_path("file"), "it");
}

static void names_the_owner_of_the_directory_where_a_file_cannot_be_made(void **state)
{
    (void)state;
    is_told(tree_path("absent"), "a directory above it");
    is_told(tree_path("absent/below"), "a directory above it");
}

static void a_path_without_a_directory_is_in_the_one_where_we_are(void **state)
{
    (void)state;
    assert_int_equal(chdir(tree_path("")), 0);
    is_told("absent", "a directory above it");
}

static void any_other_error_is_only_named(void **state)
{
    char out[DENIED_TEXT_MAX];

    (void)state;
    assert_string_equal(denied_text(tree_path("absent"), ENOENT, out), strerror(ENOENT));
    tree_write_text("file", "x");
    assert_string_equal(denied_text(tree_path("file/x"), EACCES, out), strerror(EACCES));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(names_the_owner_of_a_file_that_is_there),
        TEST(names_the_owner_of_the_directory_where_a_file_cannot_be_made),
        TEST(a_path_without_a_directory_is_in_the_one_where_we_are),
        TEST(any_other_error_is_only_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

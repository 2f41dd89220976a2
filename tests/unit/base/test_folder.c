/* SPDX-License-Identifier: Apache-2.0 */
/* test_folder.c - no other user chooses which directory is opened. */
#include "base/folder.h"
#include "tests/unit/temp_tree.h"

enum { OTHER = 65533, GROUP = 65532 };

static void must_open(const char *path, unsigned flags)
{
    struct err err = {""};
    int fd = folder_open(path, flags, &err);

    if (fd < 0)
        fail_msg("%s", err.text);
    assert_int_equal(fcntl(fd, F_GETFL) & O_PATH, 0);
    assert_int_equal(close(fd), 0);
}

static void must_not_open(const char *path, unsigned flags, int cause, const char *why)
{
    struct err err = {""};

    assert_int_equal(folder_open(path, flags, &err), -1);
    assert_int_equal(errno, cause);
    if (!strstr(err.text, why))
        fail_msg("%s", err.text);
}

static void must_be_directory_of(const char *name, uid_t user)
{
    struct stat info;

    assert_int_equal(lstat(tree_path(name), &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(info.st_uid, user);
}

static void directories_are_made_only_where_that_is_asked_for(void **state)
{
    (void)state;
    must_not_open(tree_path("a/b/c"), 0, ENOENT, "/a/b/c: No such file");
    must_open(tree_path("a/b//c/"), FOLDER_MAKE | FOLDER_OWN);
    must_be_directory_of("a/b/c", geteuid());
    must_open(tree_path("a/b/../../a/./b/c"), 0);
    must_not_open("", FOLDER_MAKE, ENOENT, "No such file");
}

static void a_relative_path_begins_where_we_are(void **state)
{
    char before[4096];

    (void)state;
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(tree), 0);
    must_open("made/here", FOLDER_MAKE);
    assert_int_equal(chdir(before), 0);
    must_be_directory_of("made/here", geteuid());
}

static void links_of_our_own_are_followed_in_each_part(void **state)
{
    (void)state;
    tree_directory("disk");
    tree_link("near", "disk");
    tree_link("far", tree_path("near"));
    tree_link("round", "round");
    must_open(tree_path("far/store"), FOLDER_MAKE | FOLDER_OWN);
    must_be_directory_of("disk/store", geteuid());
    must_not_open(tree_path("round"), FOLDER_MAKE, ELOOP, "Too many levels");
}

static void only_what_stands_in_the_way_keeps_a_directory_from_being(void **state)
{
    struct err err = {""};

    (void)state;
    tree_write_text("file", "x");
    tree_link("round", "round");
    tree_directory("there");
    assert_true(folder_can_be(tree_path("there"), &err));
    assert_true(folder_can_be(tree_path("there/absent/below"), &err));
    assert_int_equal(access(tree_path("there/absent"), F_OK), -1);
    assert_false(folder_can_be(tree_path("round/x"), &err));
    assert_false(folder_can_be(tree_path("file/x"), &err));
    assert_non_null(strstr(err.text, "/file/x: Not a directory: file is a file; name another"));
}

static void file_systems_of_the_kernel_take_no_directories(void **state)
{
    struct err err = {""};

    (void)state;
    assert_false(folder_can_be("/proc/absent/below", &err));
    assert_string_equal(err.text, "/proc/absent/below: it is in a file system of the kernel, where "
                                  "no files can be made; name another path");
    assert_false(folder_can_be("/proc", &err));
}

static void what_is_no_directory_is_told(void **state)
{
    char longer[8192];

    (void)state;
    tree_write_text("file", "x");
    assert_int_equal(mkfifo(tree_path("pipe"), 0600), 0);
    must_not_open(tree_path("file"), FOLDER_MAKE, ENOTDIR, "/file: Not a directory: file is a");
    must_not_open(tree_path("file/below"), FOLDER_MAKE, ENOTDIR, "Not a directory");
    must_not_open(tree_path("pipe"), FOLDER_MAKE, ENOTDIR, "Not a directory");
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    must_not_open(longer, 0, ENAMETOOLONG, "too long");
    longer[300] = '\0';
    must_not_open(longer, FOLDER_MAKE, ENAMETOOLONG, "too long");
}

/* Made of links that are each in order: their targets are longer than any path may be. */
static void a_path_that_grows_without_end_is_given_up(void **state)
{
    char target[3000];

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(target); i++)
        target[i] = i % 2 ? '/' : '.';
    memcpy(target + sizeof(target) - 6, "grow", 5);
    tree_link("grow", target);
    must_not_open(tree_path("grow/x"), FOLDER_MAKE, ELOOP, "Too many levels");
}

static void links_of_another_user_are_not_followed(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    tree_directory("roots");
    tree_link("theirs", "roots");
    assert_int_equal(lchown(tree_path("theirs"), OTHER, GROUP), 0);
    must_not_open(tree_path("theirs"), FOLDER_MAKE, EPERM,
                  "theirs is a symbolic link of user 65533");
    must_not_open(tree_path("theirs/store"), FOLDER_MAKE, EPERM, "a symbolic link");
    must_not_open(tree_path("theirs"), 0, EPERM, "a symbolic link");
    tree_link("ours", "theirs");
    must_not_open(tree_path("ours"), 0, EPERM, "theirs is a symbolic link");
    assert_int_equal(access(tree_path("roots/store"), F_OK), -1);
}

static void a_directory_of_another_user_is_refused_if_asked(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    tree_directory("theirs");
    assert_int_equal(chown(tree_path("theirs"), OTHER, GROUP), 0);
    must_not_open(tree_path("theirs"), FOLDER_OWN, EPERM, "/theirs: belongs to user 65533");
    must_open(tree_path("theirs"), 0);
    must_open(tree_path("theirs/a/b"), FOLDER_MAKE);
    must_be_directory_of("theirs/a/b", OTHER); /* as durable.h says */
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_TREE(directories_are_made_only_where_that_is_asked_for),
        IN_TREE(a_relative_path_begins_where_we_are),
        IN_TREE(links_of_our_own_are_followed_in_each_part),
        IN_TREE(only_what_stands_in_the_way_keeps_a_directory_from_being),
        cmocka_unit_test(file_systems_of_the_kernel_take_no_directories),
        IN_TREE(what_is_no_directory_is_told),
        IN_TREE(a_path_that_grows_without_end_is_given_up),
        IN_TREE(links_of_another_user_are_not_followed),
        IN_TREE(a_directory_of_another_user_is_refused_if_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

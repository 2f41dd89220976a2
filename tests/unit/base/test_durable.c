/* SPDX-License-Identifier: Apache-2.0 */
/* test_durable.c - what root makes in a directory of somebody else is that one's, and nothing that
 * was there already becomes it. */
#include "base/durable.h"
#include "tests/unit/temp_tree.h"

enum { OWNER = 65533, GROUP = 65532 };

/* Group setup: a directory of somebody else; without root there can be none. */
static int make_foreign_tree(void **state)
{
    if (tree_make(state) != 0)
        return -1;
    return geteuid() != 0 || chown(tree, OWNER, GROUP) == 0 ? 0 : -1;
}

static void needs_root(void)
{
    if (geteuid() != 0)
        skip();
}

static int open_tree(void)
{
    int dir = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(dir >= 0);
    return dir;
}

static void must_belong_to(const char *name, uid_t user, gid_t group)
{
    struct stat info;

    assert_int_equal(lstat(tree_path(name), &info), 0);
    assert_int_equal(info.st_uid, user);
    assert_int_equal(info.st_gid, group);
    assert_int_equal(info.st_mode & 077, 0);
}

static void files_and_folders_that_root_makes_get_the_owner_of_their_directory(void **state)
{
    const struct durable_part part = {"x", 1};
    int dir = open_tree();

    (void)state;
    needs_root();
    assert_true(durable_write(dir, "aside", "file", &part, 1));
    assert_true(durable_make_folder(dir, "folder"));
    (void)close(dir);

    must_belong_to("file", OWNER, GROUP);
    must_belong_to("folder", OWNER, GROUP);
}

static void what_is_in_the_directory_of_a_group_may_be_read_by_it(void **state)
{
    const struct durable_part part = {"x", 1};
    int dir = open_tree();
    struct stat info;

    (void)state;
    assert_int_equal(fchown(dir, geteuid(), getegid()), 0);
    assert_int_equal(fchmod(dir, 0750), 0);
    assert_true(durable_write(dir, "aside", "file", &part, 1));
    assert_true(durable_make_folder(dir, "folder"));
    assert_int_equal(fchmod(dir, 0755), 0);
    assert_true(durable_make_folder(dir, "closed"));
    (void)close(dir);

    assert_int_equal(lstat(tree_path("file"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(lstat(tree_path("folder"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0750);
    assert_int_equal(lstat(tree_path("closed"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
}

static void what_was_there_keeps_its_owner(void **state)
{
    int dir = open_tree();

    (void)state;
    needs_root();
    assert_int_equal(mkdir(tree_path("roots"), 0700), 0);
    assert_false(durable_make_folder(dir, "roots"));
    assert_int_equal(errno, EEXIST);
    must_belong_to("roots", 0, 0);
    (void)close(dir);
}

/* As one may be that somebody puts in place of what we have made a moment ago. */
static void what_is_not_roots_alone_is_not_given_away(void **state)
{
    int dir = open_tree(), fd;
    struct stat info;

    (void)state;
    needs_root();
    tree_write_text("shared", "x"); /* others may read it */
    assert_int_equal(chmod(tree_path("shared"), 0644), 0);
    fd = open(tree_path("shared"), O_RDONLY | O_CLOEXEC);
    durable_give(fd, dir);
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_uid, 0);
    (void)close(fd);

    tree_write_text("another's", "x");
    assert_int_equal(chmod(tree_path("another's"), 0600), 0);
    assert_int_equal(chown(tree_path("another's"), OWNER + 1, GROUP), 0);
    fd = open(tree_path("another's"), O_RDONLY | O_CLOEXEC);
    durable_give(fd, dir);
    must_belong_to("another's", OWNER + 1, GROUP);
    (void)close(fd);
    (void)close(dir);
}

int main(void)
{
#define IN_FOREIGN_TREE(test) cmocka_unit_test_setup_teardown(test, make_foreign_tree, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_FOREIGN_TREE(files_and_folders_that_root_makes_get_the_owner_of_their_directory),
        IN_FOREIGN_TREE(what_is_in_the_directory_of_a_group_may_be_read_by_it),
        IN_FOREIGN_TREE(what_was_there_keeps_its_owner),
        IN_FOREIGN_TREE(what_is_not_roots_alone_is_not_given_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

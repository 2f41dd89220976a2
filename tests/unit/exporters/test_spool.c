/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool.c - a spool's directory holds whole entries, whatever else is put there or breaks. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/file.h>

#include "exporters/spool.h"
#include "tests/unit/exporters/spool_example.h"
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

struct fixture {
    struct spool *spool;
    struct err err;
};

static int setup(void **state)
{
    static struct fixture fix;

    if (tree_make(state) != 0)
        return -1;
    fix = (struct fixture){0};
    if (spool_open(tree_path("spool"), true, &fix.spool, &fix.err) != SPOOL_OK)
        return -1;
    *state = &fix;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fix = *state;

    spool_close(fix->spool);
    return tree_remove(state);
}

static void write_one(struct fixture *fix, uint64_t order, uint16_t owed)
{
    struct spool_name name = {order, owed};
    struct spool_head head = spool_example();
    uint64_t size = 0;

    assert_int_equal(spool_write(fix->spool, &name, &head, &size, &fix->err), SPOOL_OK);
    assert_int_equal(size, 4096);
}

static size_t count_in(const char *name)
{
    DIR *dir = opendir(tree_path(name));
    const struct dirent *item;
    size_t count = 0;

    while (dir && (item = readdir(dir)))
        count += item->d_name[0] != '.' ? 1 : 0;
    if (dir)
        (void)closedir(dir);
    return count;
}

static struct spool_list list(struct fixture *fix)
{
    struct spool_list got;

    assert_int_equal(spool_list(fix->spool, &got, &fix->err), SPOOL_OK);
    return got;
}

static void assert_list(struct fixture *fix, size_t count, size_t bad)
{
    struct spool_list got = list(fix);

    assert_int_equal(got.count, count);
    assert_int_equal(got.bad, bad);
    spool_list_finish(&got);
}

static enum spool_rc take(struct fixture *fix, uint64_t order, uint16_t owed)
{
    struct spool_name name = {order, owed};
    struct spool_head head = spool_example();
    struct spool_held held;
    enum spool_rc rc = spool_take(fix->spool, &name, false, &held, &fix->err);

    if (rc == SPOOL_OK) {
        assert_true(spool_example_same(&held.head, &head));
        spool_let_go(&held);
    }
    return rc;
}

static void lists_what_it_was_given_oldest_first(void **state)
{
    struct fixture *fix = *state;
    struct spool_list got;

    write_one(fix, 7, 1);
    write_one(fix, 3, 3);
    write_one(fix, 0x100000000, 2);
    got = list(fix);
    assert_int_equal(got.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(got.items[i].name.order, ((const uint64_t[]){3, 7, 0x100000000})[i]);
    assert_int_equal(got.items[0].name.owed, 3);
    spool_list_finish(&got);
    assert_int_equal(take(fix, 3, 3), SPOOL_OK);
}

static void keeps_its_files_to_itself(void **state)
{
    struct stat info;

    write_one(*state, 1, 1);
    assert_int_equal(stat(tree_path("spool"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(stat(tree_path("spool/0000000000000001-0001.profile"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void crosses_out_one_exporter_after_the_other(void **state)
{
    struct fixture *fix = *state;
    struct spool_name name = {1, 3};

    write_one(fix, 1, 3);
    assert_int_equal(spool_set_owed(fix->spool, &name, 2, &fix->err), SPOOL_OK);
    assert_int_equal(name.owed, 2);
    assert_int_equal(take(fix, 1, 2), SPOOL_OK);
    assert_int_equal(spool_set_owed(fix->spool, &name, 1, &fix->err), SPOOL_OK);
    assert_int_equal(name.owed, 0);
    assert_list(fix, 0, 0);
    assert_int_equal(spool_sync(fix->spool, &fix->err), SPOOL_OK);
}

static void finds_what_another_process_has_renamed(void **state)
{
    struct fixture *fix = *state;
    struct spool_name name = {1, 3};
    struct spool_held held;

    write_one(fix, 1, 3);
    assert_int_equal(rename(tree_path("spool/0000000000000001-0003.profile"),
                            tree_path("spool/0000000000000001-0001.profile")),
                     0);
    assert_int_equal(spool_take(fix->spool, &name, false, &held, &fix->err), SPOOL_OK);
    assert_int_equal(name.owed, 1);
    spool_let_go(&held);
    name.owed = 3; /* as one knows it who has not looked since */
    assert_int_equal(spool_set_owed(fix->spool, &name, 1, &fix->err), SPOOL_OK);
    assert_int_equal(name.owed, 1);
    assert_int_equal(unlink(tree_path("spool/0000000000000001-0001.profile")), 0);
    assert_int_equal(spool_set_owed(fix->spool, &name, 0, &fix->err), SPOOL_GONE);
    assert_int_equal(take(fix, 1, 1), SPOOL_GONE);
}

static void lets_two_send_at_once_but_not_beside_one_who_wants_it_alone(void **state)
{
    struct fixture *fix = *state;
    struct spool_name name = {1, 3};
    struct spool_held one, two;

    write_one(fix, 1, 3);
    assert_int_equal(spool_take(fix->spool, &name, false, &one, &fix->err), SPOOL_OK);
    assert_int_equal(spool_take(fix->spool, &name, false, &two, &fix->err), SPOOL_OK);
    spool_let_go(&two);
    assert_int_equal(spool_take(fix->spool, &name, true, &two, &fix->err), SPOOL_BUSY);
    spool_let_go(&one);
    assert_int_equal(spool_take(fix->spool, &name, true, &two, &fix->err), SPOOL_OK);
    assert_int_equal(take(fix, 1, 3), SPOOL_BUSY);
    spool_let_go(&two);
}

static void sets_aside_what_is_no_file(void **state)
{
    struct fixture *fix = *state;

    write_one(fix, 5, 1);
    tree_link("spool/0000000000000001-0001.profile", "0000000000000005-0001.profile");
    assert_int_equal(mkfifo(tree_path("spool/0000000000000002-0001.profile"), 0600), 0);
    tree_directory("spool/0000000000000003-0001.profile");
    tree_write_text("spool/0000000000000004-0001.profile", "");
    assert_int_equal(truncate(tree_path("spool/0000000000000004-0001.profile"), 1LL << 40), 0);
    tree_write_text("spool/notes.txt", "not ours");
    assert_list(fix, 1, 4);
    assert_int_equal(count_in("spool/bad"), 4);
    assert_list(fix, 1, 0);
    assert_int_equal(access(tree_path("spool/notes.txt"), F_OK), 0);
}

static void never_reads_what_is_no_file(void **state)
{
    struct fixture *fix = *state;

    write_one(fix, 5, 1);
    tree_link("spool/0000000000000001-0001.profile", "0000000000000005-0001.profile");
    assert_int_equal(mkfifo(tree_path("spool/0000000000000002-0001.profile"), 0600), 0);
    tree_directory("spool/0000000000000003-0001.profile");
    for (uint64_t order = 1; order <= 3; order++)
        assert_int_equal(take(fix, order, 1), SPOOL_CORRUPT);
}

static void refuses_names_that_owe_more_than_the_head_says(void **state)
{
    struct fixture *fix = *state;
    struct spool_name name = {1, 4};
    struct spool_held held;

    write_one(fix, 1, 4); /* its head names two exporters */
    assert_int_equal(take(fix, 1, 4), SPOOL_CORRUPT);
    assert_int_equal(spool_look(fix->spool, &name, &held, &fix->err), SPOOL_CORRUPT);
}

static void keeps_the_last_bad_ones_only(void **state)
{
    struct fixture *fix = *state;
    struct spool_name name = {0, 1};

    for (name.order = 1; name.order <= SPOOL_BAD_MAX + 5; name.order++) {
        write_one(fix, name.order, 1);
        spool_set_aside(fix->spool, &name);
    }
    assert_int_equal(count_in("spool/bad"), SPOOL_BAD_MAX);
    assert_int_equal(access(tree_path("spool/bad/000000000000000f-0001.profile"), F_OK), 0);
}

static void removes_what_a_crash_left_half_written(void **state)
{
    struct fixture *fix = *state;
    int fd;

    tree_write_text("spool/.0000000000000001.tmp", "half");
    tree_write_text("spool/.0000000000000002.tmp", "being written");
    fd = open(tree_path("spool/.0000000000000002.tmp"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_list(fix, 0, 0);
    assert_int_equal(access(tree_path("spool/.0000000000000001.tmp"), F_OK), -1);
    assert_int_equal(access(tree_path("spool/.0000000000000002.tmp"), F_OK), 0);
    (void)close(fd);
}

static void belongs_to_one_agent(void **state)
{
    struct fixture *fix = *state;
    struct spool *other = NULL;

    assert_int_equal(spool_open(tree_path("spool"), true, &other, &fix->err), SPOOL_LOCKED);
    assert_non_null(strstr(fix->err.text, "another agent uses this spool (process "));
    assert_int_equal(spool_open(tree_path("spool"), false, &other, &fix->err), SPOOL_OK);
    spool_close(other);
    spool_close(fix->spool);
    fix->spool = NULL;
    assert_int_equal(spool_open(tree_path("spool"), true, &fix->spool, &fix->err), SPOOL_OK);
}

static void refuses_a_directory_that_others_may_write(void **state)
{
    struct fixture *fix = *state;
    struct spool *other = NULL;

    tree_directory("open");
    assert_int_equal(chmod(tree_path("open"), 0770), 0);
    assert_int_equal(spool_open(tree_path("open"), true, &other, &fix->err), SPOOL_FAILED);
    assert_non_null(strstr(fix->err.text, "chmod 700"));
}

static void says_what_is_wrong_with_the_path(void **state)
{
    struct fixture *fix = *state;
    struct spool *other = NULL;

    tree_write_text("file", "");
    assert_int_equal(spool_open(tree_path("file"), true, &other, &fix->err), SPOOL_FAILED);
    assert_non_null(strstr(fix->err.text, "file: cannot be opened: Not a directory"));
    assert_int_equal(spool_open(tree_path("none"), false, &other, &fix->err), SPOOL_FAILED);
    assert_int_equal(access(tree_path("none"), F_OK), -1);
}

static void tells_a_long_head_from_a_bad_one(void **state)
{
    static char service[20000];
    struct fixture *fix = *state;
    struct spool_head head = spool_example();
    struct spool_name name = {1, 1};
    struct spool_held held;
    uint64_t size;

    memset(service, 'x', sizeof(service) - 1);
    head.profile.service = service;
    assert_int_equal(spool_write(fix->spool, &name, &head, &size, &fix->err), SPOOL_OK);
    assert_int_equal(spool_look(fix->spool, &name, &held, &fix->err), SPOOL_OK);
    assert_string_equal(held.head.profile.service, service);
    assert_string_equal(held.head.owers[0], "pyroscope");
    spool_let_go(&held);
    assert_int_equal(truncate(tree_path("spool/0000000000000001-0001.profile"), 19000), 0);
    assert_int_equal(spool_look(fix->spool, &name, &held, &fix->err), SPOOL_CORRUPT);
}

static void takes_no_file_that_is_cut_at_any_byte(void **state)
{
    struct fixture *fix = *state;
    const struct spool_name name = {1, 1};
    struct spool_held held;
    struct stat info;

    write_one(fix, 1, 1);
    assert_int_equal(stat(tree_path("spool/0000000000000001-0001.profile"), &info), 0);
    while (info.st_size-- > 0) {
        assert_int_equal(truncate(tree_path("spool/0000000000000001-0001.profile"), info.st_size),
                         0);
        assert_int_equal(take(fix, 1, 1), SPOOL_CORRUPT);
        assert_int_equal(spool_look(fix->spool, &name, &held, &fix->err), SPOOL_CORRUPT);
    }
}

static void leaves_nothing_of_a_write_that_failed(void **state)
{
    struct fixture *fix = *state;
    struct spool_head head = spool_example();
    struct spool_name name = {1, 1};
    uint64_t size;

    if (geteuid() == 0) { /* root may write anywhere, but not over a directory */
        tree_directory("spool/0000000000000001-0001.profile");
        tree_write_text("spool/0000000000000001-0001.profile/x", "");
    } else {
        assert_int_equal(chmod(tree_path("spool"), 0500), 0);
    }
    assert_int_equal(spool_write(fix->spool, &name, &head, &size, &fix->err), SPOOL_FAILED);
    assert_non_null(strstr(fix->err.text, "cannot write a profile: "));
    assert_int_equal(access(tree_path("spool/.0000000000000001.tmp"), F_OK), -1);
    (void)chmod(tree_path("spool"), 0700);
}

int main(void)
{
#define WITH_SPOOL(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_SPOOL(lists_what_it_was_given_oldest_first),
        WITH_SPOOL(keeps_its_files_to_itself),
        WITH_SPOOL(crosses_out_one_exporter_after_the_other),
        WITH_SPOOL(finds_what_another_process_has_renamed),
        WITH_SPOOL(lets_two_send_at_once_but_not_beside_one_who_wants_it_alone),
        WITH_SPOOL(sets_aside_what_is_no_file),
        WITH_SPOOL(never_reads_what_is_no_file),
        WITH_SPOOL(refuses_names_that_owe_more_than_the_head_says),
        WITH_SPOOL(keeps_the_last_bad_ones_only),
        WITH_SPOOL(removes_what_a_crash_left_half_written),
        WITH_SPOOL(belongs_to_one_agent),
        WITH_SPOOL(refuses_a_directory_that_others_may_write),
        WITH_SPOOL(says_what_is_wrong_with_the_path),
        WITH_SPOOL(tells_a_long_head_from_a_bad_one),
        WITH_SPOOL(takes_no_file_that_is_cut_at_any_byte),
        WITH_SPOOL(leaves_nothing_of_a_write_that_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

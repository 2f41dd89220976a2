/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool.c - a file is whole or not there, and nothing else in the directory is touched. */
#include <sys/file.h>

#include "agent/delivery/spool.h"
#include "tests/unit/batch_of_one.h"
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

static const struct spool_name first = {.number = 1, .exporter = "a"},
                               second = {.number = 2, .exporter = "b.c-d_e"},
                               part = {.number = 3, .part_of = 1, .exporter = "a"};

static struct spool *open_spool(bool own)
{
    struct spool *spool = NULL;
    struct err err = {""};

    if (spool_open(tree_path("spool"), own, &spool, &err) != SPOOL_OK)
        fail_msg("%s", err.text);
    return spool;
}

static void put(struct spool *spool, const struct spool_name *name, const char *service)
{
    const struct exporter_profile profile = {
        .service = service, .start_ns = 5, .bytes = service, .size = strlen(service)};
    struct batch *batch = batch_of_one(EXPORTER_WHOLE, &profile);
    struct err err = {""};
    uint64_t size = 0;

    assert_non_null(batch);
    assert_int_equal(spool_write(spool, name, batch, &size, &err), SPOOL_OK);
    assert_int_equal(size, 4096);
    batch_unref(batch);
}

static void write_bytes(const char *name, const char *bytes)
{
    FILE *file = fopen(tree_path(name), "w");

    assert_non_null(file);
    assert_true(fputs(bytes, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static bool is_there(const char *name)
{
    struct stat info;

    return lstat(tree_path(name), &info) == 0;
}

static void names_are_read_as_they_were_written_and_no_others(void **state)
{
    static const char *const others[] = {
        "",
        "0000000000000001-a.batch ",
        "0000000000000001-.batch",
        "0000000000000000-a.batch",
        "000000000000001-a.batch",
        "0000000000000001_a.batch",
        "0000000000000001-a/b.batch",
        "000000000000000A-a.batch",
        "ffffffffffffffff-a.batch",
        "0000000000000001-0001.profile",
        "0000000000000002+0000000000000000-a.batch",
        "0000000000000002+a.batch",
        "0000000000000002+0000000000000001.batch",
    };
    char too_long[SPOOL_FILE_NAME_SIZE + 8];
    char text[SPOOL_FILE_NAME_SIZE];
    struct spool_name again = {0};

    (void)state;
    spool_file_name(&second, text);
    assert_string_equal(text, "0000000000000002-b.c-d_e.batch");
    assert_true(spool_file_name_read(text, &again));
    assert_int_equal(again.number, 2);
    assert_int_equal(again.part_of, 0);
    assert_string_equal(again.exporter, "b.c-d_e");
    spool_file_name(&part, text);
    assert_string_equal(text, "0000000000000003+0000000000000001-a.batch");
    assert_true(spool_file_name_read(text, &again));
    assert_int_equal(again.number, 3);
    assert_int_equal(again.part_of, 1);
    assert_string_equal(again.exporter, "a");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(spool_file_name_read(others[i], &again));
    (void)snprintf(too_long, sizeof(too_long), "0000000000000001-%0*d.batch", SPOOL_EXPORTER_SIZE,
                   0);
    assert_false(spool_file_name_read(too_long, &again));
}

static void parts_of_a_batch_that_is_there_as_a_whole_go(void **state)
{
    static const struct spool_name part_of_part = {4, 3, "a"}, alone = {5, 2, "a"},
                                   others = {6, 1, "b"};
    struct spool *spool = open_spool(true), *reader;
    struct spool_list list;
    struct err err = {""};

    (void)state;
    put(spool, &first, "one");
    put(spool, &part, "one");
    put(spool, &part_of_part, "one");
    put(spool, &alone, "two");
    put(spool, &others, "three");
    reader = open_spool(false);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(spool_list(i == 0 ? reader : spool, &list, &err), SPOOL_OK);
        assert_int_equal(list.count, 3);
        assert_int_equal(list.items[0].name.number, 1);
        assert_int_equal(list.items[1].name.number, 5);
        assert_int_equal(list.items[2].name.number, 6);
        spool_list_finish(&list);
        /* Only who has the spool removes something. */
        assert_int_equal(is_there("spool/0000000000000003+0000000000000001-a.batch"), i == 0);
        assert_int_equal(is_there("spool/0000000000000004+0000000000000003-a.batch"), i == 0);
    }
    assert_true(is_there("spool/0000000000000005+0000000000000002-a.batch"));
    spool_close(reader);
    spool_close(spool);
}

static void what_is_listed_and_taken_is_what_was_written(void **state)
{
    struct spool *spool = open_spool(true);
    struct spool_held held;
    struct batch_head head;
    struct spool_list list;
    struct err err = {""};

    (void)state;
    put(spool, &second, "two");
    put(spool, &first, "one");
    assert_int_equal(spool_list(spool, &list, &err), SPOOL_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name.exporter, "a");
    assert_int_equal(spool_read_head(spool, &list.items[1].name, &head, &err), SPOOL_OK);
    assert_int_equal(head.start_ns, 5);
    assert_int_equal(spool_take(spool, &list.items[1].name, true, &held, &err), SPOOL_OK);
    assert_string_equal(held.batch->profiles[0].service, "two");
    spool_let_go(&held);
    assert_int_equal(spool_remove(spool, &first, &err), SPOOL_OK);
    assert_int_equal(spool_remove(spool, &first, &err), SPOOL_OK); /* it is gone, as it is to be */
    assert_int_equal(spool_take(spool, &first, true, &held, &err), SPOOL_GONE);
    spool_list_finish(&list);
    spool_close(spool);
}

static void one_that_is_being_sent_is_nobody_elses(void **state)
{
    struct spool *spool = open_spool(true), *other = open_spool(false);
    struct spool_held held, again;
    struct err err = {""};

    (void)state;
    put(spool, &first, "one");
    assert_int_equal(spool_take(spool, &first, true, &held, &err), SPOOL_OK);
    assert_int_equal(spool_take(other, &first, true, &again, &err), SPOOL_BUSY);
    assert_int_equal(spool_take(other, &first, false, &again, &err), SPOOL_OK); /* to look at it */
    spool_let_go(&again);
    spool_let_go(&held);
    assert_int_equal(spool_take(other, &first, true, &again, &err), SPOOL_OK);
    spool_let_go(&again);
    spool_close(other);
    spool_close(spool);
}

static void a_spool_belongs_to_one_agent(void **state)
{
    struct spool *spool = open_spool(true), *other = NULL;
    struct err err = {""};

    (void)state;
    assert_int_equal(spool_open(tree_path("spool"), true, &other, &err), SPOOL_LOCKED);
    assert_non_null(strstr(err.text, "another agent uses this spool"));
    spool_unlock(spool);
    other = open_spool(true);
    spool_close(other);
    spool_close(spool);
}

/* An older version locks "lock": while it runs it has the spool, and afterwards never again. */
static void an_older_version_is_kept_out(void **state)
{
    struct spool *spool = NULL;
    struct err err = {""};
    struct stat info;
    int old;

    (void)state;
    assert_int_equal(mkdir(tree_path("spool"), 0700), 0);
    write_bytes("spool/lock", "77\n");
    old = open(tree_path("spool/lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(old, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(spool_open(tree_path("spool"), true, &spool, &err), SPOOL_LOCKED);
    assert_non_null(strstr(err.text, "process 77"));
    (void)close(old);
    spool = open_spool(true);
    spool_close(spool);
    assert_int_equal(stat(tree_path("spool/lock"), &info), 0);
    assert_true(S_ISDIR(info.st_mode)); /* which cannot be opened to be locked */
    spool = open_spool(true);
    spool_close(spool);
}

static void what_is_no_batch_goes_to_bad_and_the_rest_stays(void **state)
{
    struct spool *spool = open_spool(true);
    const struct spool_name third = {.number = 3, .exporter = "a"};
    struct spool_held held;
    struct spool_list list;
    struct err err = {""};

    (void)state;
    write_bytes("spool/0000000000000003-a.batch", "no batch at all, but as long as a head is: "
                                                  "64 bytes and a few more of them");
    assert_int_equal(symlink("/etc/passwd", tree_path("spool/0000000000000004-a.batch")), 0);
    assert_int_equal(mkfifo(tree_path("spool/0000000000000005-a.batch"), 0600), 0);
    write_bytes("spool/notes.txt", "mine");
    write_bytes("spool/.0000000000000009.tmp", "half of something");
    assert_int_equal(spool_list(spool, &list, &err), SPOOL_OK);
    assert_int_equal(list.bad, 2);
    assert_int_equal(list.count, 1);
    assert_int_equal(spool_take(spool, &third, true, &held, &err), SPOOL_CORRUPT);
    spool_set_aside(spool, "0000000000000003-a.batch");
    assert_true(is_there("spool/bad/0000000000000003-a.batch"));
    assert_true(is_there("spool/bad/0000000000000004-a.batch"));
    assert_true(is_there("spool/notes.txt"));
    assert_false(is_there("spool/.0000000000000009.tmp"));
    spool_list_finish(&list);
    spool_close(spool);
}

static void of_what_is_bad_the_last_few_are_kept(void **state)
{
    struct spool *spool = open_spool(true);
    char name[64];

    (void)state;
    for (int i = 1; i <= SPOOL_BAD_MAX + 3; i++) {
        (void)snprintf(name, sizeof(name), "spool/%016x-a.batch", i);
        write_bytes(name, "bad");
        spool_set_aside(spool, name + strlen("spool/"));
    }
    assert_false(is_there("spool/bad/0000000000000003-a.batch"));
    assert_true(is_there("spool/bad/0000000000000004-a.batch"));
    spool_close(spool);
}

static void a_directory_that_others_may_write_into_is_refused(void **state)
{
    struct spool *spool = NULL;
    struct err err = {""};

    (void)state;
    assert_int_equal(mkdir(tree_path("spool"), 0700), 0);
    assert_int_equal(chmod(tree_path("spool"), 0770), 0);
    assert_int_equal(spool_open(tree_path("spool"), true, &spool, &err), SPOOL_FAILED);
    assert_non_null(strstr(err.text, "chmod 700"));
}

static void must_be_refused(const char *why)
{
    struct spool *spool = NULL;
    struct err err = {""};

    assert_int_equal(spool_open(tree_path("spool"), true, &spool, &err), SPOOL_FAILED);
    if (!strstr(err.text, why))
        fail_msg("%s", err.text);
}

/* Who writes "spool.lock" could have put it there as a second name of any file. */
static void a_lock_file_that_is_another_file_is_not_written_to(void **state)
{
    struct stat info;

    (void)state;
    assert_int_equal(mkdir(tree_path("spool"), 0700), 0);
    write_bytes("precious", "do not lose this");
    assert_int_equal(link(tree_path("precious"), tree_path("spool/spool.lock")), 0);
    must_be_refused("spool.lock: is not a regular file, or has a second name");
    assert_int_equal(stat(tree_path("precious"), &info), 0);
    assert_int_equal(info.st_size, strlen("do not lose this"));
}

/* Whoever owns it can put batches there, which we would send, and take others away. */
static void root_refuses_one_of_another_user(void **state)
{
    enum { OWNER = 65533 };

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(tree_path("spool"), 0700), 0);
    assert_int_equal(chown(tree_path("spool"), OWNER, OWNER), 0);
    must_be_refused("belongs to user 65533");
    spool_close(open_spool(false)); /* `pystrobe spool ls` may look into the service's */
    assert_int_equal(rmdir(tree_path("spool")), 0);

    tree_directory("roots");
    tree_link("spool", "roots");
    assert_int_equal(lchown(tree_path("spool"), OWNER, OWNER), 0);
    must_be_refused("spool is a symbolic link of user 65533");
    assert_false(is_there("roots/spool.lock"));
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_as_they_were_written_and_no_others),
        IN_TREE(parts_of_a_batch_that_is_there_as_a_whole_go),
        IN_TREE(what_is_listed_and_taken_is_what_was_written),
        IN_TREE(one_that_is_being_sent_is_nobody_elses),
        IN_TREE(a_spool_belongs_to_one_agent),
        IN_TREE(an_older_version_is_kept_out),
        IN_TREE(what_is_no_batch_goes_to_bad_and_the_rest_stays),
        IN_TREE(of_what_is_bad_the_last_few_are_kept),
        IN_TREE(a_directory_that_others_may_write_into_is_refused),
        IN_TREE(a_lock_file_that_is_another_file_is_not_written_to),
        IN_TREE(root_refuses_one_of_another_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

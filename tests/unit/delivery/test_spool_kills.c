/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spool_kills.c - a writer that is killed at any of its system calls leaves whole files
 * only.
 *
 * The writer is a child that is traced and killed at the n-th stop: before a call, or after it.
 */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "agent/delivery/spool.h"
#include "tests/unit/batch_of_one.h"
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

enum {
    STOPS_MAX = 1000, /* of a writer that comes to no end */
    DONE = 42,        /* the status of a child that has done all */
    UNTRACED = 43
};

/* What is done with a file; true: it was. */
typedef bool deed(struct spool *spool, struct err *err);

static const struct spool_name before = {.number = 1, .exporter = "a"},
                               written = {.number = 2, .exporter = "a"};

static struct batch *example(void)
{
    const struct exporter_profile profile = {
        .service = "shop", .type = "cpu", .bytes = "payload", .size = 7};
    struct batch *batch = batch_of_one(EXPORTER_PER_TYPE, &profile);

    assert_non_null(batch);
    return batch;
}

static bool write_batch(struct spool *spool, struct err *err)
{
    struct batch *batch = example();
    uint64_t size;
    bool good = spool_write(spool, &written, batch, &size, err) == SPOOL_OK;

    batch_unref(batch);
    return good;
}

static bool remove_batch(struct spool *spool, struct err *err)
{
    return spool_remove(spool, &before, err) == SPOOL_OK && spool_sync(spool, err) == SPOOL_OK;
}

static bool set_aside(struct spool *spool, struct err *err)
{
    char text[SPOOL_FILE_NAME_SIZE];

    (void)err;
    spool_file_name(&before, text);
    spool_set_aside(spool, text);
    return true;
}

static struct spool *open_spool(void)
{
    struct spool *spool = NULL;
    struct err err = {""};

    if (spool_open(tree_path("spool"), true, &spool, &err) != SPOOL_OK)
        fail_msg("%s", err.text);
    return spool;
}

/* A spool with file 1 in it. */
static void fill(void)
{
    struct batch *batch = example();
    struct spool *spool;
    struct err err;
    uint64_t size;

    (void)nftw(tree_path("spool"), tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    spool = open_spool();
    assert_int_equal(spool_write(spool, &before, batch, &size, &err), SPOOL_OK);
    spool_close(spool);
    batch_unref(batch);
}

/* The child: waits for its tracer, does it, and ends. It must not come back to cmocka. */
static void act(struct spool *spool, deed *do_it)
{
    struct err err;

    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(UNTRACED);
    (void)raise(SIGSTOP);
    _exit(do_it(spool, &err) ? DONE : 1);
}

/* Lets a child act until its n-th stop, and kills it there. True: it had so many. */
static bool kill_at(deed *do_it, unsigned stops)
{
    struct spool *spool = open_spool();
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0)
        act(spool, do_it);
    spool_close(spool); /* the child has the lock */
    for (unsigned i = 0; waitpid(child, &status, 0) == child && WIFSTOPPED(status) && i < stops;
         i++)
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == UNTRACED)
        skip(); /* where nobody may trace his children */
    if (WIFEXITED(status)) {
        assert_int_equal(WEXITSTATUS(status), DONE);
        return false;
    }
    assert_true(WIFSTOPPED(status));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    return true;
}

static bool is_whole(struct spool *spool, const struct spool_name *name)
{
    struct spool_held held;
    struct err err;

    if (spool_take(spool, name, true, &held, &err) != SPOOL_OK)
        return false;
    spool_let_go(&held);
    return true;
}

/* Names in a directory of the spool that begin with a dot: what is half written. */
static size_t count_hidden(void)
{
    DIR *dir = opendir(tree_path("spool"));
    const struct dirent *item;
    size_t count = 0;

    assert_non_null(dir);
    while ((item = readdir(dir)))
        count += item->d_name[0] == '.' ? 1 : 0;
    (void)closedir(dir);
    return count - 2; /* itself and the one above */
}

/* What the next agent finds: files that are whole, nothing bad, and nothing half written. */
static struct spool_list find_whole(void)
{
    struct spool *spool = open_spool();
    struct spool_list found;
    struct err err;

    assert_int_equal(spool_list(spool, &found, &err), SPOOL_OK);
    assert_int_equal(found.bad, 0);
    assert_int_equal(count_hidden(), 0);
    for (size_t i = 0; i < found.count; i++)
        assert_true(is_whole(spool, &found.items[i].name));
    spool_close(spool);
    return found;
}

static void is_whole_or_absent_when_its_writer_is_killed(void **state)
{
    unsigned stops = 0, absent = 0, present = 0;
    bool killed = true;

    (void)state;
    for (; killed && stops < STOPS_MAX; stops++) {
        struct spool_list found;

        fill();
        killed = kill_at(write_batch, stops);
        found = find_whole();
        assert_in_range(found.count, 1, 2); /* the one before stays in any case */
        assert_int_equal(found.items[0].name.number, 1);
        assert_true(found.count == 2 || present == 0); /* once it is there, it stays */
        absent += found.count == 1 ? 1 : 0;
        present += found.count == 2 ? 1 : 0;
        spool_list_finish(&found);
    }
    assert_false(killed);
    assert_true(absent > 2 && present > 2); /* it was killed before and after */
}

/* The file is there, and then it is gone. */
static void assert_goes(deed *do_it)
{
    unsigned stops = 0, there = 0, gone = 0;
    bool killed = true;

    for (; killed && stops < STOPS_MAX; stops++) {
        struct spool_list found;

        fill();
        killed = kill_at(do_it, stops);
        found = find_whole();
        assert_true(found.count == 0 || gone == 0);
        there += found.count == 1 ? 1 : 0;
        gone += found.count == 0 ? 1 : 0;
        spool_list_finish(&found);
    }
    assert_false(killed);
    assert_true(there > 1 && gone > 1);
}

static void is_there_or_gone_when_it_is_being_removed(void **state)
{
    (void)state;
    assert_goes(remove_batch);
}

static void is_there_or_aside_when_it_is_being_set_aside(void **state)
{
    (void)state;
    assert_goes(set_aside);
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_TREE(is_whole_or_absent_when_its_writer_is_killed),
        IN_TREE(is_there_or_gone_when_it_is_being_removed),
        IN_TREE(is_there_or_aside_when_it_is_being_set_aside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_proc_reader.c - files of processes come through a child; one that does not answer is
 * killed, and its owner's processes are left alone for a while. The child is this program again.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/discover/proc_reader.h"
#include "agent/host/clock.h"
#include "base/proc_stat.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

static char *own_path; /* CHILD_PROCESS_SELF is valgrind itself below it */
static char answer[PROC_READER_FILE_MAX + 1];

static struct proc_reader *new_reader(const char *mode)
{
    assert_int_equal(setenv("ASAN_OPTIONS", mode, 1), 0); /* what a child is given of ours */
    return proc_reader_new(own_path);
}

/* Of another process: what valgrind shows of its own is made up. */
static void reads_what_the_file_has(void **state)
{
    static const enum proc_reader_file files[] = {PROC_READER_CMDLINE, PROC_READER_ENVIRON,
                                                  PROC_READER_MOUNTINFO};
    struct proc_reader *reader = new_reader("");
    static char here[PROC_READER_FILE_MAX + 1];
    const pid_t pid = fork();
    size_t size, here_size;

    (void)state;
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(pid > 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        assert_int_equal(proc_reader_file(reader, pid, files[i], answer, sizeof(answer), &size),
                         PROC_READER_OK);
        assert_int_equal(proc_reader_file(NULL, pid, files[i], here, sizeof(here), &here_size),
                         PROC_READER_OK);
        assert_true(size > 0);
        assert_int_equal(size, here_size);
        assert_memory_equal(answer, here, size + 1);
    }
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    proc_reader_free(reader);
}

static void cuts_what_is_longer_than_asked_for(void **state)
{
    struct proc_reader *reader = new_reader("");
    char few[4] = "old";
    size_t size;

    (void)state;
    assert_int_equal(
        proc_reader_file(reader, getpid(), PROC_READER_ENVIRON, few, sizeof(few), &size),
        PROC_READER_OK);

    assert_int_equal(size, 3);
    assert_int_equal(few[3], 0);
    proc_reader_free(reader);
}

static void tells_a_process_that_is_not_there(void **state)
{
    struct proc_reader *reader = new_reader("");
    size_t size = 1;

    (void)state;
    assert_int_equal(
        proc_reader_file(reader, 1 << 29, PROC_READER_CMDLINE, answer, sizeof(answer), &size),
        PROC_READER_FAILED);

    assert_int_equal(size, 0);
    proc_reader_free(reader);
}

/* To read the memory of a Python takes milliseconds, so a host full of titles does not get it all.
 */
static void reads_the_memory_of_some_pythons_only(void **state)
{
    struct proc_reader *reader = new_reader("");
    enum proc_reader_rc rc = PROC_READER_FAILED;
    unsigned asked = 0;
    size_t size;

    (void)state;
    for (; rc == PROC_READER_FAILED && asked < 100000; asked++)
        rc = proc_reader_file(reader, 1 << 29, PROC_READER_PYTHON, answer, sizeof(answer), &size);
    assert_int_equal(rc, PROC_READER_UNKNOWN);
    assert_true(asked > 256);
    assert_int_equal(
        proc_reader_file(reader, 1 << 29, PROC_READER_CMDLINE, answer, sizeof(answer), &size),
        PROC_READER_FAILED);
    proc_reader_free(reader);
}

static void knows_users_by_name_and_number(void **state)
{
    struct proc_reader *reader = new_reader("");
    char name[PROC_READER_USER_MAX];
    uid_t uid = 1;

    (void)state;
    assert_int_equal(proc_reader_user_name(reader, 0, name), PROC_READER_OK);
    assert_int_equal(proc_reader_user_id(reader, name, &uid), PROC_READER_OK);

    assert_string_equal(name, "root");
    assert_int_equal(uid, 0);
    assert_int_equal(proc_reader_user_id(reader, "no such user", &uid), PROC_READER_FAILED);
    proc_reader_free(reader);
}

/* Reads from a child that sleeps and does not answer. */
static uint64_t read_blocked(struct proc_reader *reader)
{
    uint64_t start_ns = clock_mono_ns();
    size_t size;

    assert_int_equal(
        proc_reader_file(reader, getpid(), PROC_READER_CMDLINE, answer, sizeof(answer), &size),
        PROC_READER_UNKNOWN);
    return clock_mono_ns() - start_ns;
}

static void leaves_an_owner_alone_that_blocks_several(void **state)
{
    struct proc_reader *reader = new_reader("sleep=1");

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(read_blocked(reader) >= 100 * NS_PER_MS);

    assert_true(read_blocked(reader) < 100 * NS_PER_MS); /* it was not tried */
    proc_reader_free(reader);
}

static void note_pid(void *ctx, pid_t pid)
{
    pid_t *seen = ctx;

    *seen = pid;
}

static pid_t blocker_of(struct proc_reader *reader)
{
    pid_t seen = 0;

    proc_reader_each_blocker(reader, note_pid, &seen);
    return seen;
}

static void names_the_process_that_blocks_it(void **state)
{
    struct proc_reader *reader = new_reader("sleep=1");
    size_t size;

    (void)state;
    assert_int_equal(blocker_of(reader), 0);
    (void)read_blocked(reader);
    assert_int_equal(blocker_of(reader), getpid());

    assert_int_equal(setenv("ASAN_OPTIONS", "", 1), 0); /* for the next child */
    assert_int_equal(
        proc_reader_file(reader, getpid(), PROC_READER_CMDLINE, answer, sizeof(answer), &size),
        PROC_READER_OK);
    assert_int_equal(blocker_of(reader), 0);
    proc_reader_free(reader);
}

static void names_no_process_that_has_ended(void **state)
{
    struct proc_reader *reader = new_reader("sleep=1");
    pid_t pid = fork();
    size_t size;

    (void)state;
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_int_equal(
        proc_reader_file(reader, pid, PROC_READER_CMDLINE, answer, sizeof(answer), &size),
        PROC_READER_UNKNOWN);
    assert_int_equal(blocker_of(reader), pid);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);

    assert_int_equal(blocker_of(reader), 0);
    proc_reader_free(reader);
}

static void asks_no_directory_that_does_not_answer_twice(void **state)
{
    struct proc_reader *reader = new_reader("sleep=1");
    char name[PROC_READER_USER_MAX];
    uint64_t start_ns;

    (void)state;
    assert_int_equal(proc_reader_user_name(reader, 0, name), PROC_READER_UNKNOWN);
    start_ns = clock_mono_ns();
    assert_int_equal(proc_reader_user_name(reader, 0, name), PROC_READER_UNKNOWN);

    assert_true(clock_mono_ns() - start_ns < NS_PER_S / 2);
    proc_reader_free(reader);
}

static void goes_on_with_another_child_when_one_has_ended(void **state)
{
    struct proc_reader *reader = new_reader("exit=1");
    size_t size;

    (void)state;
    assert_int_equal(
        proc_reader_file(reader, getpid(), PROC_READER_CMDLINE, answer, sizeof(answer), &size),
        PROC_READER_UNKNOWN);
    assert_int_equal(setenv("ASAN_OPTIONS", "", 1), 0);
    (void)usleep(1100000); /* the pause before the next */

    assert_int_equal(
        proc_reader_file(reader, getpid(), PROC_READER_CMDLINE, answer, sizeof(answer), &size),
        PROC_READER_OK);
    proc_reader_free(reader);
}

static int be_child(void)
{
    const char *mode = getenv("ASAN_OPTIONS");

    if (mode && strstr(mode, "exit"))
        return 0;
    while (mode && strstr(mode, "sleep"))
        (void)pause();
    proc_reader_serve();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_the_file_has),
        cmocka_unit_test(cuts_what_is_longer_than_asked_for),
        cmocka_unit_test(tells_a_process_that_is_not_there),
        cmocka_unit_test(reads_the_memory_of_some_pythons_only),
        cmocka_unit_test(knows_users_by_name_and_number),
        cmocka_unit_test(leaves_an_owner_alone_that_blocks_several),
        cmocka_unit_test(names_the_process_that_blocks_it),
        cmocka_unit_test(names_no_process_that_has_ended),
        cmocka_unit_test(asks_no_directory_that_does_not_answer_twice),
        cmocka_unit_test(goes_on_with_another_child_when_one_has_ended),
    };
    int status;

    (void)argv;
    if (argc > 1)
        return be_child();
    own_path = realpath(CHILD_PROCESS_SELF, NULL);
    status = cmocka_run_group_tests(tests, NULL, NULL);
    free(own_path);
    return status;
}

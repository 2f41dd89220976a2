/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_proc_file.c - files of /proc are read whole or line by line, and a process that is gone is
 * told from an error of our own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc_file.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

/* The number of a process that has ended. */
static pid_t pid_of_none(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

static void reads_a_file_whole(void **state)
{
    char text[4096], own[32];
    size_t size = 0;

    (void)state;
    assert_int_equal(proc_file_read(text, sizeof(text), &size, "/proc/%d/stat", (int)getpid()),
                     PROC_OK);
    assert_int_equal(size, strlen(text));
    assert_int_equal(text[size - 1], '\n');
    (void)snprintf(own, sizeof(own), "%d (", (int)getpid());
    assert_memory_equal(text, own, strlen(own));
}

static void reads_as_much_as_there_is_room_for(void **state)
{
    char text[5] = "xxxx";
    size_t size = 0;

    (void)state;
    assert_int_equal(proc_file_read(text, sizeof(text), &size, "/proc/self/stat"), PROC_OK);
    assert_int_equal(size, 4);
    assert_int_equal(text[4], '\0');
}

static void tells_a_process_that_is_gone_from_an_error_of_our_own(void **state)
{
    const pid_t none = pid_of_none();
    struct rlimit before;
    enum proc_rc gone, failed;
    char text[16] = "x";
    size_t size = 7;

    (void)state;
    gone = proc_file_read(text, sizeof(text), &size, "/proc/%d/stat", (int)none);
    assert_int_equal(gone, PROC_GONE);
    assert_string_equal(text, "");
    assert_int_equal(size, 0);

    before = descriptors_forbid();
    failed = proc_file_read(text, sizeof(text), &size, "/proc/self/stat");
    descriptors_allow(before);
    assert_int_equal(failed, PROC_FAILED);
}

/* As a user who may not; 0: it was told so. */
static int read_as_nobody(const char *path)
{
    char text[16];

    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        return 2;
    return proc_file_read(text, sizeof(text), NULL, "%s", path) == PROC_DENIED ? 0 : 1;
}

static void tells_what_is_not_allowed(void **state)
{
    char path[128];
    int fd, status;
    pid_t pid;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/secret", tree);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0);
    assert_true(fd >= 0);
    (void)close(fd);
    pid = fork();
    if (pid == 0)
        _exit(read_as_nobody(path));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void has_a_result_for_each_errno(void **state)
{
    (void)state;
    assert_int_equal(proc_rc_of_errno(ENOENT), PROC_GONE);
    assert_int_equal(proc_rc_of_errno(ESRCH), PROC_GONE);
    assert_int_equal(proc_rc_of_errno(EACCES), PROC_DENIED);
    assert_int_equal(proc_rc_of_errno(EPERM), PROC_DENIED);
    assert_int_equal(proc_rc_of_errno(EMFILE), PROC_FAILED);
    assert_int_equal(proc_rc_of_errno(ENFILE), PROC_FAILED);
    assert_int_equal(proc_rc_of_errno(ENOMEM), PROC_FAILED);
}

static void opens_no_path_that_is_cut(void **state)
{
    char name[300];

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(proc_file_open(AT_FDCWD, "/proc/%s", name), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

static void leaves_no_file_to_programs_that_are_started(void **state)
{
    int fd = proc_file_open(AT_FDCWD, "/proc/%d/stat", 1); /* qemu makes up our own */

    (void)state;
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    (void)close(fd);
}

static void reads_an_open_file_again(void **state)
{
    int fd = proc_file_open(AT_FDCWD, "/proc/self/stat");
    char first[1024], again[1024];

    (void)state;
    assert_int_equal(proc_file_reread(fd, first, sizeof(first)), PROC_OK);
    assert_int_equal(proc_file_reread(fd, again, sizeof(again)), PROC_OK);
    assert_memory_equal(first, again, 8);
    assert_true(strlen(first) > 8);
    (void)close(fd);
    assert_int_equal(proc_file_reread(-1, again, sizeof(again)), PROC_FAILED);
    assert_string_equal(again, "");
}

/* The lines that were handed over. */
struct lines {
    size_t count, max; /* so far; so many are wanted */
    size_t sizes;      /* sum */
    char first[32], last[32];
};

static bool note_line(void *ctx, char *line)
{
    struct lines *lines = ctx;

    if (lines->count++ == 0)
        (void)snprintf(lines->first, sizeof(lines->first), "%.31s", line);
    (void)snprintf(lines->last, sizeof(lines->last), "%.31s", line);
    lines->sizes += strlen(line);
    return lines->count < lines->max;
}

/* The lines of a file with these bytes, `times` times. */
static struct lines lines_of(const char *bytes, size_t times, size_t max)
{
    struct lines lines = {.max = max};
    int fd = memfd_create("lines", MFD_CLOEXEC);
    size_t i;

    assert_true(fd >= 0);
    for (i = 0; i < times; i++)
        assert_int_equal(write(fd, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(proc_file_lines(fd, note_line, &lines), PROC_OK);
    (void)close(fd);
    return lines;
}

static void hands_over_each_line(void **state)
{
    struct lines lines = lines_of("one\n\ntwo\n", 1, SIZE_MAX);

    (void)state;
    assert_int_equal(lines.count, 3);
    assert_string_equal(lines.first, "one");
    assert_string_equal(lines.last, "two");
    assert_int_equal(lines_of("", 1, SIZE_MAX).count, 0);
    lines = lines_of("one\ntwo", 1, SIZE_MAX);
    assert_int_equal(lines.count, 2);
    assert_string_equal(lines.last, "two");
}

static void stops_when_it_is_told(void **state)
{
    struct lines lines = lines_of("one\ntwo\n", 50000, 5);

    (void)state;
    assert_int_equal(lines.count, 5);
    assert_string_equal(lines.last, "one");
}

static void reads_a_long_file_in_little_memory(void **state)
{
    struct lines lines =
        lines_of("7f1c8a200000-7f1c8a2ff000 r-xp 00028000 fe:101 1311 /a\n", 100000, SIZE_MAX);

    (void)state;
    assert_int_equal(lines.count, 100000);
    assert_int_equal(lines.sizes, 100000 * 54);
}

static void cuts_a_line_that_is_too_long(void **state)
{
    static char bytes[3 * PROC_FILE_LINE_MAX];
    static const size_t sizes[] = {PROC_FILE_LINE_MAX - 1, PROC_FILE_LINE_MAX,
                                   PROC_FILE_LINE_MAX + 1, 2 * PROC_FILE_LINE_MAX,
                                   2 * PROC_FILE_LINE_MAX + 1};
    struct lines lines;
    size_t i, kept;

    (void)state;
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(bytes, 'x', sizes[i]);
        (void)snprintf(bytes + sizes[i], sizeof(bytes) - sizes[i], "\nend\n");
        lines = lines_of(bytes, 1, SIZE_MAX);
        kept = sizes[i] < PROC_FILE_LINE_MAX ? sizes[i] : PROC_FILE_LINE_MAX;
        assert_int_equal(lines.count, 2);
        assert_string_equal(lines.last, "end");
        assert_int_equal(lines.sizes, kept + 3);
    }
}

static void says_why_lines_cannot_be_read(void **state)
{
    struct lines lines = {.max = SIZE_MAX};
    int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    assert_int_equal(proc_file_lines(fd, note_line, &lines), PROC_FAILED);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(lines.count, 0);
    (void)close(fd);
}

/* The ids that were handed over. */
struct ids {
    size_t count, max;
    pid_t wanted;
    bool found;
};

static bool note_id(void *ctx, pid_t id, uint64_t inode)
{
    struct ids *ids = ctx;

    assert_true(id > 0 && inode != 0);
    ids->found |= id == ids->wanted;
    return ++ids->count < ids->max;
}

static void lists_the_numbers_in_a_directory(void **state)
{
    struct ids ids = {.max = SIZE_MAX, .wanted = (pid_t)syscall(SYS_gettid)};

    (void)state;
    assert_int_equal(proc_file_each_id(proc_file_open(AT_FDCWD, "/proc/self/task"), note_id, &ids),
                     PROC_OK);
    assert_true(ids.count >= 1); /* qemu has a thread of its own */
    assert_true(ids.found);

    ids = (struct ids){.max = SIZE_MAX, .wanted = getpid()};
    assert_int_equal(proc_file_each_id(proc_file_open(AT_FDCWD, "/proc"), note_id, &ids), PROC_OK);
    assert_true(ids.found);

    ids = (struct ids){.max = 1};
    assert_int_equal(proc_file_each_id(proc_file_open(AT_FDCWD, "/proc"), note_id, &ids), PROC_OK);
    assert_int_equal(ids.count, 1);
}

static void says_why_there_is_no_list(void **state)
{
    struct ids ids = {.max = SIZE_MAX};
    struct rlimit before;
    enum proc_rc rc;

    (void)state;
    rc = proc_file_each_id(proc_file_open(AT_FDCWD, "/proc/%d/task", (int)pid_of_none()), note_id,
                           &ids);
    assert_int_equal(rc, PROC_GONE);
    before = descriptors_forbid();
    rc = proc_file_each_id(proc_file_open(AT_FDCWD, "/proc/self/task"), note_id, &ids);
    descriptors_allow(before);
    assert_int_equal(rc, PROC_FAILED);
    rc = proc_file_each_id(proc_file_open(AT_FDCWD, "/proc/self/stat"), note_id, &ids);
    assert_int_equal(rc, PROC_FAILED);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(ids.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_file_whole),
        cmocka_unit_test(reads_as_much_as_there_is_room_for),
        cmocka_unit_test(tells_a_process_that_is_gone_from_an_error_of_our_own),
        cmocka_unit_test(tells_what_is_not_allowed),
        cmocka_unit_test(has_a_result_for_each_errno),
        cmocka_unit_test(opens_no_path_that_is_cut),
        cmocka_unit_test(leaves_no_file_to_programs_that_are_started),
        cmocka_unit_test(reads_an_open_file_again),
        cmocka_unit_test(hands_over_each_line),
        cmocka_unit_test(stops_when_it_is_told),
        cmocka_unit_test(reads_a_long_file_in_little_memory),
        cmocka_unit_test(cuts_a_line_that_is_too_long),
        cmocka_unit_test(says_why_lines_cannot_be_read),
        cmocka_unit_test(lists_the_numbers_in_a_directory),
        cmocka_unit_test(says_why_there_is_no_list),
    };

    return cmocka_run_group_tests(tests, tree_make, tree_remove);
}

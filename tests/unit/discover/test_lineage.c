/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lineage.c - a process is named once it runs the program that is to name it. The Python is
 * this program again, from a file of that name.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/discover/lineage.h"
#include "base/buf.h"
#include "base/file.h"
#include "tests/unit/unit_test.h"

enum { PROGRAM_MAX = 64 << 20 };

/* Gives a copy of this program in memory, by the path x/python3. */
static int copy_program(void)
{
    int fd = memfd_create("x/python3", MFD_CLOEXEC),
        own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct buf bytes;

    buf_init(&bytes, PROGRAM_MAX);
    assert_true(fd >= 0);
    assert_true(file_read_all(own, &bytes));
    assert_int_equal(write(fd, bytes.data, bytes.size), bytes.size);
    buf_finish(&bytes);
    (void)close(own);
    return fd;
}

/* As that Python. */
_Noreturn static void be_python(void)
{
    (void)!write(STDOUT_FILENO, "up", 2);
    for (;;)
        (void)pause();
}

/* Starts it; 0: it cannot do what it is to. */
static pid_t start_python(char *const *argv)
{
    char *environment[] = {(char[]){"BE_PYTHON=1"}, NULL};
    int program = copy_program(), ends[2];
    char said[2];
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)fexecve(program, argv, environment);
        _exit(1);
    }
    (void)close(ends[1]);
    got = read(ends[0], said, sizeof(said));
    (void)close(ends[0]);
    (void)close(program);
    if (got == 2)
        return pid;
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return 0;
}

/* lineage_name of such a Python. */
static bool name_python(char *const *argv, char *out, size_t size)
{
    struct proc_info *info = proc_info_new();
    pid_t pid = start_python(argv);
    bool known;

    assert_non_null(info);
    if (pid == 0) {
        proc_info_free(info);
        skip(); /* valgrind has this program run elsewhere */
    }
    known = lineage_name(info, pid, getpid(), out, size);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    proc_info_free(info);
    return known;
}

static void a_python_has_the_name_of_what_it_runs(void **state)
{
    char name[64] = "", *argv[] = {(char[]){"python3"}, (char[]){"shop.py"}, NULL};

    (void)state;
    assert_true(name_python(argv, name, sizeof(name)));
    assert_string_equal(name, "shop");
}

/* So is one that the kernel has just given a new program, and not yet its arguments. */
static void one_without_arguments_is_not_named(void **state)
{
    char name[64] = "", *argv[] = {(char[]){""}, NULL};

    (void)state;
    assert_false(name_python(argv, name, sizeof(name)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_python_has_the_name_of_what_it_runs),
        cmocka_unit_test(one_without_arguments_is_not_named),
    };

    if (getenv("BE_PYTHON"))
        be_python();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

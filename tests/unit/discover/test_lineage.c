/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lineage.c - a process is named once it runs the program that is to name it. The Python is
 * this program again, from a file of that name.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
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

/* Takes the page that has the arguments away, and tells that it has. */
static void *drop_arguments(void *arguments)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    if (munmap((void *)((uintptr_t)arguments & ~(page - 1)), page) == 0)
        (void)!write(STDOUT_FILENO, "up", 2);
    return NULL;
}

/* As that Python; `bare`: it has no arguments, as a process that the kernel has just given a new
 * program, and not yet its arguments. */
static int be_python(char **argv)
{
    pthread_t thread; /* with a stack of its own: this one is not touched any more */

    if (strcmp(argv[1], "bare") != 0)
        (void)!write(STDOUT_FILENO, "up", 2);
    else if (pthread_create(&thread, NULL, drop_arguments, argv[0]) != 0)
        return 1;
    for (;;)
        (void)pause();
}

/* Starts it; 0: it cannot do what it is to. */
static pid_t start_python(const char *how)
{
    char *argv[] = {(char[]){"python3"}, (char *)(uintptr_t)how, (char[]){"shop.py"}, NULL};
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
        (void)fexecve(program, argv, environ);
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
static bool name_python(const char *how, char *out, size_t size)
{
    struct proc_info *info = proc_info_new();
    pid_t pid = start_python(how);
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
    char name[64] = "";

    (void)state;
    assert_true(name_python("full", name, sizeof(name)));
    assert_string_equal(name, "full");
}

static void one_that_is_just_started_is_not_named_yet(void **state)
{
    char name[64] = "";

    (void)state;
    assert_false(name_python("bare", name, sizeof(name)));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_python_has_the_name_of_what_it_runs),
        cmocka_unit_test(one_that_is_just_started_is_not_named_yet),
    };

    return argc > 2 ? be_python(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_call_filter.c - which system calls a process that reads targets is left. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/child/call_filter.h"
#include "tests/unit/unit_test.h"
#include "unwind/cpy.h"

enum { NO_FILTER = 99 };

/* Runs `run` in a child with a filter; gives what it gave, or 128 + the signal that ended it. */
static int run_filtered(int (*run)(void))
{
    const char *preloaded = getenv("LD_PRELOAD");
    pid_t pid;
    int status;

    if (preloaded && strstr(preloaded, "vgpreload"))
        skip(); /* whose own calls it would filter, too */
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(call_filter_install(cpy_open_how()) ? run() : NO_FILTER);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (status == NO_FILTER)
        skip(); /* an instrumented build, or a kernel without */
    return status;
}

struct call {
    long number, arguments[4];
    int cause;
};

/* Gives the number, from 1, of the first call that does not fail as it is to; 0: all do. */
static int make_calls(const struct call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const long *of = calls[i].arguments;

        errno = 0;
        if (syscall(calls[i].number, of[0], of[1], of[2], of[3]) != -1 || errno != calls[i].cause)
            return (int)i + 1;
    }
    return 0;
}

static long address(const void *pointer)
{
    return (long)(uintptr_t)pointer;
}

static int make_foreign_calls(void)
{
    static const char *const argv[] = {"true", NULL};
    const pid_t parent = getppid();
    const struct call calls[] = {
        {SYS_execve, {address("/bin/true"), address(argv)}, ENOSYS},
        {SYS_execveat, {AT_FDCWD, address("/bin/true"), address(argv)}, ENOSYS},
        {SYS_socket, {AF_INET, SOCK_STREAM}, ENOSYS},
        {SYS_connect, {3}, ENOSYS},
        {SYS_bind, {3}, ENOSYS},
        {SYS_ptrace, {PTRACE_SEIZE, parent}, ENOSYS},
        {SYS_process_vm_writev, {parent}, ENOSYS},
        {SYS_clone, {SIGCHLD}, ENOSYS},
        {SYS_mount, {0}, ENOSYS},
        {SYS_unlinkat, {AT_FDCWD, address("/none")}, ENOSYS},
        {SYS_renameat, {AT_FDCWD, address("/none"), AT_FDCWD, address("/other")}, ENOSYS},
        {SYS_mprotect, {0, 4096, PROT_READ | PROT_EXEC}, ENOSYS},
        {SYS_setuid, {0}, ENOSYS},
        {SYS_unshare, {CLONE_NEWUSER}, ENOSYS},
        {SYS_prctl, {0}, ENOSYS},
        {SYS_ftruncate, {2, 0}, ENOSYS},
        {SYS_pwrite64, {2, 0, 0, 0}, ENOSYS},
        {SYS_ioctl, {2, 0}, ENOSYS},
        {1L << 20, {0}, ENOSYS}, /* which no kernel has */
    };

    return make_calls(calls, sizeof(calls) / sizeof(calls[0]));
}

static void knows_no_call_that_reading_does_not_take(void **state)
{
    (void)state;
    assert_int_equal(run_filtered(make_foreign_calls), 0);
}

static int make_calls_with_other_arguments(void)
{
    static struct open_how writes = {.flags = O_RDWR};
    const struct rlimit limit = {1, 1};
    const long null = address("/dev/null");
    const pid_t parent = getppid();
    const struct call calls[] = {
        {SYS_openat, {AT_FDCWD, null, O_WRONLY}, EPERM},
        {SYS_openat, {AT_FDCWD, null, O_RDWR}, EPERM},
        {SYS_openat, {AT_FDCWD, address("/tmp/none"), O_CREAT | O_RDONLY, 0600}, EPERM},
        {SYS_openat, {AT_FDCWD, null, O_TRUNC | O_RDONLY}, EPERM},
        {SYS_openat, {AT_FDCWD, address("/tmp"), O_TMPFILE | O_RDWR, 0600}, EPERM},
        {SYS_openat2, {AT_FDCWD, null, address(&writes), sizeof(writes)}, EPERM},
        {SYS_write, {1, null, 1}, EPERM},
        {SYS_fcntl, {0, F_SETOWN, parent}, EPERM},
        {SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS}, EPERM},
        {SYS_mmap, {0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS}, EPERM},
        {SYS_mmap, {0, 4096, PROT_READ, MAP_PRIVATE}, EPERM},
        {SYS_mmap, {4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED}, EPERM},
        {SYS_mmap, {1 << 30, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS}, EPERM},
        {SYS_mremap, {address(cpy_open_how()), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED}, EPERM},
        {SYS_kill, {parent, SIGCONT}, EPERM},
        {SYS_tgkill, {parent, parent, SIGCONT}, EPERM},
        {SYS_prlimit64, {parent, RLIMIT_CORE, address(&limit), 0}, EPERM},
        {SYS_sched_setaffinity, {parent, 0, 0}, EPERM},
        {SYS_bpf, {BPF_PROG_LOAD, 0, 0}, EPERM},
    };

    return make_calls(calls, sizeof(calls) / sizeof(calls[0]));
}

static void allows_no_argument_by_which_more_than_reading_is_done(void **state)
{
    (void)state;
    assert_int_equal(run_filtered(make_calls_with_other_arguments), 0);
}

static int read_a_process(void)
{
    static const char here[] = "text";
    char text[sizeof(here)] = "";
    struct iovec local = {text, sizeof(text)}, remote = {(void *)(uintptr_t)here, sizeof(here)};
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    if (fd < 0 || pread(fd, text, 1, 0) != 1 || close(fd) != 0)
        return 1;
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != sizeof(here) ||
        strcmp(text, here) != 0)
        return 2;
    /* It finds no file below what is no folder, but it looks. */
    if (syscall(SYS_openat2, -1, "/none", cpy_open_how(), sizeof(struct open_how)) >= 0 ||
        errno == EPERM || errno == ENOSYS)
        return 3;
    if (kill(getppid(), 0) != 0 || write(STDERR_FILENO, "", 0) != 0)
        return 4;
    return 0;
}

static void leaves_what_reading_takes(void **state)
{
    (void)state;
    assert_int_equal(run_filtered(read_a_process), 0);
}

static int use_memory(void)
{
    enum { SIZE = 16 << 20 };
    char *some = malloc(SIZE), *more;

    if (!some)
        return 1;
    memset(some, 1, SIZE);
    more = realloc(some, (size_t)SIZE * 2);
    if (!more || more[SIZE - 1] != 1)
        return 2;
    free(more);
    return 0;
}

static void leaves_memory(void **state)
{
    (void)state;
    assert_int_equal(run_filtered(use_memory), 0);
}

static int end_by_abort(void)
{
    (void)signal(SIGABRT, SIG_DFL);
    abort();
}

static void lets_it_abort(void **state)
{
    (void)state;
    assert_int_equal(run_filtered(end_by_abort), 128 + SIGABRT);
}

static void is_told_to_be_possible_where_it_is(void **state)
{
    (void)state;
    (void)run_filtered(read_a_process);
    assert_true(call_filter_is_possible());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_no_call_that_reading_does_not_take),
        cmocka_unit_test(allows_no_argument_by_which_more_than_reading_is_done),
        cmocka_unit_test(leaves_what_reading_takes),
        cmocka_unit_test(leaves_memory),
        cmocka_unit_test(lets_it_abort),
        cmocka_unit_test(is_told_to_be_possible_where_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* run_captured.c - see run_captured.h. */
#include "agent/child/run_captured.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/host/clock.h"

enum { STEP = 65536, LOOK_MS = 200 };

/* Starts the program with its output in `fd`. Gives errno. */
static int spawn_captured(pid_t *pid, const struct run_captured_command *command, int fd)
{
    posix_spawn_file_actions_t files;
    int cause = posix_spawn_file_actions_init(&files);

    if (cause)
        return cause;
    (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO);
    if (command->errors)
        (void)posix_spawn_file_actions_adddup2(&files, fd, STDERR_FILENO);
    else
        (void)posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    cause = child_process_spawn(pid, command->program, command->argv, &files);
    (void)posix_spawn_file_actions_destroy(&files);
    return cause;
}

/* Reads until the other end is closed. False: it took too long, or there is too much. */
static bool read_captured_output(int fd, const struct run_captured_limits *limits, struct buf *out)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    unsigned char bytes[STEP];
    ssize_t got = 1;

    while (got != 0 && !buf_failed(out)) {
        if (clock_mono_ns() >= limits->deadline_ns || atomic_load(limits->stop))
            return false;
        if (poll(&wait, 1, LOOK_MS) <= 0)
            continue;
        got = read(fd, bytes, sizeof(bytes));
        if (got < 0 && errno != EINTR)
            return false;
        if (got > 0)
            buf_add(out, bytes, (size_t)got);
    }
    return !buf_failed(out);
}

/* Of all commands: several threads may run one. */
static _Atomic uint64_t cpu_of_all_ns;

static uint64_t nanoseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_usec * NS_PER_US;
}

/* Waits for the end of a process, and adds up what it took. Gives its status as waitpid does. */
static int reap_captured_child(pid_t pid)
{
    struct rusage used = {0};
    int status = -1;

    while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR) {
    }
    atomic_fetch_add(&cpu_of_all_ns, nanoseconds(&used.ru_utime) + nanoseconds(&used.ru_stime));
    return status;
}

uint64_t run_captured_cpu_ns(void)
{
    return atomic_load(&cpu_of_all_ns);
}

/* Those that run now; 0: a free place. */
static _Atomic pid_t running[RUN_CAPTURED_RUNNING_MAX];

/* Puts `pid` where `old` is, if it is anywhere. */
static void swap_running_pid(pid_t old, pid_t pid)
{
    pid_t expected;
    size_t i;

    for (i = 0; i < RUN_CAPTURED_RUNNING_MAX; i++) {
        expected = old;
        if (atomic_compare_exchange_strong(&running[i], &expected, pid))
            return;
    }
}

size_t run_captured_count(pid_t out[RUN_CAPTURED_RUNNING_MAX])
{
    size_t count = 0, i;
    pid_t pid;

    for (i = 0; i < RUN_CAPTURED_RUNNING_MAX; i++) {
        pid = atomic_load(&running[i]);
        if (pid)
            out[count++] = pid;
    }
    return count;
}

bool run_captured(const struct run_captured_command *command,
                  const struct run_captured_limits *limits, struct buf *out)
{
    int pipes[2], status, cause;
    bool good;
    pid_t pid;

    if (pipe2(pipes, O_CLOEXEC) != 0)
        return false;
    cause = spawn_captured(&pid, command, pipes[1]);
    (void)close(pipes[1]);
    if (cause == 0)
        swap_running_pid(0, pid);
    good = cause == 0 && read_captured_output(pipes[0], limits, out);
    (void)close(pipes[0]);
    if (cause != 0)
        return false;
    if (!good)
        (void)kill(pid, SIGKILL);
    swap_running_pid(pid, 0); /* before its number may be another's */
    status = reap_captured_child(pid);
    return good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

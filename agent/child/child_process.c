/* SPDX-License-Identifier: Apache-2.0 */
/* child_process.c - see child_process.h. */
#include "agent/child/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/proc/proc.h"
#include "base/time_units.h"

/* A read of a target takes microseconds, opening one milliseconds. A sampler that sleeps in one
 * for so long is blocked; one that could run has a limit, too, as it may go round in circles. */
#define BLOCKED_NS (150 * NS_PER_MS)
#define RUNS_NS    (10 * NS_PER_S)
/* The heartbeat of a child that reads nothing counts several times a second. */
#define SILENT_NS (3 * NS_PER_S)

enum { STATUS_RUNS = -1, STATUS_UNKNOWN = -2, REAP_MS = 200, REAP_STEP_NS = NS_PER_MS };

static const char *const passed_variables[] = {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                               "TSAN_OPTIONS", "LSAN_OPTIONS"};

enum { PASSED = sizeof(passed_variables) / sizeof(passed_variables[0]) };

/* What a process of ours needs of our environment, NULL behind it. */
static void take_environment(char *out[PASSED + 1])
{
    size_t i, at, count = 0;

    for (i = 0; environ[i]; i++)
        for (at = 0; at < PASSED && count < PASSED; at++)
            if (strncmp(environ[i], passed_variables[at], strlen(passed_variables[at])) == 0 &&
                environ[i][strlen(passed_variables[at])] == '=')
                out[count++] = environ[i];
    out[count] = NULL;
}

int child_process_spawn(pid_t *pid, const char *program, char *const *argv,
                        const posix_spawn_file_actions_t *files)
{
    char *environment[PASSED + 1];
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int cause;

    take_environment(environment);
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawnattr_init(&attributes);
    /* A group of its own: what the terminal sends is for us. */
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    cause = posix_spawn(pid, program, files, &attributes, argv, environment);
    (void)posix_spawnattr_destroy(&attributes);
    return cause;
}

/* Starts the process: `fds` are its ends of the channel and of the heartbeat. Gives errno. */
static int spawn_with_channels(pid_t *pid, const char *program, char *const *argv, const int fds[2])
{
    posix_spawn_file_actions_t files;
    int cause = posix_spawn_file_actions_init(&files);

    if (cause)
        return cause;
    (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, fds[0], CHILD_PROCESS_CHANNEL_FD);
    (void)posix_spawn_file_actions_adddup2(&files, fds[1], CHILD_PROCESS_HEARTBEAT_FD);
    cause = child_process_spawn(pid, program, argv, &files);
    (void)posix_spawn_file_actions_destroy(&files);
    return cause;
}

/* A copy of a descriptor above those that a child gets, so that none is in another's way. */
static int move_fd_above_child_fds(int fd)
{
    int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, CHILD_PROCESS_HEARTBEAT_FD + 1) : -1;

    if (fd >= 0)
        (void)close(fd);
    return moved;
}

/* Makes the memory that both see. Gives its descriptor; -1: it cannot be had. */
static int share_heartbeat(struct child_process *child)
{
    int fd = move_fd_above_child_fds(memfd_create("pystrobe-beat", MFD_CLOEXEC));
    void *at;

    if (fd < 0 || ftruncate(fd, sizeof(struct heartbeat)) != 0)
        return fd; /* the mapping stays away */
    at = mmap(NULL, sizeof(struct heartbeat), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    child->heartbeat = at == MAP_FAILED ? NULL : at;
    return fd;
}

bool child_process_start(struct child_process *child, const char *program, char *const *argv,
                         uint64_t now_ns, struct err *err)
{
    int pair[2] = {-1, -1}, fds[2], cause;

    *child = (struct child_process){.pidfd = -1, .started_ns = now_ns, .turned_ns = now_ns};
    fds[1] = share_heartbeat(child);
    cause = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 ? 0 : errno;
    fds[0] = move_fd_above_child_fds(pair[1]);
    ipc_channel_init(&child->channel, pair[0]);
    if (cause == 0)
        cause = child->heartbeat && fds[0] >= 0
                    ? spawn_with_channels(&child->pid, program, argv, fds)
                    : EMFILE;
    if (fds[0] >= 0)
        (void)close(fds[0]);
    if (fds[1] >= 0)
        (void)close(fds[1]);
    if (cause == 0) {
        child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
        return true;
    }
    err_set(err, "a helper process cannot be started: %s", strerror(cause));
    child_process_end(child);
    return false;
}

pid_t child_process_reads(const struct child_process *child)
{
    uint64_t since = heartbeat_since(child->heartbeat);

    return since ? atomic_load_explicit(&child->heartbeat->pid, memory_order_relaxed) : 0;
}

/* True if the kernel has put it to sleep, whoever may have done so. */
static char read_child_state(const struct child_process *child)
{
    struct proc_stat stat;

    return proc_read_stat(child->pid, &stat) ? stat.state : 'Z';
}

enum child_process_look child_process_look(struct child_process *child, uint64_t now_ns)
{
    uint64_t since = heartbeat_since(child->heartbeat);
    uint64_t turns = atomic_load_explicit(&child->heartbeat->turns, memory_order_relaxed);
    bool again = since && since == child->blocked_ns;
    char state;

    child->blocked_ns = 0;
    if (turns != child->turns)
        child->turned_ns = now_ns;
    child->turns = turns;
    if (now_ns < since + BLOCKED_NS || (!since && now_ns < child->turned_ns + SILENT_NS))
        return CHILD_PROCESS_WELL;
    state = read_child_state(child);
    if (state == 'Z' || state == 'X')
        return CHILD_PROCESS_WELL; /* it has ended, which its pidfd tells */
    if (state == 'T' || state == 't' || !since)
        return now_ns < child->turned_ns + (state == 'R' ? RUNS_NS : SILENT_NS)
                   ? CHILD_PROCESS_WELL
                   : CHILD_PROCESS_SILENT;
    if (state == 'R')
        return now_ns < since + RUNS_NS ? CHILD_PROCESS_WELL : CHILD_PROCESS_BLOCKED;
    child->blocked_ns = since;
    return again ? CHILD_PROCESS_BLOCKED : CHILD_PROCESS_WELL;
}

/* How it stands with our child of that pid; false: it is none any more, somebody else has reaped
 * it. info->si_pid 0: it runs. */
static bool child_of_ours(const struct child_process *child, siginfo_t *info)
{
    *info = (siginfo_t){0};
    return waitid(P_PID, (id_t)child->pid, info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Gives it a moment to end: its channel closes before its exit status is there. */
static bool wait_end(const struct child_process *child, siginfo_t *info)
{
    const struct timespec step = {.tv_nsec = REAP_STEP_NS};
    struct pollfd end = {.fd = child->pidfd, .events = POLLIN};
    int i;

    if (child->pidfd > 0)
        (void)poll(&end, 1, REAP_MS);
    for (i = 0; child->pidfd <= 0 && i < REAP_MS; i++) { /* before Linux 5.3 */
        if (!child_of_ours(child, info) || info->si_pid != 0)
            break;
        (void)nanosleep(&step, NULL);
    }
    return child_of_ours(child, info);
}

int child_process_status(struct child_process *child)
{
    siginfo_t info;

    if (!wait_end(child, &info))
        return STATUS_UNKNOWN;
    if (info.si_pid == 0)
        return STATUS_RUNS;
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

/* Kills and reaps it, if it is still ours: its pid could be another's by now. One that the kernel
 * does not let go of at once is left alone. */
static void kill_it(const struct child_process *child)
{
    siginfo_t info;

    if (child_of_ours(child, &info) && info.si_pid == 0)
        (void)kill(child->pid, SIGKILL);
    if (wait_end(child, &info) && info.si_pid != 0)
        (void)waitpid(child->pid, NULL, WNOHANG);
}

void child_process_end(struct child_process *child)
{
    if (child->channel.fd > 0)
        ipc_channel_finish(&child->channel);
    if (child->pid > 0)
        kill_it(child);
    if (child->pidfd > 0)
        (void)close(child->pidfd);
    if (child->heartbeat)
        (void)munmap(child->heartbeat, sizeof(*child->heartbeat));
    *child = (struct child_process){.pidfd = -1, .channel = {.fd = -1}};
}

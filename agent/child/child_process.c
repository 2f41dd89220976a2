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

#include "agent/host/clock.h"
#include "agent/proc/proc.h"

/* A read of a target takes microseconds, opening one milliseconds. A sampler that sleeps in one
 * for so long is blocked; one that could run has a limit, too, as it may go round in circles. */
#define BLOCKED_NS (150 * NS_PER_MS)
#define RUNS_NS    (10 * NS_PER_S)
/* A helper that reads nothing begins something several times a second. */
#define SILENT_NS (3 * NS_PER_S)

enum { STATUS_RUNS = -1, STATUS_UNKNOWN = -2, REAP_MS = 200, REAP_STEP_NS = 1000000 };

static const char *const kept[] = {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                   "TSAN_OPTIONS", "LSAN_OPTIONS"};

enum { KEPT = sizeof(kept) / sizeof(kept[0]) };

/* What a process of ours needs of our environment, NULL behind it. */
static void take_environment(char *out[KEPT + 1])
{
    size_t i, at, count = 0;

    for (i = 0; environ[i]; i++)
        for (at = 0; at < KEPT && count < KEPT; at++)
            if (strncmp(environ[i], kept[at], strlen(kept[at])) == 0 &&
                environ[i][strlen(kept[at])] == '=')
                out[count++] = environ[i];
    out[count] = NULL;
}

int helper_spawn(pid_t *pid, const char *program, char *const *argv,
                 const posix_spawn_file_actions_t *files)
{
    char *environment[KEPT + 1];
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

/* Starts the process: `fds` are its ends of the link and of the beat. Gives errno. */
static int spawn(pid_t *pid, const char *program, char *const *argv, const int fds[2])
{
    posix_spawn_file_actions_t files;
    int cause = posix_spawn_file_actions_init(&files);

    if (cause)
        return cause;
    (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, fds[0], HELPER_LINK_FD);
    (void)posix_spawn_file_actions_adddup2(&files, fds[1], HELPER_BEAT_FD);
    cause = helper_spawn(pid, program, argv, &files);
    (void)posix_spawn_file_actions_destroy(&files);
    return cause;
}

/* A copy of a descriptor above those that a helper gets, so that none is in another's way. */
static int move_up(int fd)
{
    int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, HELPER_BEAT_FD + 1) : -1;

    if (fd >= 0)
        (void)close(fd);
    return moved;
}

/* Makes the memory that both see. Gives its descriptor; -1: it cannot be had. */
static int share_beat(struct helper *helper)
{
    int fd = move_up(memfd_create("pystrobe-beat", MFD_CLOEXEC));
    void *at;

    if (fd < 0 || ftruncate(fd, sizeof(struct beat)) != 0)
        return fd; /* the mapping stays away */
    at = mmap(NULL, sizeof(struct beat), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    helper->beat = at == MAP_FAILED ? NULL : at;
    return fd;
}

bool helper_start(struct helper *helper, const char *program, char *const *argv, uint64_t now_ns,
                  struct err *err)
{
    int pair[2] = {-1, -1}, fds[2], cause;

    *helper = (struct helper){.pidfd = -1, .started_ns = now_ns, .turned_ns = now_ns};
    fds[1] = share_beat(helper);
    cause = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 ? 0 : errno;
    fds[0] = move_up(pair[1]);
    link_init(&helper->link, pair[0]);
    if (cause == 0)
        cause = helper->beat && fds[0] >= 0 ? spawn(&helper->pid, program, argv, fds) : EMFILE;
    if (fds[0] >= 0)
        (void)close(fds[0]);
    if (fds[1] >= 0)
        (void)close(fds[1]);
    if (cause == 0) {
        helper->pidfd = (int)syscall(SYS_pidfd_open, helper->pid, 0);
        return true;
    }
    err_set(err, "a helper process cannot be started: %s", strerror(cause));
    helper_end(helper);
    return false;
}

pid_t helper_reads(const struct helper *helper)
{
    uint64_t since = beat_since(helper->beat);

    return since ? atomic_load_explicit(&helper->beat->pid, memory_order_relaxed) : 0;
}

/* True if the kernel has put it to sleep, whoever may have done so. */
static char state_of(const struct helper *helper)
{
    struct proc_stat stat;

    return proc_read_stat(helper->pid, &stat) ? stat.state : 'Z';
}

enum helper_look helper_look(struct helper *helper, uint64_t now_ns)
{
    uint64_t since = beat_since(helper->beat);
    uint64_t turns = atomic_load_explicit(&helper->beat->turns, memory_order_relaxed);
    bool again = since && since == helper->blocked_ns;
    char state;

    helper->blocked_ns = 0;
    if (turns != helper->turns)
        helper->turned_ns = now_ns;
    helper->turns = turns;
    if (now_ns < since + BLOCKED_NS || (!since && now_ns < helper->turned_ns + SILENT_NS))
        return HELPER_WELL;
    state = state_of(helper);
    if (state == 'Z' || state == 'X')
        return HELPER_WELL; /* it has ended, which its pidfd tells */
    if (state == 'T' || state == 't' || !since)
        return now_ns < helper->turned_ns + (state == 'R' ? RUNS_NS : SILENT_NS) ? HELPER_WELL
                                                                                 : HELPER_SILENT;
    if (state == 'R')
        return now_ns < since + RUNS_NS ? HELPER_WELL : HELPER_BLOCKED;
    helper->blocked_ns = since;
    return again ? HELPER_BLOCKED : HELPER_WELL;
}

/* How it stands with our child of that pid; false: it is none any more, somebody else has reaped
 * it. info->si_pid 0: it runs. */
static bool child_of_ours(const struct helper *helper, siginfo_t *info)
{
    *info = (siginfo_t){0};
    return waitid(P_PID, (id_t)helper->pid, info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Gives it a moment to end: its link is closed before its end can be told. */
static bool wait_end(const struct helper *helper, siginfo_t *info)
{
    const struct timespec step = {.tv_nsec = REAP_STEP_NS};
    struct pollfd end = {.fd = helper->pidfd, .events = POLLIN};
    int i;

    if (helper->pidfd > 0)
        (void)poll(&end, 1, REAP_MS);
    for (i = 0; helper->pidfd <= 0 && i < REAP_MS; i++) { /* before Linux 5.3 */
        if (!child_of_ours(helper, info) || info->si_pid != 0)
            break;
        (void)nanosleep(&step, NULL);
    }
    return child_of_ours(helper, info);
}

int helper_status(struct helper *helper)
{
    siginfo_t info;

    if (!wait_end(helper, &info))
        return STATUS_UNKNOWN;
    if (info.si_pid == 0)
        return STATUS_RUNS;
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

/* Kills and reaps it, if it is still ours: its pid could be another's by now. One that the kernel
 * does not let go of at once is left alone. */
static void kill_it(const struct helper *helper)
{
    siginfo_t info;

    if (child_of_ours(helper, &info) && info.si_pid == 0)
        (void)kill(helper->pid, SIGKILL);
    if (wait_end(helper, &info) && info.si_pid != 0)
        (void)waitpid(helper->pid, NULL, WNOHANG);
}

void helper_end(struct helper *helper)
{
    if (helper->link.fd > 0)
        link_finish(&helper->link);
    if (helper->pid > 0)
        kill_it(helper);
    if (helper->pidfd > 0)
        (void)close(helper->pidfd);
    if (helper->beat)
        (void)munmap(helper->beat, sizeof(*helper->beat));
    *helper = (struct helper){.pidfd = -1, .link = {.fd = -1}};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - see launch.h. */
#include "agent/exec/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/child/confine.h"
#include "agent/host/exits.h"

/* The kernel sends them to a process with a fault. Not SIGABRT, which the watchdog of systemd sends
 * for the command; abort() works all the same, because it unblocks the signal. */
static const int own_faults[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGTRAP, SIGSYS};

static enum launch_process_group choose_process_group(int *terminal)
{
    int fd = getsid(0) == getpid() ? open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;

    *terminal = -1;
    if (getsid(0) != getpid())
        return LAUNCH_SHARED;
    if (fd < 0)
        return LAUNCH_SESSION;
    if (tcgetpgrp(fd) == getpgrp())
        *terminal = fd;
    else
        (void)close(fd);
    return LAUNCH_GROUP;
}

/* Above the standard streams, which may be closed: they are the command's to find so. */
static bool open_report(int report[2])
{
    int ends[2], i;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    for (i = 0; i < 2; i++) {
        report[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        (void)close(ends[i]);
    }
    return report[0] >= 0 && report[1] >= 0;
}

bool launch_prepare(struct launch *launch, char **command, struct err *err)
{
    struct sigaction reaping = {.sa_handler = SIG_DFL};
    sigset_t passed;

    *launch = (struct launch){.command = command, .exec_parent = getpid()};
    launch->process_group = choose_process_group(&launch->terminal);
    (void)sigfillset(&passed);
    for (size_t i = 0; i < sizeof(own_faults) / sizeof(own_faults[0]); i++)
        (void)sigdelset(&passed, own_faults[i]);
    (void)sigprocmask(SIG_BLOCK, &passed, &launch->mask);
    (void)sigaction(SIGCHLD, &reaping, &launch->on_child); /* ignored, it would reap by itself */
    /* Daemons among the descendants stay ours: found by ancestry, readable under Yama. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (open_report(launch->report))
        return true;
    err_set(err, "%s: %s", command[0], strerror(errno));
    return false;
}

static void enter_process_group(const struct launch *launch)
{
    if (launch->process_group == LAUNCH_SESSION)
        (void)setsid();
    if (launch->process_group == LAUNCH_GROUP && setpgid(0, 0) == 0 && launch->terminal >= 0)
        (void)tcsetpgrp(launch->terminal, getpid());
}

/* A service manager names the process that its sockets and watchdog are for by number. */
static void rewrite_pid_variable(const char *variable, pid_t exec_parent)
{
    const char *value = getenv(variable);
    char number[16];

    (void)snprintf(number, sizeof(number), "%d", (int)exec_parent);
    if (!value || strcmp(value, number) != 0)
        return;
    (void)snprintf(number, sizeof(number), "%d", (int)getpid());
    (void)setenv(variable, number, 1);
}

/* In the child: becomes the command. */
static void exec_launched_command(const struct launch *launch)
{
    int said[2] = {(int)getpid(), 0};

    (void)!write(launch->report[1], &said[0], sizeof(said[0]));
    enter_process_group(launch);
    rewrite_pid_variable("LISTEN_PID", launch->exec_parent);
    rewrite_pid_variable("WATCHDOG_PID", launch->exec_parent);
#ifdef PR_SET_PTRACER
    /* Where Yama counts ancestors: a second profiler may read at least the command itself. */
    (void)prctl(PR_SET_PTRACER, launch->exec_parent, 0, 0, 0);
#endif
    (void)sigaction(SIGCHLD, &launch->on_child, NULL);
    (void)sigprocmask(SIG_SETMASK, &launch->mask, NULL);
    (void)execvp(launch->command[0], launch->command);
    said[1] = errno;
    (void)!write(launch->report[1], &said[1], sizeof(said[1]));
    _exit(EXIT_CANNOT_RUN);
}

pid_t launch_start(struct launch *launch)
{
    pid_t pid = fork();
    int said[2] = {-1, pid < 0 ? errno : 0};

    if (pid == 0)
        exec_launched_command(launch);
    if (pid < 0)
        (void)!write(launch->report[1], said, sizeof(said));
    (void)close(launch->report[1]);
    if (launch->terminal >= 0)
        (void)close(launch->terminal);
    return pid;
}

/* False: whoever should have written it has ended. */
static bool read_reported_number(int fd, int *out)
{
    ssize_t got;

    do
        got = read(fd, out, sizeof(*out));
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(*out);
}

int launch_result(struct launch *launch, pid_t *out_pid, struct err *err)
{
    int pid = -1, cause = 0;
    bool forked = read_reported_number(launch->report[0], &pid) && pid > 0;

    if (!read_reported_number(launch->report[0], &cause)) /* closed by a successful exec */
        cause = forked ? 0 : EAGAIN;
    (void)close(launch->report[0]);
    *out_pid = forked ? pid : 0;
    if (cause == 0)
        return EXIT_OK;
    err_set(err, "%s: %s", launch->command[0], strerror(cause));
    if (!forked)
        return EXIT_NOT_STARTED;
    return cause == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static void put_null(int fd, int flags)
{
    int null = open("/dev/null", flags | O_CLOEXEC);

    if (null >= 0 && null != fd)
        (void)dup2(null, fd);
    if (null > STDERR_FILENO)
        (void)close(null);
}

void launch_let_go(void)
{
    put_null(STDIN_FILENO, O_RDONLY);
    put_null(STDOUT_FILENO, O_WRONLY);
    if (fcntl(STDERR_FILENO, F_GETFD) < 0)
        put_null(STDERR_FILENO, O_WRONLY);
    confine_close_from(STDERR_FILENO + 1);
    (void)!chdir("/"); /* so that we hold no mount */
}

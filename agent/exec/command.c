/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - see command.h. */
#include "agent/exec/command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/host/exits.h"
#include "agent/proc/proc.h"

/* What SIGPIPE did before us: what the command is to find. */
static void (*pipe_before)(int) = SIG_DFL;

void command_block_signals(sigset_t *reported, sigset_t *before)
{
    static const int signals[] = {SIGCHLD, SIGTERM, SIGINT,  SIGHUP,
                                  SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

    (void)sigemptyset(reported);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)sigaddset(reported, signals[i]);
    (void)sigprocmask(SIG_BLOCK, reported, before);
    pipe_before = signal(SIGPIPE, SIG_IGN);
}

/* In the child: becomes the command, or says why not through the pipe. */
static void exec_command(char **argv, const sigset_t *mask, int report_fd)
{
    int cause;

    (void)signal(SIGPIPE, pipe_before);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)execvp(argv[0], argv);
    cause = errno;
    (void)!write(report_fd, &cause, sizeof(cause));
    _exit(EXIT_CANNOT_RUN);
}

/* Makes the process of the command. Gives the end of the pipe through which that says why it cannot
 * become the command; -1: there is no process, errno says why. */
static int fork_command(struct command *child, char **argv, const sigset_t *mask)
{
    int report[2], cause;
    pid_t pid;

    if (pipe2(report, O_CLOEXEC) != 0)
        return -1;
    pid = fork();
    if (pid == 0)
        exec_command(argv, mask, report[1]);
    cause = errno;
    (void)close(report[1]);
    if (pid > 0) {
        child->pid = pid;
        return report[0];
    }
    (void)close(report[0]);
    errno = cause;
    return -1;
}

int command_start(struct command *child, char **argv, const sigset_t *mask, struct err *err)
{
    int report_fd, cause = 0;
    ssize_t got;

    *child = (struct command){0};
    /* Daemons among the descendants stay ours: found by ancestry, readable under Yama. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    report_fd = fork_command(child, argv, mask);
    if (report_fd < 0) {
        err_set(err, "%s: %s", argv[0], strerror(errno));
        return EXIT_NOT_STARTED;
    }
    do
        got = read(report_fd, &cause, sizeof(cause));
    while (got < 0 && errno == EINTR);
    (void)close(report_fd);
    if (got <= 0) /* closed by a successful exec */
        return EXIT_OK;
    (void)waitpid(child->pid, NULL, 0); /* it has said all, and exits: nothing keeps it */
    child->pid = 0;
    err_set(err, "%s: %s", argv[0], strerror(cause));
    return cause == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

void command_reap(struct command *child)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != child->pid)
            continue;
        child->ended = true;
        child->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
}

void command_handle(struct command *child, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (number == SIGCHLD)
        command_reap(child);
    else if (!child->ended && info->ssi_code != SI_KERNEL)
        (void)kill(child->pid, number);
}

int command_wait(struct command *child)
{
    siginfo_t info;
    sigset_t all;

    (void)sigfillset(&all);
    while (!child->ended) {
        if (sigwaitinfo(&all, &info) > 0 && info.si_signo != SIGCHLD && info.si_code != SI_KERNEL)
            (void)kill(child->pid, info.si_signo);
        command_reap(child);
    }
    return child->exit_status;
}

/* What is handed through proc_file_each_id. */
struct descendant_list {
    pid_t *pids;
    size_t max, count;
};

static bool take_descendant(void *ctx, pid_t pid, uint64_t inode)
{
    struct descendant_list *list = ctx;
    struct proc_stat stat;

    (void)inode;
    if (proc_stat_read(pid, &stat) != PROC_OK || stat.is_kernels || proc_stat_is_ended(&stat) ||
        !command_is_ours(pid))
        return true;
    if (list->count < list->max)
        list->pids[list->count] = pid;
    list->count++;
    return true;
}

size_t command_descendants(pid_t *out, size_t max)
{
    struct descendant_list list = {out, max, 0};

    (void)proc_file_each_id(proc_file_open(AT_FDCWD, "/proc"), take_descendant, &list);
    return list.count;
}

bool command_is_ours(pid_t pid)
{
    return proc_descends(pid, getpid()) && !child_process_is_ours(pid);
}

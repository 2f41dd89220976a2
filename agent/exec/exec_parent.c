/* SPDX-License-Identifier: Apache-2.0 */
/* exec_parent.c - see exec_parent.h. */
#include "agent/exec/exec_parent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/exec/launch.h"
#include "agent/host/clock.h"
#include "agent/host/exits.h"
#include "agent/host/log.h"
#include "agent/proc/proc.h"

/* When the command has ended, the profiler has so long for what it still has to deliver. */
#define FINISH_NS    (4 * NS_PER_S)
#define LOOK_NS      (5 * NS_PER_S)
#define AGAIN_MIN_NS NS_PER_S
#define AGAIN_MAX_NS (60 * NS_PER_S)

enum { SILENT_LOOKS = 6 };

struct state {
    const struct exec_parent *parent;
    struct launch launch;
    pid_t self, command, profiler; /* 0: it does not run */
    int signal_fd, command_fd;     /* owned; command_fd: -1: the kernel has none, or not needed */
    bool gone;                     /* the command has ended, */
    bool reaped;                   /* and is a zombie no more: */
    int status;                    /* its exit status then */
    struct heartbeat *heartbeat;   /* owned mapping, which the profiler sees, too */
    uint64_t turns;
    unsigned silent; /* looks that saw the same turns */
    uint64_t look_ns, end_ns, again_ns, began_ns, wait_ns;
};

/* It is blocked to be passed on to the command; sent to the profiler, it ends that. */
static void allow_abort(void)
{
    sigset_t abort_signal;

    (void)sigemptyset(&abort_signal);
    (void)sigaddset(&abort_signal, SIGABRT);
    (void)sigprocmask(SIG_UNBLOCK, &abort_signal, NULL);
}

/* In the new process: profiles. `launches`: as the parent of the command, which it starts. */
static void be_profiler(struct state *s, bool launches)
{
    struct exec_profiler profiler = {
        .root = s->self, .first = s->began_ns == 0, .heartbeat = s->heartbeat};

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != s->self)
        _exit(EXIT_OK);
    (void)prctl(PR_SET_NAME, "pystrobe-prof");
    if (launches) {
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        profiler.command = launch_start(&s->launch);
        profiler.root = getpid();
    }
    launch_let_go();
    (void)setsid(); /* what a terminal sends is for the command */
    allow_abort();
    exit(s->parent->profile(s->parent->ctx, &profiler));
}

static void start_profiler(struct state *s, bool launches)
{
    s->profiler = fork();
    if (s->profiler == 0)
        be_profiler(s, launches);
    if (s->profiler < 0)
        s->profiler = 0;
    s->began_ns = clock_mono_ns();
    s->again_ns = s->profiler > 0 ? UINT64_MAX : s->began_ns + AGAIN_MAX_NS;
    s->look_ns = s->began_ns + LOOK_NS;
    s->silent = 0;
}

/* A profiler has ended. One that finished, or gave up, has said what there is to say. */
static void lose_profiler(struct state *s, int status)
{
    uint64_t now_ns = clock_mono_ns();

    if (!WIFSIGNALED(status))
        return;
    if (s->gone) {
        log_line(LOG_LEVEL_WARNING,
                 "the profiler was ended by signal %d (%s), and the last profiles may be lost",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
        return;
    }
    if (now_ns - s->began_ns > AGAIN_MAX_NS)
        s->wait_ns = 0;
    s->wait_ns = s->wait_ns == 0 ? AGAIN_MIN_NS : s->wait_ns * 2;
    if (s->wait_ns > AGAIN_MAX_NS)
        s->wait_ns = AGAIN_MAX_NS;
    s->again_ns = now_ns + s->wait_ns;
    log_line(LOG_LEVEL_WARNING,
             "the profiler was ended by signal %d (%s), the command runs on; another one starts in "
             "%d s%s",
             WTERMSIG(status), strsignal(WTERMSIG(status)), (int)(s->wait_ns / NS_PER_S),
             s->parent->above ? ", and may read no process that the command has started: that "
                                "takes CAP_SYS_PTRACE or kernel.yama.ptrace_scope = 0"
                              : "");
}

/* The command is over: the profiler may finish. */
static void note_gone(struct state *s)
{
    if (s->gone)
        return;
    s->gone = true;
    s->end_ns = clock_mono_ns() + FINISH_NS;
    if (s->profiler > 0)
        (void)kill(s->profiler, SIGTERM);
}

/* Stops as the command did, if there is a shell to make us go on. */
static void stop_too(const struct state *s)
{
    sigset_t stop;

    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTSTP);
    (void)kill(s->self, SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &stop, NULL); /* the kernel stops no orphaned process group */
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
}

/* The terminal has stopped the command. The shell whose job we are is to see that; where we lead
 * the session, nobody could make it go on. */
static void note_stop(const struct state *s, int signal)
{
    if (s->launch.process_group != LAUNCH_SHARED && signal == SIGTSTP)
        (void)kill(-s->command, SIGCONT);
    if (s->launch.process_group == LAUNCH_SHARED && signal != SIGSTOP)
        stop_too(s);
}

static void reap_exec_children(struct state *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (WIFSTOPPED(status) && pid == s->command) {
            note_stop(s, WSTOPSIG(status));
        } else if (WIFSTOPPED(status)) {
            continue;
        } else if (pid == s->command) {
            s->reaped = true;
            s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            note_gone(s);
        } else if (pid == s->profiler) {
            s->profiler = 0;
            lose_profiler(s, status);
        }
    }
}

/* True if the command has got a signal, too: the terminal sent it, or one of its own processes, to
 * all of our group. */
static bool has_it(const struct state *s, const struct signalfd_siginfo *info)
{
    pid_t pid = (pid_t)info->ssi_pid;

    if (s->launch.process_group != LAUNCH_SHARED)
        return false;
    return info->ssi_code == SI_KERNEL ||
           (info->ssi_code == SI_USER && getpgid(pid) == getpgrp() && proc_descends(pid, s->self));
}

static void forward_signal(const struct state *s, const struct signalfd_siginfo *info)
{
    const union sigval value = {.sival_ptr = (void *)(uintptr_t)info->ssi_ptr};
    int number = (int)info->ssi_signo;

    if (s->parent->group && s->launch.process_group != LAUNCH_SHARED)
        (void)kill(-s->command, number);
    else if (info->ssi_code == SI_QUEUE)
        (void)sigqueue(s->command, number, value);
    else
        (void)kill(s->command, number);
}

static void handle_parent_signal(struct state *s, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (number == SIGCHLD)
        reap_exec_children(s);
    else if (s->gone && (number == SIGTERM || number == SIGINT))
        s->end_ns = 0; /* for the second time: at once, whatever is not delivered yet */
    else if (number == SIGTSTP && s->profiler > 0 && (pid_t)info->ssi_pid == s->profiler)
        note_stop(s, SIGTSTP); /* it saw the command stop */
    else if (!s->gone && !has_it(s, info))
        forward_signal(s, info);
}

/* Where the kernel cannot tell of the end of a process that is not our child. */
static void look_for_zombie(struct state *s)
{
    struct proc_stat stat;
    enum proc_rc rc;

    if (s->gone || !s->parent->above || s->command_fd >= 0)
        return;
    rc = proc_stat_read(s->command, &stat);
    if (rc == PROC_GONE || (rc == PROC_OK && proc_stat_is_ended(&stat)))
        note_gone(s);
}

static void look_at_profiler(struct state *s)
{
    uint64_t turns = atomic_load_explicit(&s->heartbeat->turns, memory_order_relaxed);

    s->silent = turns == s->turns ? s->silent + 1 : 0;
    s->turns = turns;
    s->look_ns = clock_mono_ns() + LOOK_NS;
    if (s->silent < SILENT_LOOKS || s->profiler == 0)
        return;
    log_line(LOG_LEVEL_WARNING, "the profiler hangs: it is killed, and the command runs on");
    (void)kill(s->profiler, SIGKILL);
    s->silent = 0;
}

static void turn(struct state *s)
{
    uint64_t now_ns = clock_mono_ns();

    look_for_zombie(s);
    if (s->gone && s->profiler > 0 && now_ns >= s->end_ns) {
        (void)kill(s->profiler, SIGKILL);
        s->end_ns = UINT64_MAX;
    }
    if (!s->gone && s->profiler == 0 && now_ns >= s->again_ns)
        start_profiler(s, false);
    if (now_ns >= s->look_ns)
        look_at_profiler(s);
}

static uint64_t next_turn(const struct state *s)
{
    uint64_t next_ns = s->gone ? s->end_ns : s->profiler == 0 ? s->again_ns : s->look_ns;

    if (!s->gone && s->parent->above && s->command_fd < 0 && next_ns > clock_mono_ns() + NS_PER_S)
        return clock_mono_ns() + NS_PER_S;
    return next_ns;
}

/* Until the command has ended and the profiler, too. */
static void stand(struct state *s)
{
    struct signalfd_siginfo info;
    struct timespec left;

    while (!s->gone || s->profiler > 0) {
        struct pollfd fds[2] = {{.fd = s->signal_fd, .events = POLLIN},
                                {.fd = s->gone ? -1 : s->command_fd, .events = POLLIN}};
        uint64_t now_ns = clock_mono_ns(), next_ns = next_turn(s);

        next_ns = next_ns > now_ns ? next_ns - now_ns : 0;
        left = timespec_of_ns(next_ns);
        (void)ppoll(fds, 2, next_ns > AGAIN_MAX_NS ? NULL : &left, NULL);
        if (fds[1].revents)
            note_gone(s);
        while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
            handle_parent_signal(s, &info);
        turn(s);
    }
}

/* Starts the command, and below or above it the profiler. */
static int start_exec_command(struct state *s, struct err *err)
{
    int status;

    if (s->parent->above) {
        start_profiler(s, true);
        (void)close(s->launch.report[1]);
    } else {
        (void)launch_start(&s->launch);
    }
    status = launch_result(&s->launch, &s->command, err);
    launch_let_go();
    if (status != EXIT_OK && s->profiler > 0)
        (void)kill(s->profiler, SIGKILL);
    if (status == EXIT_OK && !s->parent->above)
        start_profiler(s, false);
    return status;
}

/* What needs the command's process, or descriptors that it is not to get. */
static bool open_state(struct state *s, struct err *err)
{
    sigset_t passed;

    (void)sigprocmask(SIG_BLOCK, NULL, &passed);
    s->signal_fd = signalfd(-1, &passed, SFD_CLOEXEC | SFD_NONBLOCK);
    s->command_fd = s->parent->above ? (int)syscall(SYS_pidfd_open, s->command, 0) : -1;
    if (s->signal_fd < 0)
        err_set(err, "signals cannot be passed on: %s", strerror(errno));
    return s->signal_fd >= 0;
}

static int start_and_supervise(struct state *s, struct err *err)
{
    int status;

    if (!launch_prepare(&s->launch, s->parent->command, err))
        return EXIT_NOT_STARTED;
    status = start_exec_command(s, err);
    if (status != EXIT_OK)
        return status;
    if (!open_state(s, err)) {
        (void)kill(s->command, SIGTERM);
        return EXIT_NOT_STARTED;
    }
    stand(s);
    if (!s->reaped) /* by the profiler that was above it; it has come to us */
        reap_exec_children(s);
    return s->status;
}

int exec_parent_run(const struct exec_parent *parent)
{
    struct state s = {
        .parent = parent,
        .self = getpid(),
        .signal_fd = -1,
        .command_fd = -1,
        .status = EXIT_FAILED,
        .look_ns = UINT64_MAX,
        .again_ns = UINT64_MAX,
        .end_ns = UINT64_MAX,
    };
    struct err err = {""};
    int status;

    s.heartbeat =
        mmap(NULL, sizeof(*s.heartbeat), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.heartbeat == MAP_FAILED) {
        log_line(LOG_LEVEL_ERROR, "out of memory");
        return EXIT_NOT_STARTED;
    }
    status = start_and_supervise(&s, &err);
    if (err.text[0])
        log_line(LOG_LEVEL_ERROR, "%s", err.text);
    (void)munmap(s.heartbeat, sizeof(*s.heartbeat));
    if (s.command_fd >= 0)
        (void)close(s.command_fd);
    if (s.signal_fd >= 0)
        (void)close(s.signal_fd);
    return status;
}

void exec_parent_reap_others(const struct exec_profiler *profiler)
{
    siginfo_t info = {0};

    /* Once the command is a zombie it hides others that have ended: the exec parent reaps them
     * soon. */
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0 &&
           info.si_pid != profiler->command)
        (void)waitpid(info.si_pid, NULL, WNOHANG);
    info.si_pid = 0;
    if (waitid(P_PID, (id_t)profiler->command, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid > 0 &&
        info.si_status != SIGSTOP)
        (void)kill(getppid(), SIGTSTP);
}

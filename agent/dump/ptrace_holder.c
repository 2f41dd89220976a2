/* SPDX-License-Identifier: Apache-2.0 */
/* ptrace_holder.c - see ptrace_holder.h. */
#include "agent/dump/ptrace_holder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "base/proc_stat.h"

/*
 * Only the timer may reach us: it kills, and the kernel lets go of the target. SIGCHLD is
 * waited for; all else (Ctrl-C, Ctrl-Z) is for the other side, whose end we notice.
 */
static void arm(void)
{
    const struct itimerval limit = {.it_value.tv_usec = (suseconds_t)PAUSE_MAX_MS * US_PER_MS};
    sigset_t blocked;

    (void)signal(SIGALRM, SIG_DFL);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigfillset(&blocked);
    (void)sigdelset(&blocked, SIGALRM);
    (void)sigprocmask(SIG_SETMASK, &blocked, NULL);
    (void)setitimer(ITIMER_REAL, &limit, NULL);
}

/* The process that traces a thread; 0: nobody, or not known. */
static pid_t tracer_of(pid_t pid, pid_t tid)
{
    char text[16];
    const struct proc_status_field field = {"TracerPid:", text, sizeof(text)};
    int fd = proc_file_open(AT_FDCWD, "/proc/%d/task/%d/status", (int)pid, (int)tid);

    return proc_status_read(fd, &field, 1) == PROC_OK ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Says why a thread could not be seized. False: it has just ended, which is no reason. */
static bool set_seize_error(pid_t pid, pid_t tid, int cause, struct ptrace_holder *shared)
{
    struct proc_stat stat;
    pid_t tracer = tracer_of(pid, tid);
    enum proc_rc rc = proc_stat_read_thread(pid, tid, &stat);

    if (rc == PROC_GONE || (rc == PROC_OK && (stat.state == 'Z' || stat.state == 'X')))
        return false;
    shared->rc = cause == EPERM ? PAUSE_DENIED : PAUSE_FAILED;
    if (tracer != 0) {
        shared->rc = PAUSE_FAILED;
        err_set(&shared->err, "process %d traces it already", (int)tracer);
    } else {
        err_set(&shared->err, "it cannot be stopped: %s", strerror(cause));
    }
    return true;
}

/* `guess`: where it stands if the list is in the same order as before, as it mostly is. */
static bool is_held_thread(const struct ptrace_holder *shared, pid_t tid, size_t *guess)
{
    for (size_t i = *guess; i < shared->count; i++)
        if (shared->threads[i].tid == tid) {
            *guess = i + 1;
            return true;
        }
    for (size_t i = 0; i < shared->count && i < *guess; i++)
        if (shared->threads[i].tid == tid)
            return true;
    return false;
}

/* Takes hold of one thread and asks it to stop. False: `hold` says why not. */
static bool seize(pid_t pid, pid_t tid, struct ptrace_holder *shared)
{
    struct ptrace_held_thread *thread = &shared->threads[shared->count];
    struct proc_stat stat;

    if (shared->count == PTRACE_HOLDER_THREADS_MAX) {
        shared->rc = PAUSE_FAILED;
        err_set(&shared->err, "it has more than %d threads", PTRACE_HOLDER_THREADS_MAX);
        return false;
    }
    *thread = (struct ptrace_held_thread){.tid = tid};
    thread->ran = proc_stat_read_thread(pid, tid, &stat) == PROC_OK && stat.state == 'R';
    /* No PTRACE_O_EXITKILL: our end must not be the target's. */
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return !set_seize_error(pid, tid, errno, shared);
    shared->count++;
    (void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL); /* fails for one that has ended since */
    return true;
}

/* The list of the threads while it is read. */
struct listing {
    pid_t pid;
    struct ptrace_holder *shared;
    size_t guess, listed, held;
    bool failed; /* one could not be seized: `shared` says why */
};

static bool seize_listed(void *ctx, pid_t tid, uint64_t inode)
{
    struct listing *list = ctx;
    bool known = is_held_thread(list->shared, tid, &list->guess);

    (void)inode;
    list->failed = !known && !seize(list->pid, tid, list->shared);
    list->held += known || tid == list->pid;
    list->listed++;
    return !list->failed;
}

/* The list of the threads cannot be read (any more). */
static void set_list_error(enum proc_rc rc, int cause, struct ptrace_holder *shared)
{
    shared->rc = rc == PROC_GONE ? PAUSE_GONE : rc == PROC_DENIED ? PAUSE_DENIED : PAUSE_FAILED;
    if (rc == PROC_GONE)
        err_set(&shared->err, "there is no such process");
    else
        err_set(&shared->err, "its threads cannot be listed: %s", strerror(cause));
}

/*
 * Takes hold of all threads that are not held yet. False: see `hold`.
 *
 * *all: there are no others. The kernel breaks the list off, or leaves a thread out, where one
 * ends meanwhile. What is held stays in the list even then; so it must have nothing else, but
 * for a first thread that has ended, and be as long as the process has threads.
 */
static bool seize_new(pid_t pid, struct ptrace_holder *shared, bool *all)
{
    struct listing list = {.pid = pid, .shared = shared};
    size_t before = shared->count;
    struct proc_stat stat;
    int fd = proc_file_open(AT_FDCWD, "/proc/%d/task", (int)pid);
    enum proc_rc rc = proc_file_each_id(fd, seize_listed, &list);

    if (rc != PROC_OK && list.listed == 0) {
        set_list_error(rc, errno, shared);
        return false;
    }
    *all = shared->count == before && list.held == list.listed &&
           proc_stat_read(pid, &stat) == PROC_OK && stat.threads == list.listed;
    return !list.failed;
}

/*
 * Looks whether a thread has stopped or ended. The report is left in the kernel (WNOWAIT):
 * a signal that the thread was about to handle then reaches it even if we are killed.
 */
static bool has_stopped(struct ptrace_held_thread *thread)
{
    siginfo_t info = {0};

    if (thread->stopped || thread->ended)
        return true;
    if (waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) !=
        0) {
        thread->ended = errno == ECHILD;
        return thread->ended;
    }
    if (info.si_pid == 0)
        return false;
    thread->stopped = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
    thread->ended = !thread->stopped;
    if (thread->stopped && info.si_status >> 8 != PTRACE_EVENT_STOP)
        thread->signal = info.si_status & 0x7F;
    return true;
}

/* Waits until all threads from `first` on have stopped, or the time is up. */
static void wait_stopped(struct ptrace_holder *shared, size_t first, uint64_t deadline_ns)
{
    struct timespec left;
    sigset_t child;
    uint64_t now;

    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    for (size_t i = first; i < shared->count; i++)
        while (!has_stopped(&shared->threads[i])) {
            now = clock_mono_ns();
            if (now >= deadline_ns)
                break;
            left = (struct timespec){.tv_nsec = (long)(deadline_ns - now)};
            (void)sigtimedwait(&child, NULL, &left);
        }
}

/* Stops the threads, and those that they started meanwhile, until there is no new one. */
static void stop_all(pid_t pid, struct ptrace_holder *shared)
{
    uint64_t deadline_ns = clock_mono_ns() + PAUSE_STOP_MS * NS_PER_MS;
    size_t before;
    bool in_time;

    do { /* at least once behind all waiting */
        in_time = clock_mono_ns() < deadline_ns;
        before = shared->count;
        if (!seize_new(pid, shared, &shared->all))
            return;
        wait_stopped(shared, before, deadline_ns);
    } while (!shared->all && in_time);
    if (shared->count == 0) {
        shared->rc = PAUSE_GONE;
        err_set(&shared->err, "it has exited");
    }
}

/* Lets all go on, each with the signal that it was about to handle. */
static void detach_threads(const struct ptrace_holder *shared)
{
    const struct ptrace_held_thread *thread;

    for (size_t i = 0; i < shared->count; i++) {
        thread = &shared->threads[i];
        if (thread->stopped)
            (void)ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal);
    }
}

_Noreturn void ptrace_holder_run(pid_t pid, struct ptrace_holder *shared, int fd)
{
    struct pollfd other = {.fd = fd, .events = POLLIN};
    uint64_t end_ns = clock_mono_ns() + PAUSE_HOLD_MS * NS_PER_MS, now;
    int ready = 0;

    arm();
    stop_all(pid, shared);
    if (shared->rc != PAUSE_OK)
        detach_threads(shared);
    if (write(fd, "", 1) == 1 && shared->rc == PAUSE_OK) {
        now = clock_mono_ns();
        ready = poll(&other, 1, now < end_ns ? (int)((end_ns - now) / NS_PER_MS) : 0);
        detach_threads(shared);
    }
    _exit(ready > 0 ? 0 : 1);
}

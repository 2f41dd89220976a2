/* SPDX-License-Identifier: Apache-2.0 */
/* child_process.c - see child_process.h. */
#include "agent/child/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/proc/proc.h"
#include "base/proc_stat.h"
#include "base/time_units.h"

/* A read of a target takes microseconds, opening one milliseconds. A sampler is watched from then
 * on; one that could run has a limit, too, as it may go round in circles. */
#define WATCHED_NS (60 * NS_PER_MS)
#define RUNS_NS    (10 * NS_PER_S)
/* The heartbeat of a child that reads nothing counts several times a second. */
#define SILENT_NS (3 * NS_PER_S)

/* A killed child that has not ended after that time is blocked in the kernel. */
#define UNKILLABLE_NS NS_PER_S

enum { CHILD_FDS = CHILD_PROCESS_HEARTBEAT_FD + 1 };
/* Steps of reading captured output. READS_MAX reads are as much as a pipe holds. */
enum { READ_BYTES = 65536, READS_MAX = 16, LOOK_MS = 200, LOOK_ENDING_MS = 5 };

static const char *const passed_variables[] = {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                               "TSAN_OPTIONS", "LSAN_OPTIONS"};

enum { PASSED = sizeof(passed_variables) / sizeof(passed_variables[0]) };

/* One child that is not reaped. */
struct unreaped {
    pid_t pid; /* 0: a free place; -1: it is being started */
    bool captured;
    uint64_t killed_ns; /* monotonic; 0: it was not killed */
    uint64_t blamed;    /* owner of the process that blocks it; 0: none is known */
};

static struct {
    pthread_mutex_t lock;
    struct unreaped all[CHILD_PROCESS_MAX];
    uint64_t cpu_ns[2]; /* of those that have been reaped; [true]: of captured commands */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct child_process no_process = {
    .pidfd = -1, .output_fd = -1, .channel = {.fd = -1}};

static uint64_t nanoseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_usec * NS_PER_US;
}

/* Frees the place of a child that has ended, or that another part of this process has reaped.
 * False: it has not ended. */
static bool reap_one(struct unreaped *child)
{
    struct rusage used = {0};
    int status = 0;

    if (wait4(child->pid, &status, WNOHANG, &used) == 0 || WIFSTOPPED(status)) /* if we trace it */
        return false;
    table.cpu_ns[child->captured] += nanoseconds(&used.ru_utime) + nanoseconds(&used.ru_stime);
    *child = (struct unreaped){0};
    return true;
}

/* child_process_reap, with the lock held. */
static size_t reap_killed(uint64_t now_ns)
{
    size_t i, count = 0;

    for (i = 0; i < CHILD_PROCESS_MAX; i++)
        if (table.all[i].killed_ns && !reap_one(&table.all[i]))
            count += now_ns >= table.all[i].killed_ns + UNKILLABLE_NS;
    return count;
}

size_t child_process_reap(uint64_t now_ns)
{
    size_t count;

    (void)pthread_mutex_lock(&table.lock);
    count = reap_killed(now_ns);
    (void)pthread_mutex_unlock(&table.lock);
    return count;
}

size_t child_process_left(void)
{
    size_t i, count = 0;

    (void)pthread_mutex_lock(&table.lock);
    for (i = 0; i < CHILD_PROCESS_MAX; i++)
        count += table.all[i].killed_ns && !reap_one(&table.all[i]);
    (void)pthread_mutex_unlock(&table.lock);
    return count;
}

size_t child_process_left_by(uint64_t owner)
{
    size_t i, count = 0;

    (void)pthread_mutex_lock(&table.lock);
    for (i = 0; i < CHILD_PROCESS_MAX; i++)
        count += owner != 0 && table.all[i].killed_ns && table.all[i].blamed == owner &&
                 !reap_one(&table.all[i]);
    (void)pthread_mutex_unlock(&table.lock);
    return count;
}

bool child_process_refuses(uint64_t owner)
{
    return child_process_left_by(owner) >= CHILD_PROCESS_OWNER_MAX;
}

/* The place of a child in the table, with the lock held; pid 0: a free place. NULL: not found. */
static struct unreaped *find_unreaped(pid_t pid)
{
    size_t i;

    for (i = 0; i < CHILD_PROCESS_MAX; i++)
        if (table.all[i].pid == pid)
            return &table.all[i];
    return NULL;
}

/* Takes a place of the table for a child before it is started. NULL: no place is free. */
static struct unreaped *reserve_place(bool captured)
{
    struct unreaped *place;

    (void)pthread_mutex_lock(&table.lock);
    (void)reap_killed(0);
    place = find_unreaped(0);
    if (place)
        *place = (struct unreaped){.pid = -1, .captured = captured};
    (void)pthread_mutex_unlock(&table.lock);
    return place;
}

/* Records the child that was started, or none (0). */
static void fill_place(struct unreaped *place, pid_t pid)
{
    struct unreaped *old;

    (void)pthread_mutex_lock(&table.lock);
    old = pid ? find_unreaped(pid) : NULL;
    if (old) /* reaped by another part of this process: the number is free again */
        *old = (struct unreaped){0};
    place->pid = pid;
    (void)pthread_mutex_unlock(&table.lock);
}

/* A child has been started at that place, or could not be (0). */
static void note_started(struct child_process *child, struct unreaped *place, pid_t pid)
{
    fill_place(place, pid);
    child->pid = pid;
    if (pid)
        child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Kills a child unless it has ended: as long as it is not reaped its number is no other's. */
static void kill_and_reap(pid_t pid, uint64_t blamed, uint64_t now_ns)
{
    struct unreaped *child;

    (void)pthread_mutex_lock(&table.lock);
    child = find_unreaped(pid);
    if (child && !reap_one(child)) {
        (void)kill(pid, SIGKILL);
        child->killed_ns = now_ns;
        child->blamed = blamed;
    }
    (void)pthread_mutex_unlock(&table.lock);
}

bool child_process_is_ours(pid_t pid)
{
    bool found;

    (void)pthread_mutex_lock(&table.lock);
    found = find_unreaped(pid) != NULL;
    (void)pthread_mutex_unlock(&table.lock);
    return found;
}

uint64_t child_process_cpu_ns(bool captured)
{
    uint64_t sum_ns, cpu_ns;
    clockid_t clock;

    (void)pthread_mutex_lock(&table.lock);
    sum_ns = table.cpu_ns[captured];
    for (size_t i = 0; i < CHILD_PROCESS_MAX; i++)
        if (table.all[i].pid > 0 && table.all[i].captured == captured &&
            proc_clock(table.all[i].pid, &clock) && proc_clock_ns(clock, &cpu_ns))
            sum_ns += cpu_ns;
    (void)pthread_mutex_unlock(&table.lock);
    return sum_ns;
}

size_t child_process_running(pid_t out[CHILD_PROCESS_MAX], bool captured)
{
    size_t count = 0, i;

    (void)pthread_mutex_lock(&table.lock);
    for (i = 0; i < CHILD_PROCESS_MAX; i++)
        if (table.all[i].pid > 0 && table.all[i].killed_ns == 0 &&
            table.all[i].captured == captured)
            out[count++] = table.all[i].pid;
    (void)pthread_mutex_unlock(&table.lock);
    return count;
}

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

/* Starts a process with these files: in a group of its own, with all signals at their defaults and
 * none blocked, and just what it needs of our environment, as the rest may hold secrets. */
static int spawn(pid_t *pid, const struct child_process_command *command,
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
    cause = posix_spawnp(pid, command->program, files, &attributes, command->argv,
                         command->environment ? command->environment : environment);
    (void)posix_spawnattr_destroy(&attributes);
    return cause;
}

/* The same with a place in the table. Gives errno; EBUSY: there is no place. */
static int spawn_in_table(struct child_process *child, const struct child_process_command *command,
                          const posix_spawn_file_actions_t *files)
{
    struct unreaped *place = reserve_place(!child->heartbeat); /* captured: it has none */
    pid_t pid = 0;
    int cause;

    if (!place)
        return EBUSY;
    cause = spawn(&pid, command, files);
    note_started(child, place, cause ? 0 : pid);
    return cause;
}

/* Starts a process whose descriptors 0, 1, ... are these; -1: /dev/null. Gives errno. */
static int start_process(struct child_process *child, const struct child_process_command *command,
                         const int *fds, int count)
{
    posix_spawn_file_actions_t files;
    int i, cause = posix_spawn_file_actions_init(&files);

    if (cause)
        return cause;
    for (i = 0; i < count; i++)
        if (fds[i] < 0)
            (void)posix_spawn_file_actions_addopen(&files, i, "/dev/null",
                                                   i == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
        else if (fds[i] != i) /* else it inherits it, if there is one */
            (void)posix_spawn_file_actions_adddup2(&files, fds[i], i);
    cause = spawn_in_table(child, command, &files);
    (void)posix_spawn_file_actions_destroy(&files);
    return cause;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

/* A copy of a descriptor above those that a child gets, so that none is in another's way. */
static int move_fd_above_child_fds(int fd)
{
    int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, CHILD_FDS) : -1;

    close_fd(fd);
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
    const struct child_process_command command = {.program = program, .argv = argv};
    int pair[2] = {-1, -1}, fds[] = {-1, -1, STDERR_FILENO, -1, -1}, cause;

    *child = (struct child_process){
        .pidfd = -1, .output_fd = -1, .started_ns = now_ns, .turned_ns = now_ns};
    fds[CHILD_PROCESS_HEARTBEAT_FD] = share_heartbeat(child);
    cause = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 ? 0 : errno;
    fds[CHILD_PROCESS_CHANNEL_FD] = move_fd_above_child_fds(pair[1]);
    ipc_channel_init(&child->channel, pair[0]);
    if (cause == 0)
        cause = child->heartbeat && fds[CHILD_PROCESS_CHANNEL_FD] >= 0
                    ? start_process(child, &command, fds, CHILD_FDS)
                    : EMFILE;
    close_fd(fds[CHILD_PROCESS_CHANNEL_FD]);
    close_fd(fds[CHILD_PROCESS_HEARTBEAT_FD]);
    if (cause == 0)
        return true;
    err_set(err, "a helper process cannot be started: %s",
            cause == EBUSY ? "too many killed ones have not ended: is a file system hung?"
                           : strerror(cause));
    child_process_end(child, now_ns);
    return false;
}

pid_t child_process_reads(const struct child_process *child)
{
    uint64_t since = heartbeat_since(child->heartbeat);

    return since ? atomic_load_explicit(&child->heartbeat->pid, memory_order_relaxed) : 0;
}

/* The letter of a child's state, as proc(5) has them; 'Z' also if it cannot be read any more. */
static char read_child_state(const struct child_process *child)
{
    struct proc_stat stat;

    return proc_stat_read(child->pid, &stat) == PROC_OK ? stat.state : 'Z';
}

/* A look at a child that sleeps in the read which began at `since_ns`. */
static enum child_process_look look_at_sleeper(struct child_process *child, uint64_t since_ns,
                                               uint64_t now_ns)
{
    struct proc_sched sched = {0};

    if (proc_sched_read(child->pid, child->pid, &sched) == PROC_GONE)
        return CHILD_PROCESS_WELL;
    return blocked_read_sleeps(&child->seen, since_ns, &sched, now_ns) ? CHILD_PROCESS_BLOCKED
                                                                       : CHILD_PROCESS_WELL;
}

enum child_process_look child_process_look(struct child_process *child, uint64_t now_ns)
{
    uint64_t since = heartbeat_since(child->heartbeat);
    uint64_t turns = atomic_load_explicit(&child->heartbeat->turns, memory_order_relaxed);
    char state;

    if (turns != child->turns)
        child->turned_ns = now_ns;
    child->turns = turns;
    if (now_ns < since + WATCHED_NS || (!since && now_ns < child->turned_ns + SILENT_NS))
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
    return look_at_sleeper(child, since, now_ns);
}

bool child_process_rests(const struct child_process *child)
{
    return heartbeat_since(child->heartbeat) == 0;
}

int child_process_status(const struct child_process *child)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return CHILD_PROCESS_STATUS_UNKNOWN;
    if (info.si_pid == 0)
        return CHILD_PROCESS_STATUS_RUNS;
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

void child_process_hang_up(struct child_process *child)
{
    ipc_channel_finish(&child->channel);
    (void)kill(child->pid, SIGKILL);
}

void child_process_end(struct child_process *child, uint64_t now_ns)
{
    if (child->channel.fd > 0)
        ipc_channel_finish(&child->channel);
    if (child->output_fd > 0)
        (void)close(child->output_fd);
    if (child->pid > 0)
        kill_and_reap(child->pid, child->blamed, now_ns);
    if (child->pidfd > 0)
        (void)close(child->pidfd);
    if (child->heartbeat)
        (void)munmap(child->heartbeat, sizeof(*child->heartbeat));
    *child = no_process;
}

int child_process_fork(struct child_process *child, void (*run)(void *ctx), void *ctx)
{
    struct unreaped *place = reserve_place(false);
    pid_t pid = place ? fork() : -1;
    int cause = place ? errno : EBUSY;

    if (pid == 0) {
        run(ctx);
        _exit(0);
    }
    *child = no_process;
    if (place)
        note_started(child, place, pid > 0 ? pid : 0);
    return pid > 0 ? 0 : cause;
}

int child_process_start_captured(struct child_process *child,
                                 const struct child_process_command *command, uint64_t deadline_ns)
{
    int pipes[2], fds[] = {-1, -1, -1}, cause;

    *child = no_process;
    child->deadline_ns = deadline_ns;
    child->blamed = command->blamed;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return errno;
    (void)fcntl(pipes[0], F_SETFL, O_NONBLOCK); /* our end only */
    fds[STDOUT_FILENO] = pipes[1];
    fds[STDERR_FILENO] = command->errors ? pipes[1] : -1;
    cause = start_process(child, command, fds, 3);
    close_fd(pipes[1]);
    child->output_fd = pipes[0];
    if (cause != 0)
        child_process_end(child, 0);
    return cause;
}

/* Reads the output that is there. False: `out` is full. */
static bool read_output(struct child_process *child, struct buf *out)
{
    unsigned char bytes[READ_BYTES];
    ssize_t got;
    int i;

    for (i = 0; i < READS_MAX && child->output_fd >= 0 && !buf_failed(out); i++) {
        got = read(child->output_fd, bytes, sizeof(bytes));
        if (got < 0)
            break; /* nothing is there now */
        buf_add(out, bytes, (size_t)got);
        if (got == 0) {
            (void)close(child->output_fd);
            child->output_fd = -1;
        }
    }
    return !buf_failed(out);
}

enum child_process_capture child_process_capture(struct child_process *child, uint64_t now_ns,
                                                 struct buf *out)
{
    int status =
        child_process_status(child); /* first: what it wrote before its end is in the pipe then */
    bool fits = read_output(child, out);

    if (status == CHILD_PROCESS_STATUS_RUNS && fits && now_ns < child->deadline_ns)
        return CHILD_PROCESS_RUNS;
    child_process_end(child, now_ns);
    return status == 0 && fits ? CHILD_PROCESS_DONE : CHILD_PROCESS_FAILED;
}

/* Waits a while for output, or for the end. */
static void wait_for_output(const struct child_process *child)
{
    struct pollfd fds[] = {{.fd = child->output_fd, .events = POLLIN},
                           {.fd = child->pidfd, .events = POLLIN}};
    bool is_silent = child->output_fd < 0 && child->pidfd < 0; /* before Linux 5.3 */

    (void)poll(fds, 2, is_silent ? LOOK_ENDING_MS : LOOK_MS);
}

int child_process_wait(const struct child_process *child, uint64_t deadline_ns)
{
    int status;

    while ((status = child_process_status(child)) == CHILD_PROCESS_STATUS_RUNS &&
           clock_mono_ns() < deadline_ns)
        wait_for_output(child);
    return status;
}

/* errno of a command that has failed at `now_ns`; see child_process_run. */
static int cause_of_failure(const struct buf *out, uint64_t now_ns, uint64_t deadline_ns)
{
    return buf_failed(out) ? EFBIG : now_ns >= deadline_ns ? ETIMEDOUT : 0;
}

bool child_process_run(const struct child_process_command *command,
                       const struct child_process_limits *limits, struct buf *out)
{
    uint64_t now_ns, deadline_ns = limits->deadline_ns;
    enum child_process_capture state;
    struct child_process child;

    errno = child_process_start_captured(&child, command, deadline_ns);
    if (errno != 0)
        return false;
    for (;;) {
        if (limits->stop && atomic_load(limits->stop))
            child.deadline_ns = deadline_ns = 0;
        now_ns = clock_mono_ns();
        state = child_process_capture(&child, now_ns, out);
        if (state == CHILD_PROCESS_FAILED)
            errno = cause_of_failure(out, now_ns, deadline_ns);
        if (state != CHILD_PROCESS_RUNS)
            return state == CHILD_PROCESS_DONE;
        wait_for_output(&child);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* proc.c - see proc.h. */
#include "agent/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/time_units.h"

enum { ANCESTORS_MAX = 256 };

#define PF_KTHREAD 0x00200000UL /* include/linux/sched.h: one of the kernel's own */

ssize_t proc_read_small(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, out, size - 1);

    if (fd >= 0)
        (void)close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got;
}

/* Field `number` of a stat line, of those after the name (3 is the state). */
static const char *stat_field(const char *text, int number)
{
    const char *at = strrchr(text, ')'); /* the name itself may hold ')' */
    int i;

    for (i = 2; at && i < number; i++)
        at = strchr(at + 1, ' ');
    return at ? at + 1 : NULL;
}

bool proc_read_stat(pid_t pid, struct proc_stat *out)
{
    char path[64], text[1024];
    const char *open_mark, *close_mark, *state, *parent, *flags, *threads, *start;
    size_t size;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (proc_read_small(path, text, sizeof(text)) <= 0)
        return false;
    open_mark = strchr(text, '(');
    close_mark = strrchr(text, ')');
    state = stat_field(text, 3);
    parent = stat_field(text, 4);
    flags = stat_field(text, 9);
    threads = stat_field(text, 20);
    start = stat_field(text, 22);
    if (!open_mark || !close_mark || close_mark < open_mark || !state || !parent || !flags ||
        !threads || !start)
        return false;
    *out = (struct proc_stat){.state = *state,
                              .parent = (pid_t)strtol(parent, NULL, 10),
                              .is_kernels = (strtoul(flags, NULL, 10) & PF_KTHREAD) != 0,
                              .threads = strtoull(threads, NULL, 10),
                              .start = strtoull(start, NULL, 10)};
    size = (size_t)(close_mark - open_mark - 1);
    size = size < sizeof(out->name) ? size : sizeof(out->name) - 1;
    memcpy(out->name, open_mark + 1, size);
    return true;
}

uint64_t proc_mapped(pid_t pid)
{
    unsigned long long pages[6] = {0}; /* of proc(5): size, resident, shared, text, lib, data */
    char path[64], text[256], *at = text;
    size_t i;

    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    if (proc_read_small(path, text, sizeof(text)) <= 0)
        return 0;
    for (i = 0; i < sizeof(pages) / sizeof(*pages); i++)
        pages[i] = strtoull(at, &at, 10);
    return pages[5] << 32 | (pages[0] & UINT32_MAX);
}

bool proc_descends(pid_t pid, pid_t from)
{
    struct proc_stat stat;
    int i;

    for (i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (!proc_read_stat(pid, &stat))
            return false;
        if (stat.parent == from)
            return true;
        pid = stat.parent;
    }
    return false;
}

void proc_command_line(pid_t pid, char out[PROC_COMMAND_MAX])
{
    char path[64];
    ssize_t got, i;

    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    got = proc_read_small(path, out, PROC_COMMAND_MAX);
    for (i = 0; i + 1 < got; i++)
        if (out[i] == '\0')
            out[i] = ' ';
}

void proc_executable(pid_t pid, char out[PROC_COMMAND_MAX])
{
    char path[64];
    ssize_t got;

    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    got = readlink(path, out, PROC_COMMAND_MAX - 1);
    out[got > 0 ? got : 0] = '\0';
}

uint64_t proc_exe_mark(pid_t pid)
{
    char path[PROC_COMMAND_MAX];

    proc_executable(pid, path);
    return path[0] ? hash_text(path) | 1 : 0;
}

uint64_t proc_exec_mark(pid_t pid)
{
    char path[64], text[1024];
    const char *code, *stack, *name;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (proc_read_small(path, text, sizeof(text)) <= 0)
        return 0;
    code = stat_field(text, 26);
    stack = stat_field(text, 28);
    if (!code || !stack)
        return 0;
    if (strtoull(stack, NULL, 10) > 1) /* where the kernel put them at the exec */
        return strtoull(code, NULL, 10) ^ (strtoull(stack, NULL, 10) * 0x9e3779b97f4a7c15U);
    name = strchr(text, '(');
    return name ? hash_fnv(HASH_START, name, strcspn(name, ")")) : HASH_START;
}

bool proc_user(pid_t pid, uid_t *out)
{
    char path[64], text[2048], *line;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (proc_read_small(path, text, sizeof(text)) <= 0)
        return false;
    line = strstr(text, "\nUid:");
    if (!line)
        return false;
    *out = (uid_t)strtoul(line + 5, NULL, 10);
    return true;
}

bool proc_clock(pid_t pid, clockid_t *out)
{
    return clock_getcpuclockid(pid, out) == 0;
}

bool proc_clock_ns(clockid_t clock, uint64_t *out)
{
    struct timespec time;

    if (clock_gettime(clock, &time) != 0)
        return false;
    *out = timespec_to_ns(time);
    return true;
}

bool proc_thread_times(pid_t pid, pid_t tid, struct proc_times *out)
{
    char path[96], text[128], *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    if (proc_read_small(path, text, sizeof(text)) <= 0)
        return false;
    out->cpu_ns = strtoull(text, &at, 10);
    out->wait_ns = strtoull(at, NULL, 10);
    return true;
}

uint64_t proc_age_ns(uint64_t start)
{
    const uint64_t hundredth = NS_PER_S / 100; /* USER_HZ is 100 everywhere */
    struct timespec now = {0};
    uint64_t now_ns;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    now_ns = timespec_to_ns(now);
    return now_ns / hundredth > start ? now_ns - start * hundredth : 0;
}

bool proc_thread_age(pid_t pid, pid_t tid, uint64_t *out_ns)
{
    char path[96], text[1024];
    const char *start;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    if (proc_read_small(path, text, sizeof(text)) <= 0)
        return false;
    start = stat_field(text, 22);
    if (!start)
        return false;
    *out_ns = proc_age_ns(strtoull(start, NULL, 10));
    return true;
}

/* A container's own idea of /proc/loadavg, which comes from elsewhere, is of no use. */
int proc_open_running(void)
{
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    struct statfs system;

    if (fd >= 0 && (fstatfs(fd, &system) != 0 || system.f_type != PROC_SUPER_MAGIC)) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* How many threads run, how many there are, and the newest pid; all 0: not known. */
static void read_loadavg_counts(int fd, unsigned long out[3])
{
    char text[128], *at = text;
    ssize_t got = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
    int i;

    memset(out, 0, 3 * sizeof(*out));
    if (got <= 0)
        return;
    text[got] = '\0';
    for (i = 0; at && i < 3; i++) /* "0.20 0.18 0.12 1/80 11206" */
        at = strchr(at + 1, ' ');
    for (i = 0; at && *at && i < 3; i++)
        out[i] = strtoul(at + 1, &at, 10);
}

bool proc_running(int fd, unsigned long *out)
{
    unsigned long threads[3];

    read_loadavg_counts(fd, threads);
    *out = threads[0];
    return *out > 0;
}

struct proc_census proc_census(int fd)
{
    unsigned long threads[3];

    read_loadavg_counts(fd, threads);
    return (struct proc_census){.threads = threads[1], .newest = (pid_t)threads[2]};
}

bool proc_is_process(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0)
        return false;
    (void)close(fd);
    return true;
}

bool proc_thread_state(pid_t pid, pid_t tid, char *out)
{
    char path[96], text[512];
    const char *state;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    state = proc_read_small(path, text, sizeof(text)) > 0 ? stat_field(text, 3) : NULL;
    if (state)
        *out = *state;
    return state != NULL;
}

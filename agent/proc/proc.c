/* SPDX-License-Identifier: Apache-2.0 */
/* proc.c - see proc.h. */
#include "agent/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
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

#define TICK_NS (NS_PER_S / 100) /* USER_HZ is 100 everywhere */

enum { ANCESTORS_MAX = 256 };

uint64_t proc_memory_mark(pid_t pid)
{
    struct proc_statm pages;

    if (proc_statm_read(pid, &pages) != PROC_OK)
        return 0;
    return pages.data << 32 | (pages.size & UINT32_MAX);
}

bool proc_descends(pid_t pid, pid_t ancestor)
{
    struct proc_stat stat;

    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (proc_stat_read(pid, &stat) != PROC_OK)
            return false;
        if (stat.parent == ancestor)
            return true;
        pid = stat.parent;
    }
    return false;
}

/* Where children are listed. */
struct child_list {
    pid_t pid; /* the parent */
    pid_t *out;
    size_t count, max;
};

/* Adds the children that one thread has started. */
static bool add_children(void *ctx, pid_t tid, uint64_t inode)
{
    struct child_list *list = ctx;
    char text[4096], *at = text, *end;
    unsigned long pid;

    (void)inode;
    if (proc_file_read(text, sizeof(text), NULL, "/proc/%d/task/%d/children", (int)list->pid,
                       (int)tid) != PROC_OK)
        return true;
    /* Each number has a blank behind it, but one that was cut. */
    while (list->count < list->max && (pid = strtoul(at, &end, 10)) != 0 && *end == ' ') {
        list->out[list->count++] = (pid_t)pid;
        at = end;
    }
    return list->count < list->max;
}

size_t proc_children(pid_t pid, bool all_threads, pid_t *out, size_t max)
{
    struct child_list list = {.pid = pid, .out = out, .max = max};

    if (all_threads)
        (void)proc_file_each_id(proc_file_open(AT_FDCWD, "/proc/%d/task", (int)pid), add_children,
                                &list);
    else
        (void)add_children(&list, pid, 0);
    return list.count;
}

bool proc_shares_memory(pid_t pid, pid_t other)
{
    return syscall(SYS_kcmp, pid, other, KCMP_VM, 0, 0) == 0;
}

void proc_join_arguments(char *text, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++)
        if (text[i] == '\0')
            text[i] = ' ';
}

enum proc_rc proc_file_read_living(pid_t pid, const char *name, char *out, size_t size,
                                   size_t *out_size)
{
    enum proc_rc rc = proc_file_read(out, size, out_size, "/proc/%d/%s", (int)pid, name);
    pid_t living;

    if (rc != PROC_OK || *out_size > 0)
        return rc;
    living = proc_living_thread(pid);
    return living == pid ? rc
                         : proc_file_read(out, size, out_size, "/proc/%d/%s", (int)living, name);
}

void proc_command_line(pid_t pid, char out[PROC_COMMAND_MAX])
{
    size_t size;

    if (proc_file_read_living(pid, "cmdline", out, PROC_COMMAND_MAX, &size) == PROC_OK)
        proc_join_arguments(out, size);
}

/* As readlink of the executable; `id` is of a process or of a thread of it. */
static ssize_t read_exe_link(pid_t id, char out[PROC_COMMAND_MAX])
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)id);
    return readlink(path, out, PROC_COMMAND_MAX - 1);
}

void proc_executable(pid_t pid, char out[PROC_COMMAND_MAX])
{
    ssize_t got = read_exe_link(pid, out);
    pid_t living;

    if (got < 0 && errno == ENOENT) {
        living = proc_living_thread(pid);
        got = living == pid ? got : read_exe_link(living, out);
    }
    out[got > 0 ? got : 0] = '\0';
}

uint64_t proc_exe_mark(pid_t pid)
{
    char path[PROC_COMMAND_MAX];

    proc_executable(pid, path);
    return path[0] ? hash_text(path) | 1 : 0;
}

enum proc_rc proc_user(pid_t pid, uid_t *out)
{
    char text[64];
    const struct proc_status_field field = {"Uid:", text, sizeof(text)};
    enum proc_rc rc =
        proc_status_read(proc_file_open(AT_FDCWD, "/proc/%d/status", (int)pid), &field, 1);

    if (rc == PROC_OK)
        *out = (uid_t)strtoul(text, NULL, 10);
    return rc;
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

static uint64_t ns_after_boot(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return timespec_to_ns(now);
}

uint64_t proc_ticks_now(void)
{
    return ns_after_boot() / TICK_NS;
}

uint64_t proc_age_ns(uint64_t start_ticks)
{
    const uint64_t now_ns = ns_after_boot();

    return now_ns / TICK_NS > start_ticks ? now_ns - start_ticks * TICK_NS : 0;
}

enum proc_rc proc_thread_age(pid_t pid, pid_t tid, uint64_t *out_ns)
{
    struct proc_stat stat;
    enum proc_rc rc = proc_stat_read_thread(pid, tid, &stat);

    if (rc == PROC_OK)
        *out_ns = proc_age_ns(stat.start);
    return rc;
}

/* A container's own idea of /proc/loadavg, which comes from elsewhere, is of no use. */
int proc_open_loadavg(void)
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

    memset(out, 0, 3 * sizeof(*out));
    if (got <= 0)
        return;
    text[got] = '\0';
    for (int i = 0; at && i < 3; i++) /* "0.20 0.18 0.12 1/80 11206" */
        at = strchr(at + 1, ' ');
    for (int i = 0; at && *at && i < 3; i++)
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
        return proc_is_short(errno);
    (void)close(fd);
    return true;
}

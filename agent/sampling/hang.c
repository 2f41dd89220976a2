/* SPDX-License-Identifier: Apache-2.0 */
/* hang.c - see hang.h. */
#include "agent/sampling/hang.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS_MAX = 16384, LINE_BYTES = 256 };

bool hang_waits(const char *line)
{
    enum { NUMBER, WORD, OPERATION, VALUE, TIMEOUT, FIELDS };
    unsigned long long fields[FIELDS], operation;
    const char *at = line;
    char *end;
    int i;

    for (i = 0; i < FIELDS; i++, at = end) {
        fields[i] = strtoull(at, &end, 0);
        if (end == at)
            return false; /* "running", or "-1 0x7ffc..." */
    }
    operation = fields[OPERATION];
    if (fields[NUMBER] != SYS_futex || !(operation & FUTEX_PRIVATE_FLAG) || fields[TIMEOUT] != 0)
        return false;
    operation &= (unsigned)FUTEX_CMD_MASK;
    return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET || operation == FUTEX_LOCK_PI;
}

/* The same of one thread; false, too, if it cannot be read. */
static bool thread_waits(int task_fd, const char *tid)
{
    char path[32], line[LINE_BYTES];
    ssize_t size;
    int fd;

    (void)snprintf(path, sizeof(path), "%.16s/syscall", tid);
    fd = openat(task_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size = read(fd, line, sizeof(line) - 1);
    (void)close(fd);
    line[size > 0 ? size : 0] = '\0';
    return hang_waits(line);
}

bool hang_all_wait(pid_t pid)
{
    char path[32];
    const struct dirent *entry;
    size_t count = 0;
    bool all = true;
    DIR *tasks;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    if (!tasks)
        return false;
    while (all && count < THREADS_MAX && (entry = readdir(tasks))) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        all = thread_waits(dirfd(tasks), entry->d_name);
    }
    (void)closedir(tasks);
    return all && count > 0 && count < THREADS_MAX;
}

/* True if the rest that began at `moved_ns` is a deadlock; the threads are looked at once in it. */
static bool is_deadlock(struct hang *hang, pid_t pid, uint64_t moved_ns)
{
    if (hang->checked_ns != moved_ns) {
        hang->checked_ns = moved_ns;
        hang->all_wait = hang_all_wait(pid);
    }
    return hang->all_wait;
}

bool hang_note(struct hang *hang, pid_t pid, const struct hang_signs *signs, uint64_t now_ns)
{
    const enum hang_kind before = hang->kind;

    hang->kind = HANG_NONE;
    if (signs->stuck_ns != 0 && now_ns - signs->stuck_ns >= hang->after_ns) {
        hang->kind = HANG_STUCK;
        hang->since_ns = signs->stuck_ns;
        hang->tid = signs->tid;
    } else if (now_ns - signs->moved_ns >= hang->after_ns &&
               is_deadlock(hang, pid, signs->moved_ns)) {
        hang->kind = HANG_DEADLOCK;
        hang->since_ns = signs->moved_ns;
        hang->tid = 0;
    }
    return hang->kind != before;
}

const char *hang_name(enum hang_kind kind)
{
    static const char *const names[] = {
        [HANG_NONE] = NULL, [HANG_STUCK] = "stuck", [HANG_DEADLOCK] = "deadlock"};

    return names[kind];
}

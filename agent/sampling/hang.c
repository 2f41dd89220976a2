/* SPDX-License-Identifier: Apache-2.0 */
/* hang.c - see hang.h. */
#include "agent/sampling/hang.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/proc_file.h"

enum { THREADS_MAX = 16384, LINE_BYTES = 256 };

bool hang_waits(const char *line, uint64_t *out_at)
{
    enum { NUMBER, WORD, OPERATION, VALUE, TIMEOUT, FIELDS };
    unsigned long long fields[FIELDS], operation;
    const char *at = line;
    char *end;

    for (int i = 0; i < FIELDS; i++, at = end) {
        fields[i] = strtoull(at, &end, 0);
        if (end == at)
            return false; /* "running", or "-1 0x7ffc..." */
    }
    operation = fields[OPERATION];
    if (fields[NUMBER] != SYS_futex || !(operation & FUTEX_PRIVATE_FLAG) || fields[TIMEOUT] != 0)
        return false;
    *out_at = fields[WORD];
    operation &= (unsigned)FUTEX_CMD_MASK;
    return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET || operation == FUTEX_LOCK_PI;
}

bool hang_thread_waits(pid_t pid, pid_t tid, uint64_t *out_at)
{
    char line[LINE_BYTES];

    return proc_file_read(line, sizeof(line), NULL, "/proc/%d/task/%d/syscall", (int)pid,
                          (int)tid) == PROC_OK &&
           hang_waits(line, out_at);
}

/* The threads of a process while they are looked at. */
struct waiting_threads {
    pid_t pid;
    size_t count;
    bool all; /* those so far wait */
};

/* False, too, if it cannot be read. */
static bool thread_waits(void *ctx, pid_t tid, uint64_t inode)
{
    struct waiting_threads *threads = ctx;
    uint64_t at;

    (void)inode;
    threads->all = hang_thread_waits(threads->pid, tid, &at);
    return threads->all && ++threads->count < THREADS_MAX;
}

bool hang_all_wait(pid_t pid)
{
    struct waiting_threads threads = {.pid = pid};
    int fd = proc_file_open(AT_FDCWD, "/proc/%d/task", (int)pid);

    return proc_file_each_id(fd, thread_waits, &threads) == PROC_OK && threads.all &&
           threads.count < THREADS_MAX;
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
    } else if (hang->cycle.mark != 0 &&
               hang->cycle.looked_ns - hang->cycle.since_ns >= hang->after_ns) {
        hang->kind = HANG_DEADLOCK;
        hang->since_ns = hang->cycle.since_ns;
        hang->tid = hang->cycle.tid;
    }
    return hang->kind != before;
}

const char *hang_name(enum hang_kind kind)
{
    static const char *const names[] = {
        [HANG_NONE] = NULL, [HANG_STUCK] = "stuck", [HANG_DEADLOCK] = "deadlock"};

    return names[kind];
}

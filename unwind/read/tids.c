/* SPDX-License-Identifier: Apache-2.0 */
/* tids.c - see tids.h. */
#include "unwind/read/tids.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/proc_stat.h"

enum { MISSES_MAX = 16 };

/* Where records have the id. */
enum { GLIBC_X86_64 = 720, GLIBC_AARCH64 = 208, MUSL_FIRST = 32, MUSL_LAST = 56 };

/* Reads the innermost id on the NSpid line of an open status file, which is closed; `count`: ids on
 * the line. */
static enum proc_rc read_innermost(int fd, pid_t *out, int *count)
{
    char text[256], *at = text, *end; /* 32 namespaces at most */
    const struct proc_status_field field = {"NSpid:", text, sizeof(text)};
    const enum proc_rc rc = proc_status_read(fd, &field, 1);
    long next;

    *count = 0;
    *out = 0;
    for (; rc == PROC_OK; at = end, (*count)++, *out = (pid_t)next) {
        next = strtol(at, &end, 10);
        if (end == at)
            break;
    }
    return rc;
}

enum proc_rc tids_init(struct tids *tids, int proc_fd)
{
    enum proc_rc rc = PROC_OK;
    int count = 0;

    *tids = (struct tids){.proc_fd = proc_fd};
    if (proc_fd >= 0)
        rc = read_innermost(proc_file_open(proc_fd, "status"), &tids->inner_pid, &count);
    tids->nested = count > 1;
    return rc;
}

void tids_finish(struct tids *tids)
{
    free(tids->pairs);
    tids->pairs = NULL;
    tids->count = tids->capacity = 0;
}

static void add_tid_pair(struct tids *tids, pid_t inner, pid_t outer)
{
    if (tids->count < CPY_THREADS_MAX &&
        ARRAY_RESERVE(tids->pairs, tids->capacity, tids->count + 1))
        tids->pairs[tids->count++] = (struct tid_pair){inner, outer};
}

static bool add_task(void *ctx, pid_t outer, uint64_t inode)
{
    struct tids *tids = ctx;
    pid_t inner;
    int count;

    (void)inode;
    (void)read_innermost(proc_file_open(tids->proc_fd, "task/%d/status", (int)outer), &inner,
                         &count);
    if (inner > 0)
        add_tid_pair(tids, inner, outer);
    return true;
}

static void rescan(struct tids *tids)
{
    tids->count = 0;
    (void)proc_file_each_id(proc_file_open(tids->proc_fd, "task"), add_task, tids);
}

static pid_t find_outer_tid(const struct tids *tids, pid_t inner)
{
    for (size_t i = 0; i < tids->count; i++)
        if (tids->pairs[i].inner == inner)
            return tids->pairs[i].outer;
    return 0;
}

/* True if the process has such a thread. */
static bool is_task(struct tids *tids, int32_t inner)
{
    pid_t outer = inner > 0 ? tids_outer(tids, (uint64_t)inner) : 0;
    char path[64];

    (void)snprintf(path, sizeof(path), "task/%d", (int)outer);
    return outer != 0 && faccessat(tids->proc_fd, path, F_OK, 0) == 0;
}

/* Takes an offset if a record has the id of one of the process's threads there. */
static void try_tid_at(struct tids *tids, struct mem *mem, uint64_t thread_id, uint32_t offset)
{
    int32_t tid;

    if (tids->tid_at == 0 && mem_read(mem, thread_id + offset, &tid, sizeof(tid)) == CPY_OK &&
        is_task(tids, tid))
        tids->tid_at = offset;
}

/*
 * Tries the offsets of the C libraries that we know: glibc since 2.3, musl 1.1 and 1.2. The first
 * words of a record tell which library made it. In musl the first word points to the record. So it
 * does in glibc for x86-64, and the third word, too, but not the fourth; in musl the third and
 * fourth point to the neighbours in the list of threads, which of a single thread are itself. In
 * glibc for aarch64 the first word is no such pointer.
 */
static void try_known_offsets(struct tids *tids, struct mem *mem, uint64_t thread_id)
{
    uint64_t head[4];
    bool musl;

    if (mem_read(mem, thread_id, head, sizeof(head)) != CPY_OK)
        return;
#if defined(__x86_64__)
    musl = head[0] == thread_id && (head[2] != thread_id || head[3] == thread_id);
    if (head[0] == thread_id && !musl)
        try_tid_at(tids, mem, thread_id, GLIBC_X86_64);
#else
    musl = head[0] == thread_id;
    if (!musl)
        try_tid_at(tids, mem, thread_id, GLIBC_AARCH64);
#endif
    for (uint32_t offset = MUSL_FIRST; musl && offset <= MUSL_LAST; offset += 8)
        try_tid_at(tids, mem, thread_id, offset);
}

/*
 * Elsewhere looks for where the C library keeps the id in its record of a thread: there the main
 * thread has the process's id and `thread_id` that of another task. One record is not enough: in a
 * container the process is often number 1, and so is many another field.
 */
static void calibrate(struct tids *tids, struct mem *mem, uint64_t thread_id,
                      uint64_t main_thread_id)
{
    enum { RECORD = 2048 };
    int32_t main_words[RECORD / 4], words[RECORD / 4];

    tids->misses++;
    try_known_offsets(tids, mem, thread_id);
    if (tids->tid_at != 0 || thread_id == main_thread_id || main_thread_id == 0)
        return;
    if (mem_read(mem, main_thread_id, main_words, sizeof(main_words)) != CPY_OK ||
        mem_read(mem, thread_id, words, sizeof(words)) != CPY_OK)
        return;
    for (uint32_t i = 1; i < RECORD / 4 && tids->tid_at == 0; i++)
        if (main_words[i] == tids->inner_pid && words[i] != tids->inner_pid &&
            is_task(tids, words[i]))
            tids->tid_at = i * 4;
}

uint64_t tids_of_pthread(struct tids *tids, struct mem *mem, uint64_t thread_id,
                         uint64_t main_thread_id, uint64_t known)
{
    int32_t tid;

    if (tids->inner_pid <= 0)
        return 0;
    if (tids->tid_at == 0 && tids->misses < MISSES_MAX)
        calibrate(tids, mem, thread_id, main_thread_id);
    if (tids->tid_at != 0 &&
        mem_read_state(mem, thread_id + tids->tid_at, &tid, sizeof(tid)) == CPY_OK &&
        ((known != 0 && (uint64_t)tid == known) || is_task(tids, tid)))
        return (uint64_t)tid;
    /* Python is begun in the process's first thread as a rule. */
    return thread_id == main_thread_id ? (uint64_t)tids->inner_pid : 0;
}

uint64_t tids_of_native(struct tids *tids, struct mem *mem, uint64_t thread_id, uint64_t native,
                        uint64_t known)
{
    uint64_t tid;

    if (known != 0 || native == 0)
        return known;
    if (tids->inner_pid <= 0 || native > INT32_MAX || is_task(tids, (int32_t)native))
        return native;
    tid = tids_of_pthread(tids, mem, thread_id, 0, 0);
    return tid == (uint64_t)tids->inner_pid ? tid : native;
}

pid_t tids_outer(struct tids *tids, uint64_t inner)
{
    pid_t outer;

    if (inner == 0 || inner > INT32_MAX)
        return 0;
    if (!tids->nested)
        return (pid_t)inner;
    outer = find_outer_tid(tids, (pid_t)inner);
    if (outer)
        return outer;
    rescan(tids);
    return find_outer_tid(tids, (pid_t)inner);
}

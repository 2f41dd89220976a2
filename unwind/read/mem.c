/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - knows the system calls that read another process. */
#include "unwind/read/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/proc_stat.h"

enum { READ_THREADS_MAX = 8 }; /* threads that are tried for one read */

/*
 * Memory is read through a thread. The first one of a process may end before the others.
 *
 * Cache: the thread through which a process is read
 * Key:   the kernel's thread id (`tid`)
 * Ends:  when a read says that the thread has ended, or the id is of no thread of the process
 * Test:  tests/unit/unwind/read/test_mem.c: reads_a_process_until_its_last_thread_ends
 */
struct process_mem {
    struct mem mem;
    pid_t pid;
    pid_t tid;   /* thread through which it is read; `pid` as long as the first thread lives */
    int proc_fd; /* borrowed, owned if `owns_dir`: the process's /proc directory; -1: none */
    bool owns_dir;
    int fd; /* owned: the mem file once process_vm_readv was refused, else -1 */
};

static enum cpy_rc rc_of_errno(int cause)
{
    switch (cause) {
    case ESRCH:
        return CPY_GONE;
    case EPERM:
    case EACCES:
    case ENOSYS:
        return CPY_DENIED;
    case ENOMEM:
        return CPY_NOMEM;
    default: /* EFAULT, EIO: the page is not there (any more) */
        return CPY_RACED;
    }
}

/* 0 if memory may be read through that thread, else an errno; ESRCH: it has ended. Address 0 is
 * never mapped: EFAULT says that reading would be allowed. */
static int try_thread(pid_t tid)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {NULL, 1};

    return process_vm_readv(tid, &local, 1, &remote, 1, 0) < 0 && errno != EFAULT ? errno : 0;
}

static bool take_thread(void *ctx, pid_t tid, uint64_t inode)
{
    struct process_mem *pm = ctx;

    (void)inode;
    pm->tid = tid;
    return try_thread(tid) == ESRCH;
}

/* Takes another thread once the one has ended. False: none lives, or it cannot be told. */
static bool take_other_thread(struct process_mem *pm)
{
    const pid_t before = pm->tid;

    if (pm->proc_fd < 0 ||
        proc_file_each_id(proc_file_open(pm->proc_fd, "task"), take_thread, pm) != PROC_OK ||
        try_thread(pm->tid) == ESRCH)
        pm->tid = before;
    return pm->tid != before;
}

/* True if what was read is of this process: a thread's id may be another's by now. That of its
 * first thread may not: whoever samples a process holds it by that. */
static bool is_own_thread(const struct process_mem *pm)
{
    char path[32];

    if (pm->tid == pm->pid)
        return true;
    (void)snprintf(path, sizeof(path), "task/%d", (int)pm->tid);
    return faccessat(pm->proc_fd, path, F_OK, 0) == 0;
}

/* process_vm_readv through a thread that lives. Errors: ESRCH, also if threads end faster. */
static ssize_t read_living(struct process_mem *pm, const struct iovec *local, size_t local_count,
                           const struct iovec *remote, size_t count)
{
    int threads = 0;
    ssize_t got;

    do {
        got = process_vm_readv(pm->tid, local, local_count, remote, count, 0);
        if (got < 0 && errno != ESRCH)
            return got;
        if (got >= 0 && is_own_thread(pm))
            return got;
    } while (++threads < READ_THREADS_MAX && take_other_thread(pm));
    errno = ESRCH;
    return -1;
}

static enum cpy_rc read_by_vm(struct process_mem *pm, const struct mem_range *ranges, size_t count)
{
    struct iovec local[MEM_RANGES_MAX], remote[MEM_RANGES_MAX];
    size_t i, local_count = 0, total = 0;
    ssize_t got;

    for (i = 0; i < count; i++) {
        if (i > 0 && (unsigned char *)ranges[i - 1].into + ranges[i - 1].size == ranges[i].into)
            local[local_count - 1].iov_len += ranges[i].size;
        else
            local[local_count++] = (struct iovec){ranges[i].into, ranges[i].size};
        /* The kernel takes the remote address as a pointer; nothing here follows it. */
        remote[i] = (struct iovec){(void *)(uintptr_t)ranges[i].from, ranges[i].size};
        total += ranges[i].size;
    }
    got = read_living(pm, local, local_count, remote, count);
    pm->mem.reads++;
    pm->mem.iovecs += count;
    if (got < 0)
        return rc_of_errno(errno);
    pm->mem.bytes += (uint64_t)got;
    return (size_t)got == total ? CPY_OK : CPY_RACED;
}

static enum cpy_rc read_by_fd(struct process_mem *pm, const struct mem_range *ranges, size_t count)
{
    ssize_t got;

    for (size_t i = 0; i < count; i++) {
        if (ranges[i].from > INT64_MAX)
            return CPY_RACED;
        got = pread(pm->fd, ranges[i].into, ranges[i].size, (off_t)ranges[i].from);
        pm->mem.reads++;
        pm->mem.iovecs++;
        if (got < 0)
            return rc_of_errno(errno);
        if (got == 0) /* the address space is gone: the process is a zombie or has exited */
            return CPY_GONE;
        pm->mem.bytes += (uint64_t)got;
        if ((size_t)got != ranges[i].size)
            return CPY_RACED;
    }
    return CPY_OK;
}

static enum cpy_rc process_read(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    struct process_mem *pm = (struct process_mem *)mem;

    return pm->fd >= 0 ? read_by_fd(pm, ranges, count) : read_by_vm(pm, ranges, count);
}

static void process_close(struct mem *mem)
{
    struct process_mem *pm = (struct process_mem *)mem;

    if (pm->fd >= 0)
        (void)close(pm->fd);
    if (pm->owns_dir)
        (void)close(pm->proc_fd);
    free(pm);
}

enum cpy_rc mem_rc_of_proc(enum proc_rc rc)
{
    static const enum cpy_rc rcs[] = {[PROC_OK] = CPY_OK,
                                      [PROC_GONE] = CPY_GONE,
                                      [PROC_DENIED] = CPY_DENIED,
                                      [PROC_FAILED] = CPY_NOMEM};

    return rcs[rc];
}

/* Opens the mem file, which shows the memory until the last thread ends, whichever was opened. */
static int open_mem_file(int proc_fd)
{
    int dir_fd = proc_living_dir(proc_fd), fd, cause;

    if (dir_fd < 0)
        return -1;
    fd = proc_file_open(dir_fd, "mem");
    cause = errno;
    (void)close(dir_fd);
    errno = cause;
    return fd;
}

enum cpy_rc mem_open_process(pid_t pid, int proc_fd, struct mem **out, struct err *err)
{
    struct process_mem *pm = malloc(sizeof(*pm));
    int cause;

    if (!pm) {
        err_set(err, "reading its memory: out of memory");
        return CPY_NOMEM;
    }
    *pm = (struct process_mem){.mem = {.read = process_read, .close = process_close},
                               .pid = pid,
                               .tid = pid,
                               .proc_fd = proc_fd,
                               .fd = -1};
    cause = try_thread(pid);
    if (cause == ESRCH && take_other_thread(pm))
        cause = try_thread(pm->tid);
    if (cause == EPERM || cause == ENOSYS) {
        pm->fd = open_mem_file(proc_fd);
        if (pm->fd >= 0)
            cause = 0;
        else if (proc_rc_of_errno(errno) == PROC_FAILED)
            cause = errno;
    }
    if (cause != 0) {
        err_set(err, "reading its memory: %s", strerror(cause));
        process_close(&pm->mem);
        return cause == ENOSYS ? CPY_DENIED : mem_rc_of_proc(proc_rc_of_errno(cause));
    }
    *out = &pm->mem;
    return CPY_OK;
}

void mem_own_dir(struct mem *mem)
{
    ((struct process_mem *)mem)->owns_dir = true;
}

enum cpy_rc mem_read_ranges(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    if (count == 0)
        return CPY_OK;
    if (count > MEM_RANGES_MAX)
        return CPY_RACED;
    return mem->read(mem, ranges, count);
}

enum cpy_rc mem_read(struct mem *mem, cpy_addr from, void *into, size_t size)
{
    struct mem_range range = {from, into, size};

    return mem->read(mem, &range, 1);
}

const unsigned char *mem_look(struct mem *mem, cpy_addr from, size_t size, size_t most)
{
    return mem->look ? mem->look(mem, from, size, most) : NULL;
}

const unsigned char *mem_bytes(struct mem *mem, cpy_addr from, size_t size, void *own,
                               enum cpy_rc *rc)
{
    const unsigned char *bytes = mem_look(mem, from, size, size);

    *rc = CPY_OK;
    if (bytes)
        return bytes;
    *rc = mem_read(mem, from, own, size);
    return *rc == CPY_OK ? own : NULL;
}

enum cpy_rc mem_read_again(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    enum cpy_rc rc;

    mem->when = MEM_AGAIN;
    rc = mem_read_ranges(mem, ranges, count);
    mem->when = MEM_FIRST;
    return rc;
}

enum cpy_rc mem_read_state(struct mem *mem, cpy_addr from, void *into, size_t size)
{
    enum cpy_rc rc;

    mem->when = MEM_STATE;
    rc = mem_read(mem, from, into, size);
    mem->when = MEM_FIRST;
    return rc;
}

const unsigned char *mem_state_bytes(struct mem *mem, cpy_addr from, size_t size, void *own,
                                     enum cpy_rc *rc)
{
    const unsigned char *bytes;

    mem->when = MEM_STATE;
    bytes = mem_bytes(mem, from, size, own, rc);
    mem->when = MEM_FIRST;
    return bytes;
}

void mem_narrow(struct mem *mem, size_t size)
{
    if (mem->narrow)
        mem->narrow(mem, size);
}

enum cpy_rc mem_read_word(struct mem *mem, cpy_addr from, uint64_t *out)
{
    return mem_read(mem, from, out, sizeof(*out));
}

void mem_close(struct mem *mem)
{
    if (mem)
        mem->close(mem);
}

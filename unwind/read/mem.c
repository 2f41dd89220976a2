/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - knows the system calls that read another process. */
#include "unwind/read/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct process_mem {
    struct mem mem;
    pid_t pid;
    int fd; /* owned: /proc/PID/mem once process_vm_readv was refused, else -1 */
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
    got = process_vm_readv(pm->pid, local, local_count, remote, count, 0);
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

enum cpy_rc mem_open_process(pid_t pid, int proc_fd, struct mem **out, struct err *err)
{
    struct process_mem *pm = malloc(sizeof(*pm));
    char byte;
    struct iovec local = {&byte, 1}, remote = {NULL, 1};
    int cause = 0;

    if (!pm)
        return CPY_NOMEM;
    *pm = (struct process_mem){.mem = {.read = process_read, .close = process_close}};
    pm->pid = pid;
    pm->fd = -1;
    /* Address 0 is never mapped: EFAULT says that reading would be allowed. */
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0)
        cause = errno;
    if (cause == EPERM || cause == ENOSYS) {
        pm->fd = proc_file_open(proc_fd, "mem");
        if (pm->fd >= 0)
            cause = 0;
        else if (proc_rc_of_errno(errno) == PROC_FAILED)
            cause = errno;
    }
    if (cause != 0 && cause != EFAULT) {
        err_set(err, "reading its memory: %s", strerror(cause));
        process_close(&pm->mem);
        return cause == ENOSYS ? CPY_DENIED : mem_rc_of_proc(proc_rc_of_errno(cause));
    }
    *out = &pm->mem;
    return CPY_OK;
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

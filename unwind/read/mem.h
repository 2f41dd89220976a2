/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h - the one way in which the unwinder reads a target: these ranges, or a failure.
 *
 * Shape:   mem_open_process (tests have others), mem_read..., mem_close.
 * Threads: as the target that owns it.
 */
#ifndef UNWIND_READ_MEM_H
#define UNWIND_READ_MEM_H

#include "unwind/cpy.h"

enum { MEM_RANGES_MAX = 512 }; /* of one call; the kernel takes 1024 */

struct mem_range {
    cpy_addr from; /* in the target */
    void *into;    /* borrowed: ours */
    size_t size;   /* bytes */
};

/* What a read is to be in the order of reads: see prefetch.h. */
enum mem_when {
    MEM_FIRST,
    MEM_STATE, /* what says where to begin: of all that was fetched it is to be the last */
    MEM_AGAIN  /* it was read before, and is compared with that */
};

struct mem {
    /* Reads all ranges, in order, or fails: CPY_RACED (not mapped), CPY_GONE, CPY_DENIED. */
    enum cpy_rc (*read)(struct mem *mem, const struct mem_range *ranges, size_t count);
    /* See mem_look; NULL: it has nothing beforehand. */
    const unsigned char *(*look)(struct mem *mem, cpy_addr from, size_t size, size_t most);
    /* True if what was read as MEM_STATE is newer than all else that was read; NULL: never. */
    bool (*is_late)(const struct mem *mem);
    /* See mem_narrow; NULL: it makes no difference. */
    void (*narrow)(struct mem *mem, size_t size);
    void (*close)(struct mem *mem);
    enum mem_when when;            /* of what is read now */
    bool once;                     /* what is read now will not be read in the next sample */
    bool implied;                  /* it follows from other things that are read: see memo.h */
    uint64_t reads, iovecs, bytes; /* what it took so far */
    uint64_t bpf_ns;               /* how long the thread stood still for it: bpf_reader.h */
};

/*
 * Memory of a live process: process_vm_readv; where that is forbidden or missing
 * (seccomp filters answer ENOSYS or EPERM) pread of /proc/PID/mem. `proc_fd` is the
 * process's /proc directory, borrowed.
 */
MUST_CHECK enum cpy_rc mem_open_process(pid_t pid, int proc_fd, struct mem **out, struct err *err);

/* Reads `count` ranges, at most MEM_RANGES_MAX. */
MUST_CHECK enum cpy_rc mem_read_ranges(struct mem *mem, const struct mem_range *ranges,
                                       size_t count);

/* Reads one range. */
MUST_CHECK enum cpy_rc mem_read(struct mem *mem, cpy_addr from, void *into, size_t size);

/*
 * Bytes that were read beforehand; NULL: they were not, and have to be read. `most` bytes
 * there, from `size` on, may be read beforehand the next time: all of them are mapped.
 *
 * Lends: until the next sample.
 */
const unsigned char *mem_look(struct mem *mem, cpy_addr from, size_t size, size_t most);

/* The same, or else they are read into `own`, which has room for them. NULL: *rc says why. */
const unsigned char *mem_bytes(struct mem *mem, cpy_addr from, size_t size, void *own,
                               enum cpy_rc *rc);

/*
 * Reads ranges that were read before, after everything that was read since: what is equal
 * then was there all the time.
 */
MUST_CHECK enum cpy_rc mem_read_again(struct mem *mem, const struct mem_range *ranges,
                                      size_t count);

/* Reads what says where to begin. Without prediction that comes first; else last. */
MUST_CHECK enum cpy_rc mem_read_state(struct mem *mem, cpy_addr from, void *into, size_t size);

/* The same, as mem_bytes has it. */
const unsigned char *mem_state_bytes(struct mem *mem, cpy_addr from, size_t size, void *own,
                                     enum cpy_rc *rc);

/* Says that of the range that was read last only the first `size` bytes matter: see memo.h. */
void mem_narrow(struct mem *mem, size_t size);

/* Reads one 64-bit word. */
MUST_CHECK enum cpy_rc mem_read_word(struct mem *mem, cpy_addr from, uint64_t *out);

/* Ends it. NULL is fine. */
void mem_close(struct mem *mem);

#endif

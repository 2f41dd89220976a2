/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h - the one way in which the unwinder reads a target: these ranges, or a failure.
 *
 * Shape:   a constructor (mem_open_process, image_open, image_record), mem_read...,
 *          mem_close.
 * Threads: as the target that owns it.
 */
#ifndef UNWIND_MEM_H
#define UNWIND_MEM_H

#include "unwind/cpy.h"

enum { MEM_RANGES_MAX = 512 }; /* of one call; the kernel takes 1024 */

struct mem_range {
    cpy_addr from; /* in the target */
    void *into;    /* borrowed: ours */
    size_t size;   /* bytes */
};

struct mem {
    /* Reads all ranges, in order, or fails: CPY_RACED (not mapped), CPY_GONE, CPY_DENIED. */
    enum cpy_rc (*read)(struct mem *mem, const struct mem_range *ranges, size_t count);
    void (*close)(struct mem *mem);
    uint64_t reads, bytes; /* what it took so far */
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

/* Reads one 64-bit word. */
MUST_CHECK enum cpy_rc mem_read_word(struct mem *mem, cpy_addr from, uint64_t *out);

/* Ends it. NULL is fine. */
void mem_close(struct mem *mem);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h - memory of the target: reads all of the given ranges, or fails.
 *
 * The folder unwind/read/ knows what the kernel tells of another process: its memory, and the
 * ids of its threads. It knows nothing of Python.
 *
 * Shape:   mem_open_process (tests have other constructors), mem_read..., mem_close.
 * Threads: as the target that owns it.
 */
#ifndef UNWIND_READ_MEM_H
#define UNWIND_READ_MEM_H

#include "base/proc_file.h"
#include "unwind/cpy.h"

enum { MEM_RANGES_MAX = 512 }; /* ranges of one call; the kernel takes 1024 */

struct mem_range {
    cpy_addr from; /* address in the target */
    void *into;    /* borrowed: buffer of the caller */
    size_t size;   /* bytes */
};

/* Position of a read in the order of a sample: see prefetch.h. */
enum mem_when {
    MEM_FIRST,
    MEM_STATE, /* says where the stack begins: fetched after all MEM_FIRST ranges */
    MEM_AGAIN  /* second read, compared with the first */
};

struct mem {
    /* Reads all ranges in order. CPY_RACED (not mapped), CPY_GONE, CPY_DENIED, CPY_NOMEM. */
    enum cpy_rc (*read)(struct mem *mem, const struct mem_range *ranges, size_t count);
    /* See mem_look; NULL: nothing is fetched beforehand. */
    const unsigned char *(*look)(struct mem *mem, cpy_addr from, size_t size, size_t most);
    /* True if MEM_STATE reads were later than all MEM_FIRST reads; NULL: never. */
    bool (*is_late)(const struct mem *mem);
    /* See mem_narrow; NULL: no effect. */
    void (*narrow)(struct mem *mem, size_t size);
    void (*close)(struct mem *mem);
    enum mem_when when; /* of the current read */
    bool once;          /* the next sample will not repeat the current read */
    bool shared;        /* several threads share the memory of the current read: see prefetch.h */
    bool implied;       /* other reads determine the result of this one: memo.h ignores it */
    uint64_t reads, iovecs, bytes; /* system calls, ranges and bytes so far */
    uint64_t bpf_ns;               /* time for which bpf_reader.h has interrupted threads so far */
};

/*
 * Opens the memory of a live process: process_vm_readv or, if that is forbidden or missing (seccomp
 * filters answer ENOSYS or EPERM), pread of its mem file. `proc_fd` is the process's /proc
 * directory, borrowed until mem_close; -1: only the first thread is used for reading.
 *
 * If the first thread of the process ends before the others, reads go through one that lives.
 *
 * Errors: CPY_GONE, CPY_DENIED, CPY_NOMEM; `err` says why.
 * Cost:   later, once the first thread has ended, each read also looks into /proc, because the id
 *         of the other thread may be another process's by then.
 */
MUST_CHECK enum cpy_rc mem_open_process(pid_t pid, int proc_fd, struct mem **out, struct err *err);

/* Makes mem_close close `proc_fd`, too. Only for memory of mem_open_process. */
void mem_own_dir(struct mem *mem);

/* The cpy_rc for the result of reading a file of the process. PROC_FAILED: CPY_NOMEM, because this
 * process is short of descriptors or memory. */
enum cpy_rc mem_rc_of_proc(enum proc_rc rc);

/* Reads `count` ranges, at most MEM_RANGES_MAX. Errors: as mem.read. */
MUST_CHECK enum cpy_rc mem_read_ranges(struct mem *mem, const struct mem_range *ranges,
                                       size_t count);

/* Reads one range. */
MUST_CHECK enum cpy_rc mem_read(struct mem *mem, cpy_addr from, void *into, size_t size);

/*
 * Finds bytes that were fetched beforehand; NULL: read them. The next fetch may take up to `most`
 * bytes from there, at least `size`: the caller knows that all of these are mapped.
 *
 * Lends: until the next fetch.
 */
const unsigned char *mem_look(struct mem *mem, cpy_addr from, size_t size, size_t most);

/* As mem_look with most = size, or reads the bytes into `own`. NULL: failed, *rc says why. */
const unsigned char *mem_bytes(struct mem *mem, cpy_addr from, size_t size, void *own,
                               enum cpy_rc *rc);

/*
 * Reads ranges a second time, after all other reads: bytes that are the same both times count as
 * unchanged in between.
 */
MUST_CHECK enum cpy_rc mem_read_again(struct mem *mem, const struct mem_range *ranges,
                                      size_t count);

/* Reads the words that say where the stack begins (MEM_STATE). */
MUST_CHECK enum cpy_rc mem_read_state(struct mem *mem, cpy_addr from, void *into, size_t size);

/* mem_read_state in the form of mem_bytes. */
const unsigned char *mem_state_bytes(struct mem *mem, cpy_addr from, size_t size, void *own,
                                     enum cpy_rc *rc);

/* Tells memo.h that its result depends only on the first `size` bytes of the last read. */
void mem_narrow(struct mem *mem, size_t size);

/* Reads one 64-bit word. */
MUST_CHECK enum cpy_rc mem_read_word(struct mem *mem, cpy_addr from, uint64_t *out);

/* Closes it. NULL is fine. */
void mem_close(struct mem *mem);

#endif

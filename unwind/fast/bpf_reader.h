/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_reader.h - reads the memory of a running thread from an interrupt on the CPU where it runs.
 *
 * All that one call reads is of one moment, because the thread is interrupted while the memory is
 * copied. It costs the thread a few microseconds; it keeps its CPU and the contents of the CPU's
 * caches. Taking the thread's CPU (cpu_pin.h) gives the same guarantee at several times the cost.
 *
 * A BPF program (bpf_reader.bpf.c) copies the memory. It also follows the thread's stack and copies
 * the parts that the request does not contain. Without that, a stack that was not predicted would
 * be read a moment later, and would be sampled too rarely.
 *
 * Shape:   bpf_reader_new; bpf_reader_read many times, each followed by bpf_reader_find calls;
 *          bpf_reader_free.
 * Threads: one thread at a time.
 * Needs:   Linux 5.10; CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, for bpf_reader_new. From Linux
 *          5.19 on they may be dropped after that.
 * Source:  BPF_PROG_TEST_RUN with BPF_F_TEST_RUN_ON_CPU for a raw tracepoint's program: bpf(2),
 *          and Documentation/bpf/bpf_prog_run.rst of Linux.
 */
#ifndef UNWIND_FAST_BPF_READER_H
#define UNWIND_FAST_BPF_READER_H

#include "unwind/fast/bpf_program.h"
#include "unwind/read/mem.h"

struct bpf_reader;

/*
 * Loads the BPF program.
 *
 * Gives:  NULL: no permission, no memory, the kernel does not support it, or we are not in the
 *         first pid namespace, whose thread ids the program compares; errno says which.
 * Cost:   some milliseconds.
 */
MUST_CHECK struct bpf_reader *bpf_reader_new(void);
void bpf_reader_free(struct bpf_reader *bpf_reader);

/* False: it is NULL, or the kernel refused to run the program. */
bool bpf_reader_works(const struct bpf_reader *bpf_reader);

/* The thread to interrupt. */
struct bpf_reader_thread {
    pid_t tid;      /* in the first pid namespace */
    int cpu;        /* where it is expected to run, not the caller's CPU; -1: every read fails */
    cpy_addr state; /* its PyThreadState; 0: its stack is not followed */
    struct bpf_reader_chain chain; /* where its version keeps the stack: walk_chain_of */
};

/*
 * Reads all ranges while the thread is interrupted; adds to the counters of `mem`.
 *
 * Gives: false: nothing was read, because the thread does not run on that CPU, a page is not in
 *        memory, a limit in bpf_program.h is exceeded, or the kernel refused.
 * Cost:  one system call of about 5 microseconds, most of it for the interrupt to arrive.
 */
MUST_CHECK bool bpf_reader_read(struct bpf_reader *bpf_reader,
                                const struct bpf_reader_thread *thread, struct mem *mem,
                                const struct mem_range *ranges, size_t count);

/* Number of bpf_reader_read calls so far: the copies of a call are valid until it changes. */
uint64_t bpf_reader_count(const struct bpf_reader *bpf_reader);

/*
 * Finds bytes that the last bpf_reader_read, which gave true, copied in addition to its ranges.
 *
 * Lends: until the next bpf_reader_read. NULL: it did not copy them.
 */
const unsigned char *bpf_reader_find(const struct bpf_reader *bpf_reader, cpy_addr from,
                                     size_t size);

#endif

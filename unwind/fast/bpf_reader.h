/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_reader.h - reads the memory of a running thread from an interrupt on the CPU where it runs.
 *
 * All that one call reads is of one moment, because the thread is interrupted while the memory is
 * copied. It costs the thread a few microseconds; it keeps its CPU and the contents of the CPU's
 * caches. Taking the thread's CPU (cpu_pin.h) gives the same guarantee at several times the cost.
 *
 * A BPF program (bpf_reader.bpf.c) copies the memory. Beside the ranges of the request it follows
 * the thread's stack and copies the parts that the request does not have. Without that, a stack
 * that was not predicted would have to be read a moment later, and would be seen too rarely.
 *
 * Shape:   bpf_reader_new; bpf_reader_read many times, each followed by bpf_reader_find calls;
 *          bpf_reader_free.
 * Threads: one thread at a time.
 * Needs:   Linux 5.10; CAP_BPF and CAP_PERFMON for bpf_reader_new. From Linux 5.19 on both may be
 *          dropped after that.
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
 * Gives:  NULL: no permission, the kernel does not support it, or we are not in the first pid
 *         namespace (the program compares the kernel's own thread ids); errno says which.
 * Cost:   some milliseconds.
 */
MUST_CHECK struct bpf_reader *bpf_reader_new(void);
void bpf_reader_free(struct bpf_reader *bpf_reader);

/* False: NULL, or a read has shown that the kernel does not run the program. */
bool bpf_reader_works(const struct bpf_reader *bpf_reader);

/* The thread to interrupt. */
struct bpf_reader_thread {
    pid_t tid;
    int cpu;        /* where it is expected to run, not the caller's CPU; -1: not known */
    cpy_addr state; /* its PyThreadState; 0: its stack is not followed */
    struct bpf_reader_chain chain;
};

/*
 * Reads all ranges while the thread is interrupted; counts them in `mem`.
 *
 * Gives: false: nothing was read, because the thread does not run on that CPU, a page is not in
 *        memory, or the ranges are too many or too large.
 * Cost:  one system call of about 5 microseconds, most of it for the interrupt to arrive.
 */
MUST_CHECK bool bpf_reader_read(struct bpf_reader *bpf_reader,
                                const struct bpf_reader_thread *thread, struct mem *mem,
                                const struct mem_range *ranges, size_t count);

/* Number of bpf_reader_read calls so far: while it is the same, their copies are, too. */
uint64_t bpf_reader_count(const struct bpf_reader *bpf_reader);

/*
 * Finds bytes that the last bpf_reader_read copied in addition to its ranges; NULL: not there.
 *
 * Lends: until the next bpf_reader_read.
 */
const unsigned char *bpf_reader_find(const struct bpf_reader *bpf_reader, cpy_addr from,
                                     size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_reader.h - reads a running thread's process in an interrupt on the CPU where it runs.
 *
 * While the interrupt lasts the thread stands still, so what is read is of one moment, wherever the
 * thread was; and it loses the few microseconds that the copying takes, but neither its CPU nor
 * what that has in its caches. Sitting on its CPU (cpu_pin.h) is as true, and takes several times
 * as much from the target.
 *
 * The kernel does the copying: a small program (bpf_reader.bpf.c), which it checks and runs where
 * we ask for it. That takes Linux 5.10, and CAP_BPF and CAP_PERFMON when it is loaded; from
 * Linux 5.19 on the rights may be given up after that.
 *
 * As all has to be read at once, the program copies not only what is asked for. It follows the
 * thread's stack as it stands, and brings what of that is not in the ranges. Else a stack that was
 * not foreseen would have to be read once more, a moment later: such ones would be seen too rarely.
 *
 * Shape:   bpf_reader_new; bpf_reader_read many times, each with bpf_reader_find after it;
 * bpf_reader_free. Threads: one at a time. Source:  BPF_PROG_TEST_RUN with BPF_F_TEST_RUN_ON_CPU
 * for a raw tracepoint's program: bpf(2), and Documentation/bpf/bpf_prog_run.rst of Linux.
 */
#ifndef UNWIND_FAST_BPF_READER_H
#define UNWIND_FAST_BPF_READER_H

#include "unwind/fast/bpf_program.h"
#include "unwind/read/mem.h"

struct bpf_reader;

/*
 * Gives:  NULL: it may not be, the kernel cannot, or what numbers the kernel has for threads is not
 *         known (in another pid namespace than the first); errno says why.
 * Cost:   some milliseconds.
 */
MUST_CHECK struct bpf_reader *bpf_reader_new(void);
void bpf_reader_free(struct bpf_reader *bpf_reader);

/* False: the kernel has turned out not to run it for us. NULL is fine. */
bool bpf_reader_works(const struct bpf_reader *bpf_reader);

/* A thread, and where it is thought to run: not on the caller's CPU. */
struct bpf_reader_place {
    pid_t tid;
    int cpu;
    cpy_addr thread; /* its PyThreadState; 0: its stack is not followed */
    struct bpf_reader_chain chain;
};

/*
 * Reads all ranges while that thread is interrupted on that CPU, and counts as `mem` does.
 *
 * Gives: false: nothing was read. It does not run there now, a page is not in memory, or that is
 *        more than fits.
 * Cost:  one system call of some 5 microseconds, most of it for the interrupt to get there.
 */
MUST_CHECK bool bpf_reader_read(struct bpf_reader *bpf_reader, const struct bpf_reader_place *place,
                                struct mem *mem, const struct mem_range *ranges, size_t count);

/* How often it was asked to read so far: tells whether what it has brought is still there. */
uint64_t bpf_reader_count(const struct bpf_reader *bpf_reader);

/*
 * Bytes of the stack that the last bpf_reader_read has brought though they were not asked for;
 * NULL: it has not.
 *
 * Lends: until the next bpf_reader_read.
 */
const unsigned char *bpf_reader_find(const struct bpf_reader *bpf_reader, cpy_addr from,
                                     size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_account.h - tells whether a thread that was not asked may have used CPU time. A thread is
 * asked in a sample if its schedstat file, which contains its CPU time, is read in that sample.
 *
 * The CPU clock of a process advances by the CPU time of all its threads. If the asked threads
 * explain its advance, no other thread has run, and the others need not be asked. That saves a
 * system call for each waiting thread, and most threads wait. All are asked once a second in any
 * case. The answer does not decide which stacks are read: the GIL tells which threads ran Python,
 * or the sample reads the state of each thread.
 *
 * Shape: cpy_note_cpu calls cpu_account_begin before a sample. In the sample, sample.c calls
 *        cpu_account_add for each thread that was asked. If cpu_account_is_open returns true, it
 *        asks and adds the other threads, too, and calls cpu_account_close. In a sample that reads
 *        all stacks, the order differs: gil_skip.c first asks the threads that ran lately, and
 *        passes their CPU time to cpu_account_is_open as `used_ns`; then sample.c adds them.
 */
#ifndef UNWIND_CPU_ACCOUNT_H
#define UNWIND_CPU_ACCOUNT_H

#include "unwind/stack/thread_cache.h"

/*
 * The account of one process, kept from sample to sample. All fields are 0 at first.
 *
 * Cache: the fact that threads which are not asked have not run since they were last asked
 * Key:   the CPU time of the process, and of each thread that is asked
 * Ends:  when the process has used more CPU time than the asked threads explain, or after a second
 * Test:  tests/unit/unwind/test_cpu_account.c: opens_when_another_thread_has_used_cpu_time
 */
struct cpu_account {
    uint64_t process_ns; /* CPU time of the process before this sample; 0: not known */
    uint64_t now_ns;     /* time of the sample, by a clock that does not stop */
    uint64_t closed_process_ns, closed_ns; /* process_ns and now_ns at the last close; 0: none */
    uint64_t explained_ns; /* CPU time that the added threads have used since the last close */
    unsigned running;      /* how many threads added in this sample run or wait for a CPU */
};

/* Begins a sample: at `now_ns`, the process had used `process_ns` of CPU time; 0: not known. */
void cpu_account_begin(struct cpu_account *account, uint64_t process_ns, uint64_t now_ns);

/*
 * Adds a thread that was asked. thread->sched_idle.cpu_ns is its CPU time now, thread->counted_ns
 * its CPU time when it was last added; 0: never. Sets used_cpu to whether it has used CPU time
 * since, and counted_ns to the CPU time now. The first time, used_cpu tells whether it has ever
 * used CPU time, and explained_ns is unchanged. `running`: the thread runs or waits for a CPU.
 */
void cpu_account_add(struct cpu_account *account, struct cached *thread, bool running);

/*
 * True if a thread that was not asked may have used CPU time, if that is not known, or if the last
 * close is at least a second old.
 *
 * A thread may have used CPU time if the process has used more since the last close than the sum of
 * explained_ns, `used_ns` and a tolerance: 20 us, and 10 ms for each running thread, because the
 * kernel updates a thread's schedstat only at ticks, but the process's clock at each read.
 * `used_ns` is the CPU time of threads that were asked in this sample but not added yet, each since
 * it was last added. `running` is how many of these ran or waited for a CPU in the sample before.
 */
bool cpu_account_is_open(const struct cpu_account *account, uint64_t used_ns, unsigned running);

/* To be called when all threads were asked and added: the next cpu_account_is_open compares CPU
 * times from this sample on. */
void cpu_account_close(struct cpu_account *account);

#endif

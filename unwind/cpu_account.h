/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_account.h - compares the CPU time of a process with that of its threads, to skip the system
 * calls that read the CPU time of waiting threads, which are most threads.
 *
 * To ask a thread means to read its schedstat file, which contains its CPU time. The CPU clock of a
 * process advances by the CPU time of all its threads. A sample first asks the threads that are
 * likely to have run. If their CPU time adds up to this advance, no other thread has run, and the
 * sample does not ask the others. If it does not add up, the account is "open", and the sample asks
 * all, as it does once a second in any case. A thread that is not asked is taken to be asleep, and
 * its stack is not read, unless the GIL or the thread's innermost frame shows that it has run.
 *
 * Shape: cpy_note_cpu calls cpu_account_begin before a sample.
 *        A GIL-skip sample (gil_skip.h) calls cpu_account_add for each thread that it asks. If
 *        cpu_account_is_open, it asks and adds the others, and calls cpu_account_close.
 *        A full sample asks the likely threads, calls cpu_account_is_open with their CPU time, and
 *        asks the others if that is true. Then it calls cpu_account_add for each thread as it
 *        reports the thread. If all were asked, it calls cpu_account_close at the end.
 */
#ifndef UNWIND_CPU_ACCOUNT_H
#define UNWIND_CPU_ACCOUNT_H

#include "unwind/stack/thread_cache.h"

/*
 * The account of one process, kept from sample to sample. All fields are 0 at first.
 *
 * Cache: the CPU time of a thread when it was last asked, taken as its CPU time now
 * Key:   the CPU time of the process, and of each thread that is asked
 * Ends:  when the process has used more CPU time than the asked threads, or after a second
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
 * Adds a thread that was asked. Its CPU time is thread->sched_idle.cpu_ns now, and was
 * thread->counted_ns when it was last added (0: never). Adds the difference to explained_ns, except
 * the first time. Sets thread->used_cpu to whether there is a difference, and thread->counted_ns to
 * the CPU time now. `running`: the thread runs or waits for a CPU.
 */
void cpu_account_add(struct cpu_account *account, struct cached *thread, bool running);

/*
 * True if a thread that was not asked may have used CPU time, if the CPU time of the process now or
 * at the last close is not known, or if the last close is at least a second old.
 *
 * A thread may have used CPU time if the process has used more since the last close than
 * explained_ns + `used_ns` + 20 us + 10 ms for each of account->running + `running` threads: the
 * kernel updates a running thread's schedstat only at ticks, but the process's clock at each read.
 * `used_ns` is the CPU time that threads asked in this sample, but not added yet, have used since
 * they were last added. `running` is how many of them ran or waited for a CPU one sample earlier.
 */
bool cpu_account_is_open(const struct cpu_account *account, uint64_t used_ns, unsigned running);

/* Call it when all threads were asked and added. Later calls of cpu_account_is_open compare the CPU
 * times since this sample. */
void cpu_account_close(struct cpu_account *account);

#endif

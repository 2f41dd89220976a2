/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_account.h - whether threads that were not asked can have used CPU time.
 *
 * A process's CPU clock advances by what all its threads use. Where it has advanced no further than
 * the threads that were asked, no other thread has run, and none has to be asked: that costs a
 * system call for each, and most threads of most programs wait. All are asked once a second in any
 * case. What a sample says of a thread's stack does not depend on it: which threads ran Python is
 * known from the GIL, or each thread's state is read.
 *
 * Shape: cpy_note_cpu before a sample; cpu_account_add for each thread that was asked;
 *        cpu_account_is_open, and if so cpu_account_add for the others, and cpu_account_close.
 */
#ifndef UNWIND_CPU_ACCOUNT_H
#define UNWIND_CPU_ACCOUNT_H

#include "unwind/stack/thread_cache.h"

/*
 * Cache: that threads have slept since they were asked
 * Key:   CPU time of the process, and of its threads
 * Ends:  when the process has used more than the threads that were asked; after a second
 * Test:  tests/unit/unwind/test_cpu_account.c: opens_when_another_thread_has_used_cpu_time
 */
struct cpu_account {
    uint64_t process_ns; /* CPU time of the process before this sample; 0: not known */
    uint64_t now_ns;     /* time of the sample, by a clock that does not stop */
    uint64_t closed_process_ns, closed_ns; /* both when all threads had been asked */
    uint64_t explained_ns; /* CPU time that threads which were asked have used since */
    unsigned running;      /* of those that this sample has asked and added */
};

/* The process has used so much CPU time, at `now_ns`. 0: not known. */
void cpu_account_begin(struct cpu_account *account, uint64_t process_ns, uint64_t now_ns);

/* A thread was asked. `running`: it is on a CPU. */
void cpu_account_add(struct cpu_account *account, struct cached *thread, bool running);

/* True if a thread that was not asked may have used CPU time, or that is not known. `used_ns`: what
 * threads which were asked have used, and are not added yet; `running` of them. */
bool cpu_account_is_open(const struct cpu_account *account, uint64_t used_ns, unsigned running);

/* All threads were asked. */
void cpu_account_close(struct cpu_account *account);

#endif

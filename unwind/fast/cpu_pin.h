/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_pin.h - CPU affinity of the calling thread: on the CPU of a thread of the target, or away
 * from it.
 *
 * A thread of the target does not run while the calling thread occupies its CPU. So what is read
 * then is consistent, without stopping the target.
 *
 * Usually the calling thread is on that CPU before the sample is due: cpy_pin_cpu moves it there
 * before it sleeps, with the lowest real-time priority, so that the timer that ends the sleep
 * preempts the target wherever it is. Without permission for real-time priority this is not done.
 * Then samples that were torn are read again from that CPU (cpu_pin_take). While a target tears
 * often, each sample is read from there from the start (cpu_pin_hold), because reading only torn
 * stacks again would favour stacks that do not change.
 *
 * Shape:   cpu_pin_init; cpu_pin_move, cpu_pin_take or cpu_pin_hold; cpu_pin_release after each
 *          sample, unless `stays` is set; cpu_pin_finish.
 */
#ifndef UNWIND_FAST_CPU_PIN_H
#define UNWIND_FAST_CPU_PIN_H

#include <sched.h>

#include "base/slice.h"
#include "unwind/cpy.h"

/* So rarely is a file opened again that it is no cost of a sample. */
enum { CPU_PIN_UNUSED_MAX = 64 };

/*
 * Cache: the open stat file of one thread
 * Key:   the kernel's thread id (`watched`)
 * Ends:  when another thread is asked for, the read fails because the thread has ended, or it was
 *        not read for CPU_PIN_UNUSED_MAX samples
 * Test:  tests/unit/unwind/fast/test_cpu_pin.c: says_no_once_the_thread_that_it_watched_is_gone
 *        tests/unit/unwind/fast/test_cpu_pin.c: keeps_one_file_open_whomever_it_looks_at
 *        tests/unit/unwind/fast/test_cpu_pin.c: closes_a_file_that_many_samples_have_not_read
 */
struct cpu_pin {
    int proc_fd;           /* borrowed: the target's /proc directory; -1: the caller never moves */
    bool known;            /* `allowed` is filled */
    bool moved;            /* the affinity differs from `allowed` */
    bool stays;            /* the affinity stays changed after the sample */
    bool realtime;         /* the calling thread has real-time priority */
    bool denied;           /* it has no permission for that */
    int stat_fd;           /* owned: stat of `watched`; -1: not open */
    unsigned unused;       /* calls of cpu_pin_release since stat_fd was read */
    pid_t watched;         /* thread whose stat was read last */
    pid_t tid;             /* thread whose CPU was taken last; 0: none */
    int cpu;               /* that CPU */
    int avoided_cpu;       /* CPU that the caller may not run on; -1: none */
    cpu_set_t allowed;     /* affinity of the calling thread before it was moved */
    struct slice ordinary; /* its scheduling parameters before it got real-time priority */
};

void cpu_pin_init(struct cpu_pin *cpu_pin, int proc_fd);
void cpu_pin_finish(struct cpu_pin *cpu_pin);

/*
 * Moves the calling thread to the CPU of thread `tid`; if `asleep_too`, also to that on which it
 * sleeps. False: it sleeps, or the move is not possible.
 */
bool cpu_pin_move(struct cpu_pin *cpu_pin, pid_t tid, bool asleep_too);

/* Moves the calling thread to `cpu`, where thread `tid` was a moment ago. False: not possible. */
bool cpu_pin_move_to(struct cpu_pin *cpu_pin, pid_t tid, int cpu);

/* cpu_pin_move to a thread that does not sleep, then sleeps for a moment, so that the thread runs
 * and its CPU is taken back. False: not moved. */
bool cpu_pin_take(struct cpu_pin *cpu_pin, pid_t tid);

/*
 * As cpu_pin_take, unless the calling thread is on the CPU of `tid` since an earlier call. True:
 * it was taken now.
 */
bool cpu_pin_hold(struct cpu_pin *cpu_pin, pid_t tid);

/*
 * Moves the calling thread away from `cpu`, with real-time priority, so that it can interrupt that
 * CPU in time (bpf_reader.h). False: it may run nowhere else.
 */
bool cpu_pin_avoid(struct cpu_pin *cpu_pin, int cpu);

/* The CPU that a thread runs on, or ran on last; -1: not known. */
int cpu_pin_cpu_of(struct cpu_pin *cpu_pin, pid_t tid);

/*
 * Gives up real-time priority (CAP_SYS_NICE or RLIMIT_RTPRIO), which the calling thread gets when
 * it is moved. With it, the thread runs at once when its sleep ends. With ordinary priority it may
 * wait for the end of the target's time slice, or for a system call that checks the slice; such
 * calls would be seen too often. cpu_pin_release does this, too.
 */
void cpu_pin_end_realtime(struct cpu_pin *cpu_pin);

/* Restores the affinity and the priority of the calling thread. To be called after each sample:
 * closes the stat file that CPU_PIN_UNUSED_MAX of them have not read. */
void cpu_pin_release(struct cpu_pin *cpu_pin);

#endif

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
 * preempts the target wherever it is. Without permission for real-time priority, torn samples are
 * read again from that CPU (cpu_pin_take). While samples are often torn, each one is read from that
 * CPU from the start (cpu_pin_hold), because reading only torn stacks again would favour stacks
 * that do not change.
 *
 * Shape:   cpu_pin_init; cpu_pin_move, cpu_pin_take or cpu_pin_hold; cpu_pin_release after each
 *          sample, unless `stays` is set; cpu_pin_finish.
 */
#ifndef UNWIND_FAST_CPU_PIN_H
#define UNWIND_FAST_CPU_PIN_H

#include <sched.h>

#include "base/slice.h"
#include "unwind/cpy.h"

/* Samples without a read after which the stat file is closed, so that it is rarely opened again. */
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
    bool denied;           /* the kernel refused real-time priority */
    int stat_fd;           /* owned: stat of `watched`; -1: not open */
    unsigned unused;       /* calls of cpu_pin_release since stat_fd was read */
    pid_t watched;         /* thread whose stat was read last */
    pid_t tid;             /* thread whose CPU was taken last; 0: none, or a CPU is avoided */
    int cpu;               /* that CPU; -1: a CPU is avoided */
    int avoided_cpu;       /* CPU that the caller may not run on; -1: none */
    cpu_set_t allowed;     /* affinity of the calling thread before it was moved */
    struct slice ordinary; /* its scheduling parameters before it got real-time priority */
};

void cpu_pin_init(struct cpu_pin *cpu_pin, int proc_fd);
void cpu_pin_finish(struct cpu_pin *cpu_pin);

/*
 * Moves the calling thread to the CPU of thread `tid`. A thread that is asleep counts only with
 * `asleep_too`: then to its last CPU. False: it does not count, or the move is not possible.
 */
bool cpu_pin_move(struct cpu_pin *cpu_pin, pid_t tid, bool asleep_too);

/* Moves the calling thread to `cpu`, where thread `tid` was a moment ago. False: not possible. */
bool cpu_pin_move_to(struct cpu_pin *cpu_pin, pid_t tid, int cpu);

/* As cpu_pin_move without `asleep_too`. Then sleeps for 50 us, so that the timer preempts the
 * thread. False: not moved. */
bool cpu_pin_take(struct cpu_pin *cpu_pin, pid_t tid);

/*
 * As cpu_pin_take, unless the calling thread runs on the CPU that it took from `tid` last. True:
 * this call has taken it.
 */
bool cpu_pin_hold(struct cpu_pin *cpu_pin, pid_t tid);

/*
 * Moves the calling thread away from `cpu`, with real-time priority, so that it wakes up in time to
 * interrupt that CPU (bpf_reader.h). False: it may run nowhere else, or `cpu` is -1.
 */
bool cpu_pin_avoid(struct cpu_pin *cpu_pin, int cpu);

/* The CPU that a thread runs on, or ran on last; -1: not known. */
int cpu_pin_cpu_of(struct cpu_pin *cpu_pin, pid_t tid);

/*
 * Ends real-time priority, as cpu_pin_release does, too. All functions that move the calling thread
 * request it (CAP_SYS_NICE or RLIMIT_RTPRIO). With it, the thread runs at once when its sleep ends.
 * With ordinary priority it may wait for the end of the target's time slice, or for a system call
 * that checks the slice; such calls would be sampled too often.
 */
void cpu_pin_end_realtime(struct cpu_pin *cpu_pin);

/* Restores the affinity and the priority of the calling thread. Closes the stat file after
 * CPU_PIN_UNUSED_MAX calls without a read of it. */
void cpu_pin_release(struct cpu_pin *cpu_pin);

#endif

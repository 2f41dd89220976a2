/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_pin.h - takes the CPU of a thread of the target, for a moment or until the next sample.
 *
 * While our thread runs on the CPU where the target's thread ran last, that thread does not
 * run: what is read then is whole, and nobody was stopped.
 *
 * Mostly we sit there already when a sample is due: cpy_pin_cpu moves the calling thread before
 * it sleeps, in the lowest real-time class, so that its timer takes the CPU from the target
 * wherever that is. Where the class is denied this is not done, but samples that were torn are
 * read again from there (cpu_pin_take); and while a target tears often, each sample is from the
 * start (cpu_pin_hold), since reading again only what was torn would favour what holds still.
 *
 * Shape: cpu_pin_init; cpu_pin_move, cpu_pin_take or cpu_pin_hold; cpu_pin_release after each
 * sample unless the caller stays; cpu_pin_finish.
 */
#ifndef UNWIND_FAST_CPU_PIN_H
#define UNWIND_FAST_CPU_PIN_H

#include <sched.h>

#include "base/slice.h"
#include "unwind/cpy.h"

struct cpu_pin {
    int proc_fd;           /* borrowed: the target's /proc directory; -1: never moves */
    bool known, moved;     /* `allowed` is filled; we are away from it */
    bool stays;            /* we stay away until the caller leaves */
    bool realtime;         /* the calling thread goes before others */
    bool denied;           /* that is not allowed */
    int stat_fd;           /* owned: stat of `watched`; -1: not open */
    pid_t watched;         /* the thread that was looked at last */
    pid_t tid;             /* the thread whose CPU was taken last; 0: none was */
    int cpu;               /* that CPU */
    int beside;            /* the CPU that we keep away from; -1: none */
    cpu_set_t allowed;     /* where the calling thread may run */
    struct slice ordinary; /* how it is scheduled when it does not hurry */
};

void cpu_pin_init(struct cpu_pin *cpu_pin, int proc_fd);
void cpu_pin_finish(struct cpu_pin *cpu_pin);

/*
 * Moves the calling thread to the CPU of thread `tid`: that on which it sleeps, too, if
 * asked for. False: it sleeps, or that is impossible.
 */
bool cpu_pin_move(struct cpu_pin *cpu_pin, pid_t tid, bool asleep_too);

/* The same, of a thread that was on that CPU a moment ago. */
bool cpu_pin_move_to(struct cpu_pin *cpu_pin, pid_t tid, int cpu);

/*
 * Lets whoever wants it have that CPU for a moment, and takes it back by a timer: who ran
 * there is then interrupted wherever it was.
 */
void cpu_pin_yield(void);

/* Both. */
bool cpu_pin_take(struct cpu_pin *cpu_pin, pid_t tid);

/*
 * Takes the CPU of a thread unless we are there already, as after the sample before. True: it
 * was taken now.
 */
bool cpu_pin_hold(struct cpu_pin *cpu_pin, pid_t tid);

/*
 * Keeps the calling thread away from that CPU, to be in time for what is to be read there by
 * bpf_reader.h. False: it may run nowhere else.
 */
bool cpu_pin_avoid(struct cpu_pin *cpu_pin, int cpu);

/* The CPU that a thread runs on, or has slept on; -1: not known. */
int cpu_pin_cpu_of(struct cpu_pin *cpu_pin, pid_t tid);

/*
 * While we sit, and sleep there, the calling thread is in the lowest real-time class, if it may
 * be (CAP_SYS_NICE, RLIMIT_RTPRIO): when its sleep ends it runs at once. An ordinary one may
 * have to wait for the end of the target's time slice, or for a system call that looks at the
 * clock of the slice; such calls would be seen far too often. This ends it; leaving does, too.
 */
void cpu_pin_end_realtime(struct cpu_pin *cpu_pin);

/* Lets the calling thread run where it might before. */
void cpu_pin_release(struct cpu_pin *cpu_pin);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched_idle.h - scheduler counters of one thread: tell that it has not run since its stack was
 * read.
 *
 * The kernel counts how often a thread was given a CPU (third word of schedstat). If the thread
 * slept when the count was n, and the count is still n, it has slept since. Reading the count is
 * cheaper than reading several kilobytes of stack, so it pays for deep stacks, and for the only
 * thread of a process: while that sleeps nothing has to be read.
 *
 * Shape:   sched_idle_init. In a sample without CPU status: sched_idle_since_read, read the stack
 *          if that gives false, sched_idle_note. With CPU status: sched_idle_look, fetch the stack
 *          if that gives false, sched_idle_is_ready, sched_idle_was_read. sched_idle_finish.
 */
#ifndef UNWIND_FAST_SCHED_IDLE_H
#define UNWIND_FAST_SCHED_IDLE_H

#include "unwind/cpy.h"

enum { SCHED_IDLE_BYTES = 8192 }; /* size of a stack from which on reading the counters pays */

/* Samples after a thread was seen asleep in which sched_idle_look asks the kernel about it. */
enum { SCHED_IDLE_LATELY = 16 };

/* Result of sched_idle_look. */
enum sched_idle_look {
    SCHED_IDLE_NO_LOOK, /* the kernel was not asked, or gave no useful answer */
    SCHED_IDLE_SLEPT,   /* the thread was asleep */
    SCHED_IDLE_WAITS,   /* it waited for a CPU, and has slept since it was seen to have one */
    SCHED_IDLE_RUNS     /* it had a CPU, or waited without having slept; or it cannot be told */
};

/*
 * Cache: open files of a thread, and its last counters
 * Key:   the kernel's thread id when they were opened; held by the entry of a thread state
 *        (thread_cache.h)
 * Ends:  when that entry gets another pthread_t or thread id; a read of a thread that has ended
 *        fails
 * Test:  tests/unit/unwind/fast/test_sched_idle.c: ends_with_the_thread
 */
struct sched_idle {
    int fd;                   /* owned: schedstat of the thread; -1: not open */
    int stat_fd, sched_fd;    /* owned: stat and sched of the thread; -1: not open */
    struct sched_idle **kept; /* where sched_idle_files has it while those are open; else NULL */
    bool asleep;              /* it slept when `turns` was read, and has had no turn since */
    bool only_thread; /* it was the only thread of its process then; so it is until it wakes up */
    bool read;        /* its stack was read while it slept */
    bool stale;       /* it fell asleep after its stack was read: the cached stack may be stale */
    unsigned lately;  /* samples left of SCHED_IDLE_LATELY */
    enum sched_idle_look look; /* of this sample */
    bool bursts;               /* the last sched_idle_is_ready had a `look` to use */
    bool cpu_wait;             /* this sample found that it waited for a CPU, or it has left its CPU
                                  since the look: its stack need not be one with which it runs */
    bool is_short;  /* since the caller cleared it, a file could not be opened for lack of
                       descriptors or memory: the results are not valid */
    int cpu;        /* CPU that this sample's look or sched_idle_is_ready found; -1: none did */
    int slept_on;   /* CPU on which it was seen asleep last; -1: none */
    uint64_t turns; /* times that it was given a CPU */
    uint64_t slept; /* proc_turns.slept, when it was last seen to have a CPU */
    uint64_t cpu_ns, wait_ns; /* CPU time, and time that it waited for a CPU */
    uint64_t woke_ns;         /* sched_idle_wake.woke_ns when the calling thread last took its CPU
                                 while it ran; 0: not known */
    uint64_t woke_sum_ns;     /* cpu_ns + wait_ns at woke_ns */
    unsigned looks_to_skip;   /* calls of sched_idle_note between two reads of stat: a backoff */
    unsigned looks_skipped;   /* calls since the last read of stat */
};

enum { SCHED_IDLE_FILES_MAX = 256 }; /* threads whose stat and sched stay open */

/* Scheduler files of the calling thread, which samples. All zero: not opened yet. */
struct sched_idle_own {
    bool is_open;
    int sched_fd, schedstat_fd; /* owned; -1: it could not be opened */
    uint64_t turns, wait_ns;    /* of schedstat, as last read */
    bool waited; /* it waited over 50 us for its present turn (average of the turns since the last
                    read). So it did not take the CPU, but got it when another thread left it */
};

/*
 * The open stat and sched files of all threads that share this. With thousands of threads
 * descriptors are scarce, and most threads sleep. When all places are in use, the thread whose
 * files were opened first loses them.
 *
 * Shape: all zero but `max`: none is open; sched_idle_files_finish at the end.
 */
struct sched_idle_files {
    struct sched_idle *open[SCHED_IDLE_FILES_MAX]; /* borrowed; NULL: nobody's */
    size_t next;                                   /* index of the place that is filled next */
    size_t max; /* places of `open` that are used, from 1 to SCHED_IDLE_FILES_MAX */
    struct sched_idle_own own;
};

/* Number of further descriptors that may be opened and kept. */
size_t sched_idle_files_left(const struct sched_idle_files *files);

void sched_idle_files_finish(struct sched_idle_files *files);

/*
 * Wake-up of the calling thread. It preempts the thread that ran on that CPU; then the kernel
 * updates that thread's counters.
 */
struct sched_idle_wake {
    uint64_t woke_ns; /* CLOCK_MONOTONIC; 0: it did not wake up for this sample */
    int cpu;          /* where it woke up */
};

void sched_idle_init(struct sched_idle *sched_idle);
void sched_idle_finish(struct sched_idle *sched_idle);

/* True if the thread has slept since before its stack was read. */
bool sched_idle_since_read(struct sched_idle *sched_idle);

/* True if the thread slept when its stat was read last, and has slept since. */
bool sched_idle_since_look(struct sched_idle *sched_idle);

/*
 * Finds out, before its stack is fetched, whether a thread runs, if it was seen asleep lately.
 * Asked after the fetch, a thread that works only for a moment would be found asleep though its
 * stack is of that moment, or awake though its stack is of its sleep. `proc_fd` is the process's
 * /proc directory.
 *
 * A thread that is ready to run has a CPU or waits for one. It has one if it got a CPU once more
 * than it left one, or if the calling thread has just taken its CPU. (If the calling thread had to
 * wait for its turn, the other has left the CPU by itself, mostly in a system call; counting that
 * as running would give the system call too many samples.) Else it waits. If it has slept since it
 * had a CPU, its stack is the one with which it slept, and says little of where it runs. If it has
 * not, its CPU was taken from it at any point.
 *
 * Gives: true: it has slept since before its stack was read.
 * Cost: nothing for a thread that was not seen asleep lately; else reads schedstat (0.4 us warm),
 *       and stat (1.2 us) unless it has slept on; sched (2 us) if it is ready to run, and that of
 *       the calling thread if it last ran on the same CPU and has none.
 */
bool sched_idle_look(struct sched_idle *sched_idle, struct sched_idle_files *files, int proc_fd,
                     pid_t tid);

/*
 * True if the thread runs or waits for a CPU. If sched_idle_look found that out in this sample, its
 * result counts, whatever the thread has done since (see `cpu_wait`). Else the kernel is asked now,
 * after the fetch; `cpu_wait` is then found out if the thread was seen asleep lately, has waited
 * 1 ms since the sample before, or has used no CPU time.
 *
 * Cost: reads schedstat; also stat, unless it has slept on, has run without a break since the look,
 *       or its counters account for all the time since it was preempted last; sched for `cpu_wait`.
 */
bool sched_idle_is_ready(struct sched_idle *sched_idle, struct sched_idle_files *files, int proc_fd,
                         pid_t tid, const struct sched_idle_wake *wake);

/* Updates the counters of a thread that is known to run on `cpu` now. */
void sched_idle_runs(struct sched_idle *sched_idle, int proc_fd, pid_t tid, int cpu);

/* To be called after its stack was read, if this sample called sched_idle_is_ready. */
void sched_idle_was_read(struct sched_idle *sched_idle);

/*
 * To be called after its stack was read, if this sample did not call sched_idle_is_ready: finds out
 * from time to time whether the thread sleeps. `same`: its stack was as before. `proc_fd` is the
 * process's /proc directory.
 */
void sched_idle_note(struct sched_idle *sched_idle, struct sched_idle_files *files, int proc_fd,
                     pid_t tid, bool same);

#endif

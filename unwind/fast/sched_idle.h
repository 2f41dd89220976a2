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
 * Shape:   sched_idle_init; before a stack is read sched_idle_since_read, or sched_idle_look if
 *          sched_idle_is_ready is called for the sample, too (true: the cached stack is still
 *          right); after a stack was read sched_idle_note or, after sched_idle_is_ready,
 *          sched_idle_was_read; sched_idle_finish.
 */
#ifndef UNWIND_FAST_SCHED_IDLE_H
#define UNWIND_FAST_SCHED_IDLE_H

#include "unwind/cpy.h"

enum { SCHED_IDLE_BYTES = 8192 }; /* size of a stack from which on reading the counters pays */

/* A thread that was seen asleep is looked at first in so many samples after that. */
enum { SCHED_IDLE_LATELY = 16 };

/* What a look at a thread found before its stack was fetched. */
enum sched_idle_look {
    SCHED_IDLE_NO_LOOK, /* there was none, or it found nothing out */
    SCHED_IDLE_SLEPT,
    SCHED_IDLE_WAITS, /* it waited for a CPU, and has slept since it was seen to have one */
    SCHED_IDLE_RUNS   /* it had a CPU, or waited for one but has not slept; or nobody can tell */
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
    bool asleep;              /* it slept when `turns` was read */
    bool only_thread; /* it was the only thread of its process then; so it is until it wakes up */
    bool read;        /* its stack was read while it slept */
    bool stale;       /* it fell asleep after its stack was read: the cached stack may be stale */
    unsigned lately;  /* so many samples look at it first, as it was seen asleep lately */
    enum sched_idle_look look; /* of this sample */
    bool bursts;               /* the last sched_idle_is_ready had a look of its sample */
    bool cpu_wait;             /* this sample found that it waited for a CPU, or it has left its CPU
                                  since the look: its stack need not be one with which it runs */
    bool is_short;  /* since the caller cleared it, a file could not be opened for lack of
                       descriptors or memory: what was found of the thread means nothing */
    int cpu;        /* CPU that this sample's look or sched_idle_is_ready found; -1: none did */
    int slept_on;   /* CPU on which it was seen asleep last; -1: none */
    uint64_t turns; /* times that it was given a CPU */
    uint64_t slept; /* proc_turns.slept, when it was last seen to have a CPU */
    uint64_t cpu_ns, wait_ns; /* CPU time, and time that it waited for a CPU */
    uint64_t woke_ns;         /* sched_idle_wake.woke_ns when it was last known to run until its CPU
                                 was taken; 0: not known */
    uint64_t woke_sum_ns;     /* cpu_ns + wait_ns at woke_ns */
    unsigned looks_to_skip;   /* calls of sched_idle_note between two reads of stat: a backoff */
    unsigned looks_skipped;   /* since the last read of stat */
};

enum { SCHED_IDLE_FILES_MAX = 256 };

/* What the kernel tells of the thread that samples. All zero: its files are not open yet. */
struct sched_idle_own {
    bool is_open;
    int sched_fd, schedstat_fd; /* owned; -1: it could not be opened */
    uint64_t turns, wait_ns;    /* of schedstat, as last read */
    bool waited; /* for the turn that goes on, or on average for those since the last read: so it
                    did not take the CPU, but got it when another thread left it */
};

/*
 * The stat and sched files that stay open, of all threads that share this. With thousands of
 * threads descriptors are scarce, and most threads sleep: one that is asked again and again keeps
 * its files, and the one whose were opened first makes room.
 *
 * Shape: all zero but `max`: none is open; sched_idle_files_finish before it goes.
 */
struct sched_idle_files {
    struct sched_idle *open[SCHED_IDLE_FILES_MAX]; /* borrowed; NULL: nobody's */
    size_t next;                                   /* place that is given away next */
    size_t max; /* of them in use, from 1 to SCHED_IDLE_FILES_MAX */
    struct sched_idle_own own;
};

/* How many descriptors more than now may be open. */
size_t sched_idle_files_left(const struct sched_idle_files *files);

void sched_idle_files_finish(struct sched_idle_files *files);

/*
 * Wake-up of the calling thread on a CPU: the kernel updated the counters of the thread that it
 * preempted there.
 */
struct sched_idle_wake {
    uint64_t woke_ns; /* by a clock that does not stop; 0: it did not wake up for this sample */
    int cpu;
};

void sched_idle_init(struct sched_idle *sched_idle);
void sched_idle_finish(struct sched_idle *sched_idle);

/* True if the thread has slept since before its stack was read. */
bool sched_idle_since_read(struct sched_idle *sched_idle);

/* True if the thread slept when its stat was read last, and has slept since. */
bool sched_idle_since_look(struct sched_idle *sched_idle);

/*
 * Looks at a thread before its stack is fetched, if it was seen asleep lately. A thread that works
 * for a moment and sleeps again would be seen asleep by who asks after the fetch, or awake though
 * its stack was fetched while it slept: so whether it runs is found out first. `proc_fd` is the
 * process's /proc directory.
 *
 * One that is ready to run has a CPU, or waits for one. It has one if it has been given a CPU once
 * more than it has left one; or did until now, if it is the one that the calling thread took the
 * CPU from. (If that had to wait for its turn, the other has left the CPU by itself: where it did
 * so, in a system call mostly, it is seen too often.) Else it waits. If it has slept since it
 * was seen to have a CPU, where it waits says little of where it runs: with the stack with which it
 * slept before it was woken up, say. If it has not, its CPU was taken from it anywhere.
 *
 * Gives: true: it has slept since before its stack was read.
 * Cost: nothing for a thread that was not seen asleep lately; else reads schedstat (0.4 us warm),
 *       and stat (1.2 us) unless it has slept on; sched (2 us) if it is ready to run, and that of
 *       the calling thread if it last ran on the same CPU and has none.
 */
bool sched_idle_look(struct sched_idle *sched_idle, struct sched_idle_files *files, int proc_fd,
                     pid_t tid);

/*
 * True if the thread runs or waits for a CPU. What sched_idle_look found in this sample holds,
 * whatever the thread has done since (see `cpu_wait`); else it is asked now, after its stack was
 * fetched. Whether it has a CPU is then asked if it was seen asleep lately, has waited since the
 * sample before, or has used no CPU time.
 *
 * Cost: reads schedstat, and stat, unless it has slept on, or ran on without a break since the
 *       look, or its counters account for all the time since it was preempted last.
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

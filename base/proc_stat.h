/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_stat.h - the numbers that the kernel tells of a process or thread: its stat, schedstat,
 * sched, statm and status files.
 *
 * Errors:  all functions that give an enum proc_rc: PROC_GONE, PROC_DENIED, PROC_FAILED, also for
 *          text that is not understood; *out is untouched then.
 * Threads: all functions may be called from any thread; they allocate nothing.
 * Source:  proc(5); Documentation/scheduler/sched-stats.rst and kernel/sched/debug.c of the kernel.
 */
#ifndef BASE_PROC_STAT_H
#define BASE_PROC_STAT_H

#include "base/proc_file.h"

struct proc_stat {
    pid_t parent, group, session;
    uint64_t start;         /* clock ticks after boot */
    size_t threads;         /* of the process */
    uint64_t cpu_ns;        /* that it has used, to two hundredths of a second, */
    uint64_t waited_cpu_ns; /* and its children that it has waited for, with theirs; likewise */
    int cpu;                /* where it ran last */
    char state;             /* 'R' runs or waits for a CPU, 'S' sleeps, 'Z' zombie, ... */
    bool is_kernels;        /* a thread of the kernel, which runs no program */
    char name[64];          /* the kernel's name of it: at most 15 bytes */
};

/* The scheduler's counters of a thread. */
struct proc_sched {
    uint64_t cpu_ns;  /* updated only at ticks, and when the thread leaves the CPU */
    uint64_t wait_ns; /* that it waited for a CPU */
    uint64_t turns;   /* times that it was given a CPU */
};

/* What the scheduler tells of a thread's turns on a CPU. */
struct proc_turns {
    uint64_t ended;      /* that are over: proc_sched.turns, less one while it has a CPU */
    uint64_t slept;      /* of those, after which it slept; the others were taken from it */
    uint64_t counted_ns; /* when its CPU time was counted last, by the clock of its CPU: when its
                            last turn ended or, while it has a CPU, at a tick; 0: it has moved to
                            another CPU since */
};

/* Memory of a process, in pages. */
struct proc_statm {
    uint64_t size, resident, shared, data;
};

/* Parses the text of a stat file. False: it is none. */
MUST_CHECK bool proc_stat_parse(const char *text, struct proc_stat *out);

/* Reads the stat of a process, or of a thread. */
MUST_CHECK enum proc_rc proc_stat_read(pid_t pid, struct proc_stat *out);
MUST_CHECK enum proc_rc proc_stat_read_thread(pid_t pid, pid_t tid, struct proc_stat *out);

/*
 * Gives a number that is another one after each exec: a hash of the addresses where the exec has
 * put the program, its data, stack and environment. Where addresses are not random (personality(2))
 * it may stay what it was if a process runs the same executable again. Without the right to read
 * the process it knows the kernel's name of it only.
 */
MUST_CHECK enum proc_rc proc_exec_mark(pid_t pid, uint64_t *out);

/*
 * True if a process has ended and waits for its parent. A zombie need not have: once the first
 * thread has called pthread_exit, the kernel calls the process a zombie while others go on.
 */
MUST_CHECK bool proc_stat_is_ended(const struct proc_stat *stat);

/*
 * A thread of a process that has not ended: the first, `pid`, as a rule. Through a thread that has,
 * the kernel shows neither memory nor maps, arguments, environment, root or executable.
 * /proc/TID has all files that /proc/PID has.
 *
 * Gives: `pid` if none lives, or it cannot be told.
 * Cost:  one stat file; if the first thread has ended, one more for each thread up to the one.
 */
MUST_CHECK pid_t proc_living_thread(pid_t pid);

/* The same as an open directory of the thread, below a process's /proc directory; `proc_fd` opened
 * once more if it is the first. Gives a descriptor; -1: errno says why. */
MUST_CHECK int proc_living_dir(int proc_fd);

/* Reads an open stat, or schedstat, again from its start. */
MUST_CHECK enum proc_rc proc_stat_reread(int fd, struct proc_stat *out);
MUST_CHECK enum proc_rc proc_sched_reread(int fd, struct proc_sched *out);

/* Reads an open sched of a thread again; 2 us. Kernels without CONFIG_SCHED_DEBUG have no such
 * file. */
MUST_CHECK enum proc_rc proc_turns_reread(int fd, struct proc_turns *out);

/* Reads the schedstat of a thread. */
MUST_CHECK enum proc_rc proc_sched_read(pid_t pid, pid_t tid, struct proc_sched *out);

MUST_CHECK enum proc_rc proc_statm_read(pid_t pid, struct proc_statm *out);

/* One line of a status file: what follows the label, cut at `size` - 1 bytes; "": not there. */
struct proc_status_field {
    const char *label; /* with its colon */
    char *text;        /* borrowed, written */
    size_t size;
};

/* Reads some lines of a status file. Takes over `fd`; -1: it could not be opened, and errno says
 * why. */
MUST_CHECK enum proc_rc proc_status_read(int fd, const struct proc_status_field *fields,
                                         size_t count);

#endif

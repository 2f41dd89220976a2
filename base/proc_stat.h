/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_stat.h - reads the stat, schedstat, sched, statm and status files of a process or thread.
 *
 * Errors:  those of proc_file.h; *out is untouched then. PROC_FAILED also for text that is not
 *          understood, except that of a status file.
 * Threads: all functions may be called from any thread. proc_living_thread, proc_living_dir,
 *          proc_exec_mark and proc_statm_read may allocate a directory stream, the others nothing.
 * Source:  proc(5); Documentation/scheduler/sched-stats.rst and kernel/sched/debug.c of the kernel.
 */
#ifndef BASE_PROC_STAT_H
#define BASE_PROC_STAT_H

#include "base/proc_file.h"

struct proc_stat {
    pid_t parent, group, session; /* pid of the parent, process group id, session id */
    uint64_t start;               /* when it was started: clock ticks after boot */
    size_t threads;               /* number of threads of the process */
    uint64_t cpu_ns;              /* CPU time that it has used, up to 20 ms too low */
    uint64_t waited_cpu_ns;       /* CPU time of its descendants that were waited for; as exact */
    int cpu;                      /* number of the CPU where it ran last */
    char state;                   /* 'R' runs or waits for a CPU, 'S' sleeps, 'Z' zombie, ... */
    bool is_kernels;              /* a kernel thread, which runs no program */
    char name[64];                /* comm: at most 15 bytes, of a kernel thread up to 63 */
};

/* The scheduler's counters of a thread. */
struct proc_sched {
    uint64_t cpu_ns;  /* time on a CPU; updated at ticks and when the thread leaves the CPU */
    uint64_t wait_ns; /* time that it waited for a CPU */
    uint64_t turns;   /* how often it was given a CPU */
};

/* What the scheduler tells of a thread's turns on a CPU. */
struct proc_turns {
    uint64_t ended;      /* turns that are over: proc_sched.turns, less one while it has a CPU */
    uint64_t slept;      /* ended turns after which it slept; in the others it was preempted */
    uint64_t counted_ns; /* last update of its CPU time, by the clock of its CPU: the end of its
                            last turn or, while it has a CPU, a tick; 0: it has moved to another
                            CPU since */
};

/* Memory of a process, in pages. */
struct proc_statm {
    uint64_t size, resident, shared, data; /* columns of statm: see proc(5) */
};

/* Parses the text of a stat file. False: it is no such text; *out is untouched. */
MUST_CHECK bool proc_stat_parse(const char *text, struct proc_stat *out);

/* Read the stat file of a process or thread. PROC_GONE also if the process was just reaped. */
MUST_CHECK enum proc_rc proc_stat_read(pid_t pid, struct proc_stat *out);
MUST_CHECK enum proc_rc proc_stat_read_thread(pid_t pid, pid_t tid, struct proc_stat *out);

/*
 * Gives a number that changes with each exec: a hash of the addresses of the program's code, data,
 * stack and environment. If addresses are not random (personality(2)), it may stay the same when a
 * process executes the same file again. Without the right to read the process the kernel hides the
 * addresses: the number is then a hash of its comm.
 */
MUST_CHECK enum proc_rc proc_exec_mark(pid_t pid, uint64_t *out);

/*
 * True if a process has ended and its parent has not waited for it yet. State 'Z' is not enough:
 * after pthread_exit in the first thread the kernel shows 'Z' while the other threads go on.
 */
MUST_CHECK bool proc_stat_is_ended(const struct proc_stat *stat);

/*
 * Gives the id of a thread that has not ended: `pid`, the first thread, unless that one has ended.
 * /proc/TID has all files that /proc/PID has; but those of an ended thread show no memory, maps,
 * arguments, environment, root or executable.
 *
 * Errors: gives `pid` if no thread lives, or the threads cannot be read.
 * Cost:   one stat file; if the first thread has ended, one more for each thread that is tried.
 */
MUST_CHECK pid_t proc_living_thread(pid_t pid);

/* Opens the /proc directory of the thread that proc_living_thread finds. `proc_fd`: the open /proc
 * directory of the process. Gives a descriptor, which the caller closes; -1 and errno. */
MUST_CHECK int proc_living_dir(int proc_fd);

/* Read an open stat or schedstat file again from its start. */
MUST_CHECK enum proc_rc proc_stat_reread(int fd, struct proc_stat *out);
MUST_CHECK enum proc_rc proc_sched_reread(int fd, struct proc_sched *out);

/* Reads the open sched file of a thread again. Kernels without CONFIG_SCHED_DEBUG have no such
 * file. Cost: 2 us. */
MUST_CHECK enum proc_rc proc_turns_reread(int fd, struct proc_turns *out);

/* Reads the schedstat file of a thread. */
MUST_CHECK enum proc_rc proc_sched_read(pid_t pid, pid_t tid, struct proc_sched *out);

MUST_CHECK enum proc_rc proc_statm_read(pid_t pid, struct proc_statm *out);

/* One line of a status file that is asked for. */
struct proc_status_field {
    const char *label; /* with its colon */
    char *text;        /* borrowed: receives what follows the label; "": no such line */
    size_t size;       /* bytes of `text`; what does not fit is cut */
};

/* Reads some lines of an open status file and closes `fd`. If `fd` is -1, the errno of its open
 * gives the result. On failure texts may be set too. */
MUST_CHECK enum proc_rc proc_status_read(int fd, const struct proc_status_field *fields,
                                         size_t count);

#endif

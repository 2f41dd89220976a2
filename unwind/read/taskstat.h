/* SPDX-License-Identifier: Apache-2.0 */
/* taskstat.h - the kernel's stat and schedstat lines of a thread of the target. */
#ifndef UNWIND_READ_TASKSTAT_H
#define UNWIND_READ_TASKSTAT_H

#include "unwind/cpy.h"

struct taskstat {
    char state;  /* 'R': runs or waits for a CPU */
    int cpu;     /* where it ran last */
    int threads; /* of its process */
};

/* The scheduler's counters of a thread. */
struct taskstat_sched {
    uint64_t cpu_ns;  /* updated only at ticks, and when the thread leaves the CPU */
    uint64_t wait_ns; /* that it waited for a CPU */
    uint64_t turns;   /* times that it was given a CPU */
};

/* Opens task/TID/NAME below a /proc directory of a process. -1: the thread is gone. */
int taskstat_open(int proc_fd, pid_t tid, const char *name);

/* Reads the thread's stat, or schedstat, from its start. False: the thread is gone, or fd is -1. */
MUST_CHECK bool taskstat_reread(int fd, struct taskstat *out);
MUST_CHECK bool taskstat_reread_sched(int fd, struct taskstat_sched *out);

#endif

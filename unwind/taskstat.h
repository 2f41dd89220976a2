/* SPDX-License-Identifier: Apache-2.0 */
/* taskstat.h - what the kernel's stat line says of a thread of the target. */
#ifndef UNWIND_TASKSTAT_H
#define UNWIND_TASKSTAT_H

#include "unwind/cpy.h"

struct taskstat {
    char state; /* 'R': runs or waits for a CPU */
    int cpu;    /* where it ran last */
};

/* Reads task/TID/stat below a /proc directory of a process. False: the thread is gone. */
MUST_CHECK bool taskstat_read(int proc_fd, pid_t tid, struct taskstat *out);

/* What the scheduler has counted of a thread so far. */
struct taskstat_sched {
    uint64_t cpu_ns;  /* brought up to date only at ticks and when it is switched away from */
    uint64_t wait_ns; /* that it waited for a CPU */
    uint64_t turns;   /* times that it was given a CPU */
};

/* Reads task/TID/schedstat. False: the thread is gone, or the kernel does not count. */
MUST_CHECK bool taskstat_read_sched(int proc_fd, pid_t tid, struct taskstat_sched *out);

/* The same from files that stay open: -1, or false, if the thread is gone. */
int taskstat_open(int proc_fd, pid_t tid, const char *name);
MUST_CHECK bool taskstat_reread(int fd, struct taskstat *out);
MUST_CHECK bool taskstat_reread_sched(int fd, struct taskstat_sched *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - samples one process and gives its threads the time that they took.
 *
 * Wall time: what passed since the last good sample of that thread.
 * CPU time: the kernel's number for the thread (schedstat), spread over the stacks it
 * was seen running with; what the process took beyond that (threads that run no
 * Python, threads that ended, bursts that no sample met) goes to a frame that says so.
 * GIL time: the wall time of samples in which the thread held the GIL.
 */
#ifndef AGENT_PROCESS_H
#define AGENT_PROCESS_H

#include "agent/proc.h"
#include "agent/service.h"
#include "agent/spread.h"
#include "unwind/cpy.h"

/* What is known of one thread between samples. */
struct process_thread {
    cpy_addr state;
    pid_t tid;
    struct proc_thread files;
    bool has_files;       /* and its CPU time is counted here */
    uint64_t cpu_ns;      /* as last read */
    uint64_t settled_ns;  /* up to here it has been given out */
    uint64_t last_ns;     /* monotonic: its last good sample */
    uint64_t seen;        /* the sample in which it was last there */
    uint32_t row;         /* what it was counted under last */
    uint64_t row_ns;      /* in the interval that began then; 0: in none */
    struct spread spread; /* rows of the service's profile */
};

struct process {
    struct proc_id id;
    struct cpy_target *target; /* owned */
    struct service *service;   /* borrowed */
    enum service_split split;
    struct process_thread *threads; /* owned, in the order in which they were last seen */
    size_t thread_count, thread_capacity;
    size_t next;           /* index of the thread that is likely seen next */
    uint64_t sample;       /* counts samples */
    uint64_t last_ns;      /* monotonic: the last sample */
    uint64_t cpu_base_ns;  /* the process's CPU time when it was opened */
    uint64_t cpu_given_ns; /* of what came since, given out so far */
    bool failed;           /* out of memory */
};

/* Takes over `target`. The first sample only sets the clocks. */
void process_init(struct process *process, struct proc_id id, struct cpy_target *target,
                  struct service *service, enum service_split split, uint64_t now_ns);

/* Gives out the CPU time so far, and ends it. */
void process_finish(struct process *process);

/* Takes one sample of all threads. */
MUST_CHECK enum cpy_rc process_sample(struct process *process, uint64_t now_ns);

/* Gives out the CPU time since the last settling: before its service's profile is encoded. */
void process_settle(struct process *process);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - samples one process and gives its threads the time that they took.
 *
 * Wall time: what passed since the last good sample of that thread.
 * CPU time: the kernel's number for the thread (schedstat), spread over the stacks it
 * was seen running with; what the process took beyond that (threads that run no
 * Python, threads that ended, bursts that no sample met) goes to a frame that says so.
 * GIL time: the wall time of samples in which the thread held the GIL; exception time likewise.
 * Wait time: that the thread was ready and had no CPU, by the kernel, spread like CPU time.
 *
 * A process that rests is not read. Its CPU clock tells: it is as it was before the last sample,
 * so no thread has run and stopped since. One that began to run just now would not show yet: the
 * kernel brings the clock up to date at its ticks and when a thread is switched away from. So
 * either no other thread at all runs on this host now, or each thread of the process is asked.
 *
 * One that has done nothing for 0.3 s is looked at in each IDLE_EACH-th tick only, or
 * more rarely where ticks are short, see process_ticks: the look stands for the ticks before it.
 * Most of these looks are glances, at the clock alone: only each GLANCES-th asks for those that
 * began to run just now, and what it finds stands for the glances before it, too.
 * They count if it finds that the process rested all the time; else all of the time since the last
 * look goes to what it finds, which is right for what is short, as that is met so rarely. What goes
 * on for longer is sampled at each tick from then on, and began half a look ago on average: the
 * other half is paid back to the stack that rested before, for as long as the thread does something
 * else.
 *
 * A process that rested when an interval ended, and since, is not read for the next one, either:
 * its stacks are counted anew as they were.
 *
 * Where tasks are asked for, the stack of a thread that runs one is that of the task, read right
 * after it; where waiting tasks are, too, they have the wall time between two samples, as threads
 * have, and the process is read at each tick: the kernel does not tell of tasks that it does not
 * know.
 */
#ifndef AGENT_SAMPLING_PROCESS_H
#define AGENT_SAMPLING_PROCESS_H

#include "agent/discover/sample_options.h"
#include "agent/proc/proc.h"
#include "agent/sampling/async_stacks.h"
#include "agent/sampling/cpu_attribution.h"
#include "agent/sampling/hang.h"
#include "agent/sampling/service.h"
#include "unwind/cpy.h"

/* How long a thread has held the GIL in one place; see gil_stuck.h. */
struct process_gil_stuck {
    uint64_t since_ns;  /* 0: it does not */
    uint64_t looked_ns; /* when its frames were last compared, */
    uint64_t mark;      /* and what they held then, by cpy_fingerprint */
    unsigned looks;     /* how often they were, since */
};

/* What is known of one thread between samples. */
struct process_thread {
    cpy_addr state;
    pid_t tid;
    bool counts;        /* its CPU time is counted here, not in another state of it */
    bool has_gil;       /* in its last good sample */
    bool has_exception; /* likewise */
    struct process_gil_stuck stuck;
    struct proc_times times;     /* as last read */
    struct proc_times committed; /* up to here they have been given out */
    uint64_t last_ns;            /* monotonic: its last good sample, or that it was known to rest */
    uint64_t seen;               /* the sample in which it was last there */
    uint32_t row;                /* what it was counted under last */
    uint64_t row_ns;             /* in the interval that began then; 0: in none */
    uint64_t overcounted_ns;     /* wall time that what it does now is to pay back, to this row */
    uint32_t overcounted_row;
    struct cpu_attribution cpu_attribution; /* rows of the service's profile */
};

/* What is known of how a process rests. */
struct process_idle {
    uint64_t moved_ns; /* monotonic: when its CPU time was last seen to have moved */
    uint64_t
        whole_ns; /* the last sample has a row of each thread, in the interval that began then */
    uint64_t
        since_ns;   /* it is known to have rested until then since its last sample; 0: it is not */
    uint64_t count; /* samples in that time, which would have been as the one before */
    uint64_t ticks; /* that the next sample stands for */
    uint64_t cheap_checks,
        cheap_check_ticks;   /* since it was last asked: looks at the clock; their ticks */
    uint64_t cheap_check_ns; /* monotonic: the last of these */
    bool runs;               /* a thread ran in the last sample: no use to ask the clock */
    bool goes_on; /* it rested at the end of the interval before, all of it known, and since */
};

enum { IDLE_EACH = 8, CHEAP_CHECKS = 8 };

/* A thread that was seen to run a task, whose stack is yet to be read. */
struct process_pending {
    size_t thread; /* its index */
    cpy_addr state;
    uint32_t status, row; /* the row of its own stack */
    char name[64];        /* "": not known */
};

struct process {
    struct proc_id id;
    struct cpy_target *target; /* owned */
    struct service *service;   /* borrowed */
    enum service_split split;
    struct sample_options options;
    struct hang hang;
    struct async_stacks *tasks;      /* owned; NULL: they are not asked for */
    struct process_pending *pending; /* owned */
    size_t pending_count, pending_capacity;
    struct process_thread *threads; /* owned, in the order in which they were last seen */
    size_t thread_count, thread_capacity;
    size_t next;      /* index of the thread that is likely seen next */
    uint64_t sample;  /* counts samples that read it */
    uint64_t last_ns; /* monotonic: the last sample */
    clockid_t clock;  /* of its CPU time */
    bool has_clock;
    uint64_t cpu_ns;       /* as last read */
    uint64_t cpu_base_ns;  /* when it was opened */
    uint64_t cpu_given_ns; /* of what came since, given out so far */
    struct process_idle idle;
    bool failed; /* out of memory */
};

/* Takes over `target`. The first sample only sets the clocks. */
void process_init(struct process *process, struct proc_id id, struct cpy_target *target,
                  struct service *service, enum service_split split, uint64_t now_ns);

/* What its samples are to have, before the first. False: out of memory. */
MUST_CHECK bool process_set_options(struct process *process, const struct sample_options *options);

/* Gives out what came so far, and ends it. */
void process_finish(struct process *process);

/*
 * Takes one sample of all threads. `alone`: no other thread runs on this host now, or a moment
 * ago. `*out_read`, unless NULL: whether the process was read, or rests.
 */
MUST_CHECK enum cpy_rc process_sample(struct process *process, uint64_t now_ns, bool alone,
                                      bool *out_read);

/* True if process_sample would like to know whether it is alone. */
bool process_may_be_idle(const struct process *process);

/* How many ticks after the last sample the next is to be taken: it stands for them. */
uint64_t process_ticks(const struct process *process);

/* The next sample comes earlier than process_ticks said. */
void process_leave_idle(struct process *process, uint64_t now_ns);

/* Tells its rows apart by `split` from now on; what came so far is given out before. */
void process_set_split(struct process *process, enum service_split split, uint64_t now_ns);

/* Counts what comes from now on for another service. */
void process_move(struct process *process, struct service *service, uint64_t now_ns);

/* Gives out what came since the last settling: before its service's profile is encoded. */
void process_commit(struct process *process, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - samples one process and gives its threads the time that they took.
 *
 * Wall time: the time since the last good sample of the thread.
 * CPU time:  the kernel's number for the thread (schedstat), divided over the stacks that it was
 *            seen running with. What the process used beyond that is of threads without Python, by
 *            their own numbers; of threads that came and went; or of bursts between the samples of
 *            others. That of threads that came and went goes to the stacks that such threads were
 *            seen running, in proportion: an estimate, whose relative error is one by the root of
 *            how many ended. The others go to frames that say so (cpu_class.h), as does what the
 *            process used before its first sample if it was born after we came, and what its
 *            children used that nobody sampled (children.h).
 * GIL time:  the wall time of samples in which the thread held the GIL; exception time likewise.
 * Wait time: the time in which the thread was ready to run and had no CPU, by the kernel; divided
 *            over the stacks that it was seen waiting with.
 *
 * What a process uses once its interpreter shuts down, after the last Python frame, goes to a frame
 * that says so, and to no function that has ended.
 *
 * Idle processes are not read. The CPU clock of the process has not moved since the last sample, so
 * no thread has run and stopped since. A thread that began to run just now does not show yet,
 * because the kernel updates the clock at its ticks and when it switches threads. So either no
 * other thread runs on this host, or each thread of the process is checked.
 *
 * Backoff: a process that was idle for 0.3 s is checked in each IDLE_EACH-th tick only, or more
 * rarely where ticks are short (process_ticks). The check counts for the ticks before it. Most
 * checks are cheap: they read the CPU clock alone. Each CHEAP_CHECKS-th check looks for threads
 * that began to run just now, and counts for the cheap checks before it, too.
 *
 * If the process was idle all the time, the ticks count for its last sample. Else all time since
 * the last check goes to the stack that is found now. That is right on average for short activity,
 * because checks meet it so rarely. Longer activity is sampled at each tick from then on, and began
 * half a backoff ago on average: the other half is given back to the stack that was idle before,
 * for as long as the thread is active (overcounted_ns).
 *
 * A process that was idle at the end of an interval, and since, is not read for the next interval
 * either: its stacks are counted again as they were.
 *
 * Tasks: if they are asked for, the stack of a thread that runs a task is the task's stack, read
 * right after the thread's. If waiting tasks are asked for, too, they have the wall time between
 * two samples and the process is read at each tick, because the kernel does not know about tasks.
 */
#ifndef AGENT_SAMPLING_PROCESS_H
#define AGENT_SAMPLING_PROCESS_H

#include "agent/discover/sample_options.h"
#include "agent/proc/proc.h"
#include "agent/sampling/async_stacks.h"
#include "agent/sampling/children.h"
#include "agent/sampling/cpu_attribution.h"
#include "agent/sampling/cpu_class.h"
#include "agent/sampling/hang.h"
#include "agent/sampling/native_threads.h"
#include "agent/sampling/service.h"
#include "unwind/cpy.h"

/*
 * How long a thread has held the GIL at one instruction; see gil_stuck.h.
 *
 * Cache: whether a thread is still in the same call (`mark`)
 * Key:   hash of the addresses, instructions and values of its frames, and of the GIL's switches
 * Ends:  when the hash differs or the thread runs elsewhere
 * Test:  tests/unit/unwind/test_fingerprint.c: changes_with_a_variable
 *        tests/unit/unwind/test_fingerprint.c: changes_when_the_gil_was_handed_over
 */
struct process_gil_stuck {
    uint64_t since_ns;  /* monotonic: first sample there; 0: none */
    uint64_t looked_ns; /* monotonic: when its frames were last compared */
    uint64_t mark;      /* cpy_fingerprint of its frames at looked_ns */
    unsigned looks;     /* comparisons since since_ns */
};

/* CPU times of a thread as the scheduler counts them, a tick old at most. */
struct process_times {
    uint64_t cpu_ns, wait_ns; /* that it ran; that it waited for a CPU */
};

/*
 * State of one thread between samples.
 *
 * Cache: rows and times of threads
 * Key:   address of the thread state, and the kernel's thread id
 * Ends:  when a sample does not have it; not when another thread has the same key in the next
 *        sample
 * Test:  tests/unit/sampling/test_process.c: gives_out_the_rest_when_it_ends
 */
struct process_thread {
    cpy_addr state;
    pid_t tid;
    bool counts;        /* its CPU time is counted here, not in another state of it */
    uint64_t first;     /* number of the sample that had it first */
    bool has_gil;       /* in its last good sample */
    bool has_exception; /* likewise */
    bool ran;           /* in its last sample, which was good */
    struct process_gil_stuck stuck;
    struct process_times times;     /* as last read */
    struct process_times committed; /* the part of `times` that is in the profile */
    struct process_times part;      /* `times` when the part of cpu_attribution began */
    uint64_t last_ns;               /* monotonic: its last good sample or idle check */
    uint64_t seen;                  /* number of the sample that saw it last */
    uint32_t row;                   /* row of its last sample, */
    uint64_t row_ns;                /* valid in the interval that began then; 0: none */
    uint64_t overcounted_ns;        /* wall time to give back to overcounted_row */
    uint32_t overcounted_row;
    uint32_t track;                         /* in the time line of the service; 0: none */
    uint64_t track_cpu_ns;                  /* CPU time that its samples have */
    struct cpu_attribution cpu_attribution; /* rows of the service's profile */
};

/* Idle state of a process. */
struct process_idle {
    uint64_t moved_ns; /* monotonic: when its CPU time was last seen to have moved */
    uint64_t whole_ns; /* interval (by its start) in which each thread has a row; 0: none */
    uint64_t since_ns; /* monotonic: idle from the last sample until then; 0: not idle */
    uint64_t count;    /* samples that were not taken in that time */
    uint64_t ticks;    /* ticks that the next sample counts for */
    uint64_t cheap_checks, cheap_check_ticks; /* since the last full check; their ticks */
    uint64_t cheap_check_ns;                  /* monotonic: the last of them */
    uint64_t clock_read_ns; /* monotonic: the sample before which the CPU clock was read last */
    bool runs;    /* a thread ran in the last sample: the clock has moved since in any case */
    bool goes_on; /* idle since before the end of the last interval, with all threads known */
};

enum { IDLE_EACH = 8, CHEAP_CHECKS = 8 };

/* A thread that runs a task whose stack must still be read. */
struct process_pending {
    size_t thread; /* its index */
    cpy_addr state;
    uint32_t status, row; /* the row of its own stack */
    char name[64];        /* "": not known */
};

/*
 * Cache: CPU clock of the process
 * Key:   pid (`clock`)
 * Ends:  when the pidfd tells its end; a clock that went back is one of another process
 * Test:  tests/unit/sampling/test_process.c: keeps_the_cpu_time_of_a_process_that_is_gone
 */
struct process {
    struct proc_id id;
    struct cpy_target *target; /* owned */
    struct service *service;   /* borrowed */
    enum service_split split;
    struct sample_options options;
    struct hang hang;
    struct async_stacks *tasks;      /* owned; NULL: tasks are not asked for */
    struct process_pending *pending; /* owned */
    size_t pending_count, pending_capacity;
    struct process_thread *threads; /* owned, in the order in which they were last seen */
    size_t thread_count, thread_capacity;
    size_t next;       /* index of the thread that the sample likely has next */
    uint64_t sample;   /* number of samples that read the process */
    uint64_t last_ns;  /* monotonic: the last sample */
    uint64_t names_ns; /* monotonic: when names of threads were last looked at again */
    clockid_t clock;   /* of its CPU time */
    bool has_clock;
    uint64_t cpu_ns;              /* as last read */
    uint64_t cpu_base_ns;         /* its value when the process was opened */
    uint64_t cpu_given_ns;        /* of the time since then, the part that is in profiles */
    uint64_t resting_ns;          /* of it, what threads used that were not seen running */
    struct cpu_attribution tails; /* rows of threads that have ended since the last commit, and what
                                     those of their kind used unseen, about */
    struct cpu_attribution child_tails; /* the same of children that were sampled */
    struct cpu_by_class *by_class;      /* borrowed: counts what is given out; NULL: nobody does */
    uint64_t begin_ns, look_around_ns;  /* monotonic: when it began, and when to look again at */
    struct children children;
    struct native_threads native;
    struct process_idle idle;
    bool shuts_down; /* its interpreter, in the last sample; then it has no threads here */
    bool failed;     /* out of memory */
};

/* Takes over `target`. The first sample only sets the clocks. */
void process_init(struct process *process, struct proc_id id, struct cpy_target *target,
                  struct service *service, enum service_split split, uint64_t now_ns);

/*
 * Accounts for more than its threads: for children that nobody samples and, `from_birth`, for what
 * the process has used so far. `by_class` is lent until process_finish.
 */
void process_account(struct process *process, bool from_birth, struct cpu_by_class *by_class);

/* Sets what its samples contain; before the first. False: out of memory. */
MUST_CHECK bool process_set_options(struct process *process, const struct sample_options *options);

/* What a process leaves to the one that waits for it. */
struct process_end {
    struct proc_id id;
    pid_t parent;    /* 0: not known */
    uint64_t cpu_ns; /* its CPU time, with that of the children that it has waited for */
};

/* Commits the time so far, and frees what it owns. `out`, which may be NULL, is set unless it was
 * never begun. */
void process_finish(struct process *process, struct process_end *out);

/* A child of the process ends that is sampled: what it used after its last sample, if its parent
 * was sooner than we to read it, is about what it was doing then. Before process_finish. */
void process_note_child(struct process *process, const struct process *child, uint64_t now_ns);

/*
 * Takes one sample of all threads. `alone`: no other thread of this host ran when the caller
 * checked, just before. `*out_read`, unless NULL: true: the process was read; false: it is idle.
 */
MUST_CHECK enum cpy_rc process_sample(struct process *process, uint64_t now_ns, bool alone,
                                      bool *out_read);

/* True if the process may be idle, so that process_sample needs `alone`. */
bool process_may_be_idle(const struct process *process);

/* Ticks between the last sample and the next, which counts for all of them. */
uint64_t process_ticks(const struct process *process);

/* Ends the idle backoff: the next sample is due at the next tick. */
void process_leave_idle(struct process *process, uint64_t now_ns);

/* Splits its rows by `split` from now on, after it has committed the time so far. */
void process_set_split(struct process *process, enum service_split split, uint64_t now_ns);

/* Counts what comes from now on for another service. */
void process_move(struct process *process, struct service *service, uint64_t now_ns);

/* Commits the time since the last commit to the profile of its service, before that is encoded. */
void process_commit(struct process *process, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - samples one process and gives the time of its threads to their stacks.
 *
 * Wall time: the time since the last good sample of the thread.
 * CPU time:  the kernel's number for the thread (schedstat), divided over the stacks that it was
 *            seen running with. The process uses more than these threads: in threads without
 *            Python, in threads that come and go, and in bursts between samples. The time of
 *            threads that came and went goes to the stacks that such threads were seen running: an
 *            estimate with a relative error of 1/sqrt(n) for n ended threads. The rest goes to
 *            frames that tell the reason (cpu_class.h); so does the time before the first sample of
 *            a process born after we came, and that of children that nobody sampled (children.h).
 * GIL time:  the wall time of samples in which the thread held the GIL.
 * Exception: the wall time of samples in which the thread handled or raised an exception.
 * Wait time: the time in which the thread was ready to run and had no CPU, by the kernel; divided
 *            over the stacks that it was seen waiting with.
 *
 * CPU time after the interpreter has begun to shut down goes to a frame of its own (cpu_class.h).
 *
 * Idle processes are not read. If the CPU clock of the process has not moved since the last sample,
 * no thread has run and stopped since. A thread that began to run just now does not show yet,
 * because the kernel updates the clock at its ticks and when it switches threads. So either no
 * other thread runs on this host, or each thread of the process is checked.
 *
 * Backoff: a process that was idle for 0.3 s is checked in each IDLE_EACH-th tick only; later after
 * each 1/16 of its idle time, if that is longer, up to 0.4 s (process_ticks). The check counts for
 * the ticks before it. Most checks are cheap: they read the CPU clock alone. Each CHEAP_CHECKS-th
 * check looks for threads that began to run just now, and counts for the cheap checks before it.
 *
 * If the process was idle all the time, the ticks count for its last sample. Else all time since
 * the last check goes to the stack that is found now. That is right on average for short activity,
 * because checks meet it so rarely. Longer activity is sampled at each tick from then on, and began
 * half a backoff ago on average. So half of the time is owed to the stack of the idle time, and
 * paid back from later samples while the thread is active (overcounted_ns).
 *
 * A process that was idle at the end of an interval, and since, is not read for the next interval
 * either: its last stacks count again.
 *
 * Tasks: if sample_options.tasks asks for them, the stack of a thread that runs a task is the
 * task's stack, read right after the thread's. With TASKS_ALL, waiting tasks have the wall time
 * between two samples, and the process is read at each tick, because the kernel knows no tasks.
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
    uint64_t since_ns;  /* monotonic: first sample at the instruction; 0: none */
    uint64_t looked_ns; /* monotonic: when its frames were last compared */
    uint64_t mark;      /* cpy_fingerprint of its frames at looked_ns */
    unsigned looks;     /* comparisons since since_ns */
};

/* Times of a thread as the scheduler counts them, a tick old at most. */
struct process_times {
    uint64_t cpu_ns, wait_ns; /* time on a CPU; time ready to run without a CPU */
};

/*
 * State of one thread between samples.
 *
 * Cache: rows and times of threads
 * Key:   address of the thread state, and the kernel's thread id
 * Ends:  with the sample that lacks it; a new thread with the same key in that sample takes it over
 * Test:  tests/unit/sampling/test_process.c: gives_out_the_rest_when_it_ends
 */
struct process_thread {
    cpy_addr state;     /* its PyThreadState; a thread has several with sub-interpreters */
    pid_t tid;          /* 0: not known */
    bool counts;        /* the CPU time of `tid` is counted here, not with another state of it */
    uint64_t first;     /* number of the sample that had it first */
    bool has_gil;       /* it held the GIL in its last good sample */
    bool has_exception; /* the same for an exception, if sample_options.exception */
    bool ran;           /* its last sample was good, and it ran or waited for a CPU */
    struct process_gil_stuck stuck;
    struct process_times times;     /* as last read */
    struct process_times committed; /* the part of `times` that is in the profile */
    struct process_times part;      /* `times` when the part of cpu_attribution began */
    uint64_t last_ns;               /* monotonic: its last good sample or idle check */
    uint64_t seen;                  /* number of the sample that saw it last */
    uint32_t row;                   /* row of its last good sample */
    uint64_t row_ns;                /* service.start_ns of the interval of `row`; 0: no row */
    uint64_t overcounted_ns;        /* wall time owed to overcounted_row */
    uint32_t overcounted_row;
    uint32_t track;                         /* in the time line of the service; 0: none */
    uint64_t track_cpu_ns;                  /* times.cpu_ns at the last sample in the time line */
    struct cpu_attribution cpu_attribution; /* rows of the service's profile */
};

/* Idle state of a process. */
struct process_idle {
    uint64_t moved_ns; /* monotonic: when its CPU clock was last seen to have moved */
    uint64_t whole_ns; /* service.start_ns of the interval if each thread has a row in it; else 0 */
    uint64_t since_ns; /* monotonic: end of the idle time since the last sample; 0: not idle */
    uint64_t count;    /* samples that were not taken in that time */
    uint64_t ticks;    /* ticks that the next sample counts for */
    uint64_t cheap_checks, cheap_check_ticks; /* since the last full check; their ticks */
    uint64_t cheap_check_ns;                  /* monotonic: the last cheap check */
    uint64_t clock_read_ns; /* `now_ns` of the last sample that read the CPU clock; 0: none */
    bool runs;              /* a thread ran in the last sample, so the clock has moved since */
    bool goes_on; /* idle since before the end of the last interval, with all threads known */
};

enum { IDLE_EACH = 8, CHEAP_CHECKS = 8 }; /* see Backoff above */

/* A thread that runs a task whose stack must still be read. */
struct process_pending {
    size_t thread; /* index in process.threads */
    cpy_addr state;
    uint32_t status, row; /* enum cpy_status bits; the row of the thread's own stack */
    char name[64];        /* of the thread; "": not known */
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
    struct service *service;   /* borrowed: gets the samples */
    enum service_split split;
    struct sample_options options;
    struct hang hang;
    struct async_stacks *tasks;      /* owned; NULL: tasks are not asked for */
    struct process_pending *pending; /* owned */
    size_t pending_count, pending_capacity;
    struct process_thread *threads; /* owned, in the order in which they were last seen */
    size_t thread_count, thread_capacity;
    size_t next;           /* index where the search for the next thread of a sample begins */
    uint64_t sample;       /* number of samples that read the process */
    uint64_t last_ns;      /* monotonic: the last sample */
    uint64_t names_ns;     /* monotonic: when names of threads were last looked at again */
    clockid_t clock;       /* CPU clock of the process */
    bool has_clock;        /* `clock` is valid */
    uint64_t cpu_ns;       /* value of `clock`, as last read */
    uint64_t cpu_base_ns;  /* the part of cpu_ns that does not count */
    uint64_t cpu_given_ns; /* the part of cpu_ns - cpu_base_ns that is in profiles */
    uint64_t resting_ns;   /* CPU time of threads not seen running, not in profiles yet */
    struct cpu_attribution tails; /* rows of threads that have ended since the last commit, with an
                                     estimate of what such threads used after their last sample */
    struct cpu_attribution child_tails; /* the same for children that were sampled */
    struct cpu_by_class *by_class;      /* borrowed: sums CPU time put into profiles; or NULL */
    uint64_t begin_ns, look_around_ns;  /* monotonic: start; next look at the next two */
    struct children children;
    struct native_threads native;
    struct process_idle idle;
    bool shuts_down; /* its interpreter did so in the last sample; thread_count is 0 */
    bool failed;     /* out of memory; stays set */
};

/* Takes over `target`. The first sample only sets the clocks. */
void process_init(struct process *process, struct proc_id id, struct cpy_target *target,
                  struct service *service, enum service_split split, uint64_t now_ns);

/*
 * Also accounts for threads without Python, children that nobody samples and, if `from_birth`, CPU
 * time used so far; not with main_only. Call it after process_set_options. `by_class` is lent until
 * process_finish.
 */
void process_account(struct process *process, bool from_birth, struct cpu_by_class *by_class);

/* Sets what samples contain; call it before the first. False: no memory, samples have no tasks. */
MUST_CHECK bool process_set_options(struct process *process, const struct sample_options *options);

/* CPU time of a process that is no longer sampled, for its parent's struct children. */
struct process_end {
    struct proc_id id;
    pid_t parent;    /* 0: not known */
    uint64_t cpu_ns; /* its CPU time, with that of the children that it has waited for */
};

/* Commits the time so far, and frees what it owns. Sets *out, unless `out` is NULL or process_init
 * was not called. */
void process_finish(struct process *process, struct process_end *out);

/* Call it before process_finish of a sampled child of the process. If the parent reaped the child
 * first, we could not read what it used after its last sample: that goes to the last stacks. */
void process_note_child(struct process *process, const struct process *child, uint64_t now_ns);

/*
 * Takes one sample of all threads. `alone`: no other thread of this host ran when the caller
 * checked, just before. Sets *out_read, unless NULL; false: the process was idle and was not read.
 *
 * Errors: as cpy_sample.
 */
MUST_CHECK enum cpy_rc process_sample(struct process *process, uint64_t now_ns, bool alone,
                                      bool *out_read);

/* True if the process may be idle, so that process_sample needs `alone`. */
bool process_may_be_idle(const struct process *process);

/* Ticks from the last sample to the next one, which counts for all of them. */
uint64_t process_ticks(const struct process *process);

/* Ends the idle backoff: the next sample is due at the next tick. */
void process_leave_idle(struct process *process, uint64_t now_ns);

/* Commits the time so far if `split` is another one; splits its rows by `split` from now on. */
void process_set_split(struct process *process, enum service_split split, uint64_t now_ns);

/* Commits the time so far; later samples go to another service. */
void process_move(struct process *process, struct service *service, uint64_t now_ns);

/* Adds the time since the last commit to the profile of its service, before that is encoded. */
void process_commit(struct process *process, uint64_t now_ns);

#endif

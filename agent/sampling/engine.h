/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/sampling: knows when each process is sampled, and how CPU, wall, GIL and waiting
 * time becomes weights of stacks. Knows neither what becomes of a profile nor other processes of
 * pystrobe.
 *
 * engine.h - samples processes, each at its rate, and delivers the profile of each service at the
 * end of each interval.
 *
 * It finds the processes itself (settings.choose), or is told which ones to sample (engine_take).
 *
 * Shape:   engine_new; engine_run until it says why it stopped; engine_flush for the running
 *          interval; engine_free.
 * Threads: one. Signals that the engine reports must be blocked in all threads.
 */
#ifndef AGENT_SAMPLING_ENGINE_H
#define AGENT_SAMPLING_ENGINE_H

#include <signal.h>
#include <sys/signalfd.h>

#include "agent/child/heartbeat.h"
#include "agent/discover/target_profile.h"
#include "agent/proc/ptrace_access.h"
#include "agent/sampling/bursts.h"
#include "agent/sampling/process.h"
#include "agent/sampling/refused.h"
#include "base/time_units.h"

/* A process that hangs, or has stopped hanging. */
struct engine_hang {
    struct proc_id id;
    enum hang_kind kind; /* HANG_NONE: it runs again */
    pid_t tid;           /* of the thread that is stuck; 0: not known */
    uint64_t lasted_ns;  /* since it hangs, or has hung */
    uint64_t mark;       /* proc_exec_mark of the program that is sampled; in the callback only */
};

/* Events of processes that were handed over with engine_take. Pointers are lent for the call. */
struct engine_callbacks {
    /* It is sampled now, and runs that version of Python. */
    void (*began)(void *ctx, struct proc_id id, const char *version);
    /* It cannot be sampled now, or no more; `err` says why. */
    void (*put_off)(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err);
    void (*ended)(void *ctx, struct proc_id id);
    /* A process is sampled no more, and another engine may sample its parent, and needs it for
     * engine_note_child. May be NULL. */
    void (*child)(void *ctx, const struct process_end *child);
    /* Its service and labels: before `began`, and again once they are settled. Until then its
     * samples may go to a service of its own, `held`, which ends when this returns; NULL: none.
     * May be NULL. */
    void (*named)(void *ctx, struct proc_id id, const struct target_profile *profile,
                  const struct service *held);
};

struct engine_settings {
    /* Decides whether a process is sampled. Not called for pystrobe itself or for zombies. NULL:
     * the engine looks for none; engine_take and engine_drop say what is sampled, and `callbacks`
     * must be set. */
    bool (*choose)(void *ctx, pid_t pid, const struct proc_stat *stat, struct target_profile *out);
    const struct engine_callbacks *callbacks; /* static */
    /* A process that was chosen is sampled from now on. May be NULL. */
    void (*chosen_began)(void *ctx, pid_t pid);
    int messages_fd;             /* borrowed: engine_run returns when it is readable; 0: none */
    struct heartbeat *heartbeat; /* borrowed: set to the process that is read; NULL: none */
    /* Gets the profile of each service at the end of an interval, before it is emptied. */
    void (*deliver)(void *ctx, const struct service *service, uint64_t now_ns);
    /* A process hangs, or has stopped hanging. The callback may read it. May be NULL. */
    void (*hangs)(void *ctx, const struct engine_hang *hang);
    /* A warning about a process, given once. NULL: it goes to the log, and to engine_warnings. */
    void (*warns)(void *ctx, struct proc_id id, const struct err *text);
    /* All services of the interval were delivered. May be NULL. */
    void (*interval_ended)(void *ctx);
    void *ctx;
    uint64_t interval_ns; /* 0: one interval, until engine_flush */
    uint64_t scan_ns;     /* time between two scans of /proc */
    pid_t only;           /* consider this process only; 0: all of /proc */
    pid_t parent;         /* CPU time of the children that this process waits for from now on goes
                             to the oldest service (children.h); 0: none */
    size_t max_services;  /* profiles of an interval; 0: no limit */
    bool exception;       /* rows have VALUE_EXCEPTION, too */
    enum service_value timeline; /* services keep their samples with the times, weighted by that
                                    value; VALUE_SAMPLES: they do not */
    bool eager;                  /* scan five times a second, and more often at first */
    struct cpy_scratch *scratch; /* the engine's from engine_new on; NULL: it makes one */
    sigset_t signals;            /* engine_run reports these */
};

enum engine_event {
    ENGINE_DEADLINE,
    ENGINE_SIGNAL,   /* *out_signal says which */
    ENGINE_MESSAGES, /* messages_fd can be read */
    ENGINE_FAILED    /* out of memory or descriptors; logged */
};

#define ENGINE_ONE(name, label, text) +1
enum { ENGINE_OUTCOMES = 0 CPY_OUTCOMES(ENGINE_ONE) };
#undef ENGINE_ONE

/*
 * The scheduler's time slice that the thread of an engine should ask for, once it has started all
 * commands, which would inherit it. With the usual slice, ticks on a host that has more threads to
 * run than CPUs would be tens of milliseconds late, and many be missed.
 */
#define ENGINE_SLICE_NS (500 * NS_PER_US)

/* From this rate on (Hz) the BPF reader pays off: see cpy_scratch_use_bpf. */
enum { ENGINE_BPF_MIN_HZ = 100 };

/* Upper bounds of a histogram of durations, us. */
#define ENGINE_BOUNDS_US                               \
    {                                                  \
        10, 30, 100, 300, 1000, 10000, 100000, 1000000 \
    }
enum { ENGINE_BOUNDS = 8 };

struct engine_times {
    uint64_t counts[ENGINE_BOUNDS + 1]; /* above the bound before, the last above all */
    uint64_t sum_ns;
};

/* What happened so far. */
struct engine_stats {
    uint64_t samples;                 /* of processes */
    struct engine_times times;        /* of those that read their process */
    uint64_t sampling_ns;             /* what samples cost: see sampling_cost.h */
    uint64_t opening_ns;              /* CPU time to open processes, with their first samples */
    uint64_t idle;                    /* of `samples`: not read, as the process had not run */
    uint64_t missed;                  /* ticks that were over before their turn came */
    uint64_t failed[ENGINE_OUTCOMES]; /* samples that could not be taken, by enum cpy_rc */
    uint64_t overflow;                /* stacks that profiles had no room for */
    struct cpu_by_class cpu;          /* CPU time in profiles */
    size_t sampling;                  /* processes that are sampled now */
    uint64_t attached;                /* of settings.choose: so far, each once */
    enum cpy_rc last_rc;              /* of the last process that could not be opened */
    struct err last_error;            /* why */
    enum ptrace_access last_access;   /* what kept us from it, if it was denied */
};

/* The same of one process. */
struct engine_counts {
    uint64_t samples;
    uint64_t missed;                  /* ticks */
    uint64_t failed[ENGINE_OUTCOMES]; /* samples */
    uint64_t torn;                    /* stacks, and why: */
    uint64_t torn_moved, torn_chain, torn_code, torn_unmapped;
    double tick_ns;      /* mean cost of a sample now: see sampling_cost.h */
    double recent_bytes; /* added to profiles in about the last minute */
};

struct engine;

/* Gives: the engine, ended with engine_free; NULL: out of memory or descriptors. */
MUST_CHECK struct engine *engine_new(const struct engine_settings *settings);

/* Samples until `deadline_ns` (monotonic; UINT64_MAX: none) or another event. */
MUST_CHECK enum engine_event engine_run(struct engine *engine, uint64_t deadline_ns,
                                        struct signalfd_siginfo *out_signal);

/*
 * Samples the processes that `burst` fits at its rate for `duration_ns`, also those that come
 * later. Its until_ns is ignored.
 *
 * Gives: how many there are now; SIZE_MAX: there are BURSTS_MAX bursts already.
 */
size_t engine_burst(struct engine *engine, const struct burst *burst, uint64_t duration_ns);

/* Slows the targets of an owner that cost more than `share_ns` a second (fair_share.h). */
void engine_share(struct engine *engine, uint64_t owner, double share_ns);

/* Samples a process from now on. If it cannot be sampled, callbacks->put_off is called, maybe
 * before this returns. */
void engine_take(struct engine *engine, struct proc_id id, const struct target_profile *profile);

/* Stops sampling a process; nothing if it is not sampled. */
void engine_drop(struct engine *engine, struct proc_id id);

/* `child`, of a process that is sampled here, was sampled elsewhere: its CPU time counts there. */
void engine_note_child(struct engine *engine, const struct process_end *child);

/* Ends the interval now: delivers each service's profile and begins the next. */
void engine_end_interval(struct engine *engine);

enum { SPLIT_PIDS_MAX = 8 };

/*
 * Processes whose samples get a label pid, whatever their target profile says.
 *
 * Cache: processes whose rows have a label pid for a while
 * Key:   pid and start time
 * Ends:  with the next engine_commit
 * Test:  tests/unit/sampling/test_bursts.c: names_the_process_that_has_the_number_now
 */
struct split_pids {
    size_t count;
    struct proc_id ids[SPLIT_PIDS_MAX]; /* start 0: any with this pid */
};

/* Commits all time so far, so that the running profiles are complete up to now. From now on
 * `split_pids` holds. */
void engine_commit(struct engine *engine, const struct split_pids *split_pids);

/* The services of the running interval, a list; NULL: none. Lends until another call. */
const struct service *engine_services(const struct engine *engine);

/* Takes a last sample of each process and ends the interval. */
void engine_flush(struct engine *engine);

/* Lends until engine_free. */
const struct engine_stats *engine_stats(const struct engine *engine);

/* The processes that were chosen, but could not be read. Lends until engine_free. */
const struct refused *engine_refused(const struct engine *engine);

/* Warnings for users, as lines, if settings.warns is NULL. Lends until the next engine_run. */
const struct buf *engine_warnings(const struct engine *engine);

/* Records in `stats` that a process could not be opened, and why. Gives what kept us from it, if it
 * was CPY_DENIED; else PTRACE_ACCESS_NONE. */
enum ptrace_access engine_note_failure(struct engine_stats *stats, pid_t pid, enum cpy_rc rc,
                                       const struct err *err);

/* Calls `each` for all processes that are sampled. */
void engine_each(const struct engine *engine,
                 void (*each)(void *ctx, struct proc_id id, const struct engine_counts *counts),
                 void *ctx);

/* The unwinder's counters of all processes so far, also of those that have ended. */
void engine_unwinder(const struct engine *engine, struct cpy_stats *out);

/* Ends it; delivers nothing. NULL is fine. */
void engine_free(struct engine *engine);

#endif

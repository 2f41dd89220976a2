/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/sampling: knows when each process is sampled, and how CPU, wall, GIL and waiting
 * time become weights of stacks. Knows neither where profiles go nor other processes of pystrobe.
 *
 * engine.h - samples processes, each at its rate, and delivers the profile of each service at the
 * end of each interval.
 *
 * It finds the processes itself (settings.choose), or is told which ones to sample (engine_take).
 *
 * Shape:   engine_new; engine_run again and again, which returns at each event; engine_flush to
 *          deliver the running interval; engine_free.
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
    pid_t tid;           /* as in struct hang */
    uint64_t lasted_ns;  /* how long it has hung so far; with HANG_NONE: in all */
    uint64_t mark;       /* proc_exec_mark of the program; 0 in messages of a sampler */
};

/* Events of processes that were handed over with engine_take. Pointers are lent for the call. */
struct engine_callbacks {
    /* The process is sampled now, and runs this version of Python. */
    void (*began)(void *ctx, struct proc_id id, const char *version);
    /* The process cannot be sampled, or its sampling has failed and stopped; `err` says why. */
    void (*put_off)(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err);
    void (*ended)(void *ctx, struct proc_id id); /* the process has exited */
    /* Sampling of a process has stopped, and its parent is not sampled here. If another engine
     * samples the parent, pass `child` to its engine_note_child. May be NULL. */
    void (*child)(void *ctx, const struct process_end *child);
    /* Tells service and labels: before `began`, then with `held` NULL, and again once the name is
     * final or the sampling stops, if the samples so far went to a service of this process alone,
     * `held`, which is freed when this returns. May be NULL. */
    void (*named)(void *ctx, struct proc_id id, const struct target_profile *profile,
                  const struct service *held);
};

struct engine_settings {
    /* Decides whether a process is sampled, and fills *out if so. Not called for pystrobe itself or
     * for zombies. NULL: the engine looks for no processes; the caller uses engine_take and
     * engine_drop, and must set `callbacks`. */
    bool (*choose)(void *ctx, pid_t pid, const struct proc_stat *stat, struct target_profile *out);
    const struct engine_callbacks *callbacks; /* static */
    /* A process, chosen or taken, is sampled from now on. May be NULL. */
    void (*chosen_began)(void *ctx, pid_t pid);
    int messages_fd;             /* borrowed: engine_run returns when it is readable; 0: none */
    struct heartbeat *heartbeat; /* borrowed: told which process is being read; NULL: none */
    /* Gets each service at the end of an interval, before its profile is emptied. A service that
     * service_defer holds back is not delivered. */
    void (*deliver)(void *ctx, const struct service *service, uint64_t now_ns);
    /* A process hangs, or has stopped hanging. The callback may read the process. May be NULL. */
    void (*hangs)(void *ctx, const struct engine_hang *hang);
    /* Gets each warning about a process once. NULL: it goes to the log and to engine_warnings. */
    void (*warns)(void *ctx, struct proc_id id, const struct err *text);
    /* All services of the interval have been delivered. May be NULL. */
    void (*interval_ended)(void *ctx);
    void *ctx;
    uint64_t interval_ns; /* 0: only engine_end_interval and engine_flush end one */
    uint64_t scan_ns;     /* time between two scans of /proc */
    pid_t only;           /* consider this process only; 0: all of /proc */
    pid_t parent;         /* CPU time of unsampled children that this process waits for from now on
                             goes to the oldest service (children.h); 0: none */
    size_t max_services;  /* services.max; 0: no limit */
    bool exception;       /* rows have VALUE_EXCEPTION, too */
    enum service_value timeline; /* services keep a time line weighted by this value;
                                    VALUE_SAMPLES: none */
    bool eager;                  /* scan five times a second, and more often at first */
    struct cpy_scratch *scratch; /* given to engine_new, also if it fails; NULL: it makes one */
    sigset_t signals;            /* signals that engine_run reports */
};

enum engine_event {
    ENGINE_DEADLINE, /* `deadline_ns` has come */
    ENGINE_SIGNAL,   /* *out_signal says which */
    ENGINE_MESSAGES, /* messages_fd can be read */
    ENGINE_FAILED    /* waiting for events failed; logged */
};

#define ENGINE_ONE(name, label, text) +1
enum { ENGINE_OUTCOMES = 0 CPY_OUTCOMES(ENGINE_ONE) };
#undef ENGINE_ONE

/*
 * Scheduler time slice that the thread of an engine should ask for, after it has started all
 * commands, because they would inherit it. With the usual slice on a host with more runnable
 * threads than CPUs, ticks come tens of milliseconds late, and many are missed.
 */
#define ENGINE_SLICE_NS (500 * NS_PER_US)

/* Rate in Hz from which on the BPF reader pays off: see cpy_scratch_use_bpf. */
enum { ENGINE_BPF_MIN_HZ = 100 };

/* Upper bounds of a histogram of durations, us. */
#define ENGINE_BOUNDS_US                               \
    {                                                  \
        10, 30, 100, 300, 1000, 10000, 100000, 1000000 \
    }
enum { ENGINE_BOUNDS = 8 };

/* Histogram of durations. */
struct engine_times {
    uint64_t counts[ENGINE_BOUNDS + 1]; /* [i]: up to bound i, above the one before; last: longer */
    uint64_t sum_ns;
};

/* Counters of an engine since engine_new. */
struct engine_stats {
    uint64_t samples;                 /* ticks of processes, also those that needed no read */
    struct engine_times times;        /* durations of the samples that read their process */
    uint64_t sampling_ns;             /* cost of samples: see sampling_cost.h */
    uint64_t opening_ns;              /* CPU time to open processes, and time of first samples */
    uint64_t idle;                    /* of `samples`: not read, because the process had not run */
    uint64_t missed;                  /* ticks for which the engine came too late */
    uint64_t failed[ENGINE_OUTCOMES]; /* samples that could not be taken, by enum cpy_rc */
    uint64_t overflow;                /* samples whose stack the profile had no room for */
    struct cpu_by_class cpu;          /* CPU time in profiles */
    size_t sampling;                  /* processes that are sampled now */
    uint64_t attached;                /* processes that settings.choose chose and were sampled */
    enum cpy_rc last_rc;              /* of the last process that engine_note_failure recorded */
    struct err last_error;            /* why it could not be opened, or its sampling stopped */
    enum ptrace_access last_access;   /* the obstacle, if last_rc is CPY_DENIED */
};

/* Counters of one process. */
struct engine_counts {
    uint64_t samples;                 /* as in struct engine_stats */
    uint64_t missed;                  /* as in struct engine_stats */
    uint64_t failed[ENGINE_OUTCOMES]; /* as in struct engine_stats */
    uint64_t torn;                    /* this and the next four: as in struct cpy_stats */
    uint64_t torn_moved, torn_chain, torn_code, torn_unmapped;
    double tick_ns;      /* mean cost of a tick: see sampling_cost.h */
    double recent_bytes; /* added to profiles in the last 30 to 60 seconds of ticks */
};

struct engine;

/* Gives: the engine, ended with engine_free; NULL: out of memory or descriptors. */
MUST_CHECK struct engine *engine_new(const struct engine_settings *settings);

/* Samples until `deadline_ns` (monotonic; UINT64_MAX: none) or another event, which it gives. */
MUST_CHECK enum engine_event engine_run(struct engine *engine, uint64_t deadline_ns,
                                        struct signalfd_siginfo *out_signal);

/*
 * Samples the processes that `burst` covers at its rate for `duration_ns`, also those that start
 * later. Its until_ns is ignored.
 *
 * Gives: how many processes it covers now; SIZE_MAX: there are BURSTS_MAX bursts already.
 */
size_t engine_burst(struct engine *engine, const struct burst *burst, uint64_t duration_ns);

/* Limits each target of an owner to `share_ns` of cost a second (fair_share.h). */
void engine_share(struct engine *engine, uint64_t owner, double share_ns);

/* Samples a process from now on. If it cannot be sampled, callbacks->put_off is called, maybe
 * before this returns. */
void engine_take(struct engine *engine, struct proc_id id, const struct target_profile *profile);

/* Stops sampling a process; nothing if it is not sampled. */
void engine_drop(struct engine *engine, struct proc_id id);

/* Tells that the CPU time of `child` is counted already: its parent must not count it again. */
void engine_note_child(struct engine *engine, const struct process_end *child);

/* Ends the interval now: delivers each service's profile and begins the next. */
void engine_end_interval(struct engine *engine);

enum { SPLIT_PIDS_MAX = 8 };

/*
 * Processes whose samples have a label `pid`, also if the split of their profile is SPLIT_NONE.
 *
 * Cache: processes whose rows have a label `pid` for a while
 * Key:   pid and start time
 * Ends:  with the next engine_commit
 * Test:  tests/unit/sampling/test_bursts.c: names_the_process_that_has_the_number_now
 */
struct split_pids {
    size_t count;
    struct proc_id ids[SPLIT_PIDS_MAX]; /* start 0: any with this pid */
};

/* Commits all time so far, so that the running profiles are complete up to now. Samples taken from
 * now on are split by *split_pids. */
void engine_commit(struct engine *engine, const struct split_pids *split_pids);

/* First service of the running interval, of a list; NULL: none. Lends until the next call. */
const struct service *engine_services(const struct engine *engine);

/* Takes a last sample of each process, and delivers every service, also held-back ones. */
void engine_flush(struct engine *engine);

/* Lends until engine_free. */
const struct engine_stats *engine_stats(const struct engine *engine);

/* Processes that settings.choose chose and that could not be read. Lends until engine_free. */
const struct refused *engine_refused(const struct engine *engine);

/* All warnings so far, a line each, if settings.warns is NULL. Lends until the next engine_run. */
const struct buf *engine_warnings(const struct engine *engine);

/* Records in `stats` why a process could not be opened or sampled further. A recorded CPY_DENIED
 * stays if the process is gone. Gives the obstacle; PTRACE_ACCESS_NONE if `rc` is another one. */
enum ptrace_access engine_note_failure(struct engine_stats *stats, pid_t pid, enum cpy_rc rc,
                                       const struct err *err);

/* Calls `each` for all processes that are sampled. */
void engine_each(const struct engine *engine,
                 void (*each)(void *ctx, struct proc_id id, const struct engine_counts *counts),
                 void *ctx);

/* Sets *out to the unwinder's counters, summed over all processes, also those that have ended. */
void engine_unwinder(const struct engine *engine, struct cpy_stats *out);

/* Frees the engine; delivers nothing. NULL is fine. */
void engine_free(struct engine *engine);

#endif

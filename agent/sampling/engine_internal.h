/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_internal.h - shared by engine.c and engine_targets.c; no other file includes it.
 *
 * engine.c has the loop and the intervals, engine_targets.c the processes that are sampled.
 */
#ifndef AGENT_SAMPLING_ENGINE_INTERNAL_H
#define AGENT_SAMPLING_ENGINE_INTERNAL_H

#include "agent/discover/finder.h"
#include "agent/host/alarm.h"
#include "agent/host/trim.h"
#include "agent/host/utc.h"
#include "agent/sampling/engine.h"
#include "agent/sampling/target.h"

enum { ENGINE_WARNINGS_MAX = 8192 }; /* bytes */

struct engine {
    struct engine_settings settings;
    struct engine_stats stats;
    struct cpy_stats ended;      /* sum of the unwinder's counters of processes no longer sampled */
    struct finder *finder;       /* owned; NULL without settings.choose */
    struct refused refused;      /* processes that the finder found, and that cannot be read */
    struct buf warnings;         /* owned: see engine_warnings */
    struct cpy_scratch *scratch; /* owned: shared by all targets */
    struct target **sampling;    /* owned, and so is each; stats.sampling of them */
    size_t sampling_capacity;
    struct target *pinned; /* borrowed: the target that cpy_pin_cpu moved us for; NULL: none */
    struct services services;
    struct children started; /* children of settings.parent; its pid is 0 where that is 0 */
    int epoll_fd, signal_fd; /* owned */
    int running_fd;          /* owned: for proc_running */
    /* Backoff: skip the is_alone() check for this many wake-ups; how many of them are left. */
    unsigned alone_backoff, alone_backoff_left;
    uint64_t interval_end_ns;
    struct ticks ticks; /* of all targets */
    struct alarm alarm; /* used when there is one target */
    struct bursts bursts;
    struct trim trim;
    struct split_pids split_pids;
    struct utc utc; /* clocks at the last check for a step of the wall clock */
};

/* engine_targets.c, which does not use engine.c */

/* Gives the CPU time of unsampled children of settings.parent to the oldest service. */
void engine_look_at_started(struct engine *engine);

/* The parent of a process, if the parent is sampled and the process is a fork of it that has not
 * executed a program: their interpreters are at the same addresses. Otherwise NULL. */
const struct cpy_target *engine_forked_from(const struct engine *engine, pid_t pid);

/* Makes the loop wake up when `fd` is readable; `what` becomes the data of its epoll event. False:
 * out of watches or memory. */
MUST_CHECK bool engine_epoll_add(struct engine *engine, int fd, void *what);

/* Update the heartbeat: the read of a process begins; the read has ended. */
void engine_begin_reading(struct engine *engine, struct proc_id id, uint64_t now_ns);
void engine_end_reading(struct engine *engine);

/* Begins to sample a process that has been opened; takes over `opened`, also on failure. Errors:
 * CPY_GONE, CPY_NOMEM (also: no descriptors left). */
MUST_CHECK enum cpy_rc engine_start(struct engine *engine, struct proc_id id,
                                    const struct target_profile *profile,
                                    struct cpy_target *opened);

/* CPU time of this thread. */
uint64_t engine_thread_cpu_ns(void);

/* Stops sampling a target, commits its time so far and frees it. */
void engine_stop(struct engine *engine, struct target *target);

/* Records that a process cannot be sampled now, and tells the finder, or callbacks->put_off. */
void engine_put_off(struct engine *engine, struct proc_id id, enum cpy_rc rc,
                    const struct err *err);

/* Reads the service name from a new process again. Once the process tells it, or settle_ns has
 * passed, moves the process from its held service to the service of that name. */
void engine_ask_name(struct engine *engine, struct target *target, uint64_t now_ns);

/* Passes a warning about a process to settings.warns; without one, to the log and `warnings`. */
void engine_warn(struct engine *engine, struct proc_id id, const struct err *text);

/* Looks for a second interpreter in the process; warns when it finds one, and looks no more. */
void engine_look_for_another(struct engine *engine, struct target *target, uint64_t now_ns);

/* Sets the split of each target as its profile and split_pids say. */
void engine_split_all(struct engine *engine, uint64_t now_ns);

#endif

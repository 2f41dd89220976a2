/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_internal.h - what the files of an engine share; nobody else includes it.
 *
 * engine.c has its loop and its intervals, engine_targets.c the processes that it samples.
 */
#ifndef AGENT_SAMPLING_ENGINE_INTERNAL_H
#define AGENT_SAMPLING_ENGINE_INTERNAL_H

#include "agent/discover/finder.h"
#include "agent/host/alarm.h"
#include "agent/host/trim.h"
#include "agent/host/utc.h"
#include "agent/sampling/engine.h"
#include "agent/sampling/target.h"

struct engine {
    struct engine_settings settings;
    struct engine_stats stats;
    struct cpy_stats ended; /* the unwinder's counters of processes that are not sampled any more */
    struct finder *finder;  /* owned */
    struct cpy_scratch *scratch; /* owned: of all that are sampled */
    struct target **sampling;    /* owned, and so is each */
    size_t sampling_capacity;
    struct target *pinned; /* borrowed: on whose CPU we are; NULL: nobody's */
    struct services services;
    int epoll_fd, signal_fd;
    int running_fd; /* owned: for proc_running */
    /* Wake-ups after the last that we were not alone in without asking whether we are; how many of
     * these are left. */
    unsigned alone_backoff, alone_backoff_left;
    uint64_t interval_end_ns;
    struct ticks ticks; /* of those that are sampled */
    struct alarm alarm; /* for a single one */
    struct bursts bursts;
    struct trim trim;
    struct split_pids split_pids;
    struct utc utc; /* when it was last looked whether the clock was set */
};

/* engine_targets.c, which knows nothing of engine.c */

/* Has the loop woken when `fd` can be read, for `what`. False: no descriptors, or no memory. */
MUST_CHECK bool engine_epoll_add(struct engine *engine, int fd, void *what);

/* From now on a process is read, which a watcher is to see; and no more. */
void engine_begin_reading(struct engine *engine, struct proc_id id, uint64_t now_ns);
void engine_end_reading(struct engine *engine);

/* Begins to sample a process that has been opened; takes over `opened`. False: it is gone, or out
 * of memory. */
MUST_CHECK bool engine_start(struct engine *engine, struct proc_id id,
                             const struct target_profile *profile, struct cpy_target *opened);

/* Stops sampling a target, and ends it; the time it took so far is given out. */
void engine_stop(struct engine *engine, struct target *target);

/* A process cannot be sampled now. */
void engine_put_off(struct engine *engine, struct proc_id id, enum cpy_rc rc,
                    const struct err *err);

/* A process may publish late who it is: then it goes on as that service. */
void engine_refresh_name(struct engine *engine, struct target *target, uint64_t now_ns);

/* Tells each target apart as it is to be from now on. */
void engine_split_all(struct engine *engine, uint64_t now_ns);

#endif

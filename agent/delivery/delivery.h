/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/delivery: knows the way of a profile from the end of its interval to all exporters:
 * encoding, batches, queues, spool, retries. Does not know how it was sampled, nor the protocols of
 * servers.
 *
 * delivery.h - delivers profiles to all exporters in background threads; never blocks sampling.
 *
 * Shape:   delivery_new, delivery_add for each exporter, delivery_start; delivery_put for each
 *          profile and delivery_end_interval after the last one of an interval; delivery_stop once
 *          at the end, delivery_free.
 * Threads: starts one for each exporter and one for the spool, with all signals blocked.
 *          delivery_stats and delivery_spool_stats may be called from any thread once all exporters
 *          are added, the other functions from one thread. world.log is called from any.
 *
 * The profiles of an interval go to an exporter as one batch, or a few (batch.h). Each exporter has
 * a queue of batches (export_queue.h: what is sent when, retries, bounds) and a thread that sends
 * them (export_worker.c). With a spool (spool_writer.c) a batch is written to disk before it is
 * first sent, unless the disk fails or is slow. It is removed once delivered, refused or given up.
 */
#ifndef AGENT_DELIVERY_DELIVERY_H
#define AGENT_DELIVERY_DELIVERY_H

#include <pthread.h>

#include "agent/delivery/export_queue.h"
#include "agent/delivery/push_counts.h"

enum { DELIVERY_EXPORTERS_MAX = 16 };

enum delivery_level { DELIVERY_INFO, DELIVERY_WARNING };

/* Clocks and log, which tests replace. `ctx` is borrowed. */
struct delivery_world {
    uint64_t (*now_ns)(void *ctx);                                       /* monotonic, never 0 */
    int64_t (*utc_ns)(void *ctx);                                        /* since 1970 */
    void (*log)(void *ctx, enum delivery_level level, const char *line); /* without a newline */
    /* As pthread_cond_clockwait, until `until_ns` of now_ns. NULL: now_ns is CLOCK_MONOTONIC. */
    void (*wait)(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);
    void *ctx;
};

/* Destination of batches: an exporter, or a test's fake. Each member works as the function of
 * exporter.h with its name: exporter_start, exporter_wait and so on. */
struct delivery_sink {
    void (*start)(void *ctx, const struct batch *batch, int64_t now_ns, void *tag);
    bool (*wait)(void *ctx, unsigned timeout_ms, struct exporter_result *out);
    void (*wake)(void *ctx);
    void (*reconnect)(void *ctx);
    void (*cancel)(void *ctx);
    void (*close)(void *ctx); /* called once, at the end */
    size_t in_flight_max, profiles_max;
    void *ctx;
};

/* A directory for batches that wait. A limit of 0 means the default in its comment. */
struct delivery_spool {
    const char *path;        /* borrowed until delivery_new returns */
    uint64_t max_size_bytes; /* of all files; default 256 MiB */
    uint64_t max_age_ns;     /* since a batch's start; default no limit */
    uint64_t min_free_bytes; /* free space to leave on the disk; default none */
    bool held;               /* an earlier delivery of this process may still lock it: wait */
};

/* Statistics of one exporter. They count profiles, unless the comment names something else. */
struct delivery_stats {
    uint64_t sent;            /* taken by the server */
    uint64_t sent_bytes;      /* bytes of `sent` */
    uint64_t rejected;        /* profiles that a server rejected in requests that it took */
    uint64_t retried;         /* sends of a batch that failed and are repeated */
    uint64_t denied;          /* of `retried`: exporter_answer.denied */
    uint64_t refused;         /* refused for good */
    uint64_t dropped_full;    /* lost: queue or spool full, out of memory, or a bad spool file */
    uint64_t dropped_old;     /* lost: tried for too long, or too old */
    uint64_t dropped_stop;    /* lost: only in memory when delivery_stop gave up */
    size_t queued;            /* waiting or in flight now */
    size_t queued_batches;    /* batches of `queued` */
    size_t backlog_bytes;     /* bytes of `queued`, in memory or on disk */
    size_t queued_bytes;      /* of backlog_bytes: in memory */
    size_t in_spool;          /* of `queued`: on disk */
    size_t in_flight;         /* batches in flight */
    uint64_t oldest_ns;       /* waiting time of the oldest batch that this run queued; 0: none */
    bool behind;              /* more profiles come than are sent, though the exporter works */
    double in_rate, out_rate; /* per second, in the last minute: queued; sent or refused for good */
    struct push_counts pushes;
    struct err last_error; /* "" until there was one */
};

/* Statistics of the spool. They count profiles, unless the comment names something else. */
struct delivery_spool_stats {
    bool on;                  /* there is a spool; false: all else is 0 */
    bool failing;             /* batches cannot be written to the disk now */
    size_t entries;           /* on disk now */
    size_t files;             /* files of `entries`, a batch each */
    uint64_t bytes;           /* disk space of `files` */
    uint64_t max_bytes;       /* limit of `bytes` */
    uint64_t written;         /* written since the start */
    uint64_t found;           /* left by an earlier run */
    uint64_t dropped_size;    /* dropped to make room for newer ones */
    uint64_t dropped_age;     /* dropped because older than max_age_ns */
    uint64_t dropped_free;    /* dropped to leave min_free_bytes on the disk */
    uint64_t dropped_unknown; /* dropped because their exporter is not configured any more */
    uint64_t bad;             /* files set aside: no whole batch, or of a newer version */
    uint64_t unreadable;      /* files of an earlier run that are left for the next one */
    uint64_t in_memory;       /* not written before they were sent: the disk failed or was slow */
    size_t pending;           /* batches that wait to be written */
    struct err last_error;    /* "" until there was one */
};

struct delivery; /* private: internal.h */

/*
 * Makes a delivery without exporters. `spool`: NULL: without one. A spool that cannot be opened now
 * is logged, and opened later.
 *
 * Gives:  *out, which the caller ends with delivery_free.
 * Errors: false: another agent has the spool, or out of memory; `err` says which.
 */
MUST_CHECK bool delivery_new(const struct delivery_world *world, const struct delivery_spool *spool,
                             struct delivery **out, struct err *err);

/* Makes a sink of an exporter. The sink owns the exporter: `close` ends it. */
struct delivery_sink delivery_sink_of(struct exporter *exporter);

/*
 * Adds an exporter; copies `name`, *sink and *limits. Takes over the sink: delivery_free closes it.
 *
 * Errors: false: out of memory, or there are DELIVERY_EXPORTERS_MAX already; the sink is closed.
 */
MUST_CHECK bool delivery_add(struct delivery *delivery, const char *name, enum exporter_form form,
                             const struct delivery_sink *sink, const struct export_limits *limits);

/* Logs, and sets as last_error, why the exporter that was added last cannot send yet. Only before
 * delivery_start. */
void delivery_waits(struct delivery *delivery, const struct err *why);

/* Starts the threads. They also send the batches of an earlier run in the spool. False: a thread
 * could not be started; the caller still ends the delivery with delivery_free. */
MUST_CHECK bool delivery_start(struct delivery *delivery);

/* Number of exporters that take profiles of this form. */
size_t delivery_wanted(const struct delivery *delivery, enum exporter_form form);

/*
 * Copies a profile into the batch of its interval, for every exporter of its form. After
 * delivery_stop it is dropped.
 *
 * Cost: one copy; waits for no send and no disk.
 */
void delivery_put(struct delivery *delivery, enum exporter_form form,
                  const struct exporter_profile *profile);

/* Queues the batches of an interval, after its last profile was put. */
void delivery_end_interval(struct delivery *delivery);

/* Makes all exporters use new connections for later sends. */
void delivery_reconnect(struct delivery *delivery);

/* Number of exporters. */
size_t delivery_count(const struct delivery *delivery);

/* Writes the statistics of exporter `i` (from 0, in the order of delivery_add). Lends its name,
 * until delivery_free. */
const char *delivery_stats(struct delivery *delivery, size_t i, struct delivery_stats *out);

/* Writes the statistics of the spool. */
void delivery_spool_stats(struct delivery *delivery, struct delivery_spool_stats *out);

/*
 * Sends queued batches until `deadline_ns` (monotonic), then cancels the sends under way. Batches
 * on disk stay there. Profiles that are only in memory are dropped and logged. If an exporter fails
 * and all its batches are on disk, it is not tried again.
 *
 * Gives: true if nothing was dropped. Later calls do nothing and give true.
 * Cost:  returns at the latest 200 ms after the deadline, or after the call if that is later, even
 *        if a disk or a name server still blocks a thread.
 */
bool delivery_stop(struct delivery *delivery, uint64_t deadline_ns);

/*
 * Ends a delivery; calls delivery_stop, with no time left, if the caller has not. NULL is fine.
 *
 * Gives: false if a blocked thread goes on in the background, with its exporter. Then the caller
 *        must not call exporter_global_finish, and should end the process.
 */
bool delivery_free(struct delivery *delivery);

#endif

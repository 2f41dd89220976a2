/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/delivery: knows the way of a profile from the end of its interval to all exporters:
 * encoding, batches, queues, spool, retries. Does not know how it was sampled, and the protocols of
 * servers.
 *
 * delivery.h - brings profiles to the exporters beside the sampling, without ever holding it up.
 *
 * Shape:   delivery_new, delivery_add for each exporter, delivery_start; delivery_put for each
 *          profile and delivery_end_interval after the last one of an interval; delivery_stop once
 *          at the end, delivery_free.
 * Threads: one for each exporter and one for the spool, with all signals blocked. delivery_stats
 *          and delivery_spool_stats may be called from any thread once all exporters are added;
 *          the rest belongs to one thread. The log is called from any.
 *
 * The profiles of an interval go to an exporter as one batch, or a few (batch.h). Each exporter has
 * a queue of batches (export_queue.h: what is sent when, retries, bounds) and a thread that sends
 * them (export_worker.c). With a spool a batch is on disk before it is first sent, and leaves it
 * when it was delivered, was refused for good, or would not be taken any more (spool_writer.c).
 */
#ifndef AGENT_DELIVERY_DELIVERY_H
#define AGENT_DELIVERY_DELIVERY_H

#include <pthread.h>

#include "agent/delivery/export_queue.h"
#include "agent/delivery/push_counts.h"

enum { DELIVERY_EXPORTERS_MAX = 16 };

enum delivery_level { DELIVERY_INFO, DELIVERY_WARNING };

/* The world as it looks from here. The pointers are static, `ctx` is borrowed. */
struct delivery_world {
    uint64_t (*now_ns)(void *ctx); /* monotonic, never 0 */
    int64_t (*utc_ns)(void *ctx);
    void (*log)(void *ctx, enum delivery_level level, const char *line); /* without a newline */
    /* Waits for `cond` until about `until_ns` of that clock. NULL: it is CLOCK_MONOTONIC. */
    void (*wait)(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);
    void *ctx;
};

/* Where batches go: an exporter, or a test's own. As exporter.h has each. */
struct delivery_sink {
    void (*start)(void *ctx, const struct batch *batch, int64_t now_ns, void *tag);
    bool (*wait)(void *ctx, unsigned timeout_ms, struct exporter_result *out);
    void (*wake)(void *ctx);
    void (*reconnect)(void *ctx);
    void (*cancel)(void *ctx);
    void (*close)(void *ctx); /* once, when nothing uses it any more */
    size_t in_flight_max, profiles_max;
    void *ctx;
};

/* A directory for batches that wait. 0 stands for the default that is named. */
struct delivery_spool {
    const char *path;
    uint64_t max_size_bytes; /* 256 MiB */
    uint64_t max_age_ns;     /* since a batch's start: no limit */
    uint64_t min_free_bytes; /* of the disk, that are left to others: none */
    bool held;               /* a delivery that was left behind may have it: it is waited for */
};

/* Profiles, unless something else is said. */
struct delivery_stats {
    uint64_t sent;            /* that were taken */
    uint64_t sent_bytes;      /* of those */
    uint64_t rejected;        /* samples that a server left out of what it took */
    uint64_t retried;         /* tries of a batch that failed and are to be made again */
    uint64_t denied;          /* of those: for want of a secret or of a server of the type */
    uint64_t refused;         /* refused for good */
    uint64_t dropped_full;    /* that a full queue or spool lost, or no memory was there for */
    uint64_t dropped_old;     /* that were tried for too long, or are too old to be taken */
    uint64_t dropped_stop;    /* that were in memory still when delivery_stop gave up */
    size_t queued;            /* that wait, or are under way */
    size_t queued_batches;    /* batches of those */
    size_t backlog_bytes;     /* of all queued, in memory or on disk */
    size_t queued_bytes;      /* of those in memory */
    size_t in_spool;          /* of those queued: on disk */
    size_t in_flight;         /* batches under way */
    uint64_t oldest_ns;       /* for how long the oldest one that this run made has waited */
    bool behind;              /* more come than are taken, though the exporter works */
    double in_rate, out_rate; /* a second, in the last minute: queued; sent or refused for good */
    struct push_counts pushes;
    struct err last_error; /* "" until there was one */
};

/* Profiles, unless something else is said. */
struct delivery_spool_stats {
    bool on;                  /* there is a spool; without, all else is 0 */
    bool failing;             /* the disk does not take batches now */
    size_t entries;           /* on disk */
    size_t files;             /* batches of those */
    uint64_t bytes;           /* that those take there, */
    uint64_t max_bytes;       /* and may take */
    uint64_t written;         /* since the start */
    uint64_t found;           /* that an earlier run had left */
    uint64_t dropped_size;    /* to make room for newer ones */
    uint64_t dropped_age;     /* older than max_age */
    uint64_t dropped_free;    /* to leave room on the disk */
    uint64_t dropped_unknown; /* for exporters that are configured no more */
    uint64_t bad;             /* files set aside: no whole batch, or a newer version's */
    uint64_t unreadable;      /* files of an earlier run that are left for the next one */
    uint64_t in_memory;       /* that went past the spool, as the disk failed */
    size_t pending;           /* batches that are to be written */
    struct err last_error;    /* "" until there was one */
};

struct delivery; /* private: internal.h */

/*
 * Makes a delivery without exporters; with a `spool` unless it is NULL, whose path is copied.
 * One that cannot be used now is told in the log and tried again later, but for one that
 * another agent has.
 *
 * Gives:  *out, which the caller ends with delivery_free.
 * Errors: false: `err` says that another agent has the spool, or out of memory.
 */
MUST_CHECK bool delivery_new(const struct delivery_world *world, const struct delivery_spool *spool,
                             struct delivery **out, struct err *err);

/* The sink that an exporter is; whoever gets it owns the exporter. */
struct delivery_sink delivery_sink_of(struct exporter *exporter);

/*
 * Adds an exporter.
 *
 * Gives:  the sink to `delivery`, also on failure: it is closed when it is over.
 * Errors: false: out of memory, or there are DELIVERY_EXPORTERS_MAX already.
 */
MUST_CHECK bool delivery_add(struct delivery *delivery, const char *name, enum exporter_form form,
                             const struct delivery_sink *sink, const struct export_limits *limits);

/* Tells that the exporter which was added last waits for something that is not there yet. Before
 * delivery_start. */
void delivery_waits(struct delivery *delivery, const struct err *why);

/* Starts the threads; what an earlier run left in the spool is sent, too. False: out of threads. */
MUST_CHECK bool delivery_start(struct delivery *delivery);

/* How many exporters want profiles of this form. */
size_t delivery_wanted(const struct delivery *delivery, enum exporter_form form);

/*
 * Copies a profile into the batch of its interval, for every exporter of its form. After
 * delivery_stop it is dropped.
 *
 * Cost: one copy; waits for no send and no disk.
 */
void delivery_put(struct delivery *delivery, enum exporter_form form,
                  const struct exporter_profile *profile);

/* All profiles of an interval were put: its batches may go. */
void delivery_end_interval(struct delivery *delivery);

/* Has all exporters make new connections for what they send from now on. */
void delivery_reconnect(struct delivery *delivery);

/* How many exporters there are. */
size_t delivery_count(const struct delivery *delivery);

/* The counters of the exporter that was added as number `i`. Lends its name until delivery_free. */
const char *delivery_stats(struct delivery *delivery, size_t i, struct delivery_stats *out);

/* The counters of the spool. */
void delivery_spool_stats(struct delivery *delivery, struct delivery_spool_stats *out);

/*
 * Tries what is queued until `deadline_ns` (monotonic), then cancels the sends; what is on disk
 * stays there, what is in memory only is dropped and told. With a spool an exporter that fails is
 * not tried again. Returns as soon as all is done, and at the latest 200 ms after the deadline, or
 * after the call if that is later: a thread that a disk or a name server holds up even then is left
 * behind with its exporter.
 *
 * Gives: true if nothing was dropped by it.
 */
bool delivery_stop(struct delivery *delivery, uint64_t deadline_ns);

/*
 * Ends it, at once if delivery_stop was not called. NULL is fine.
 *
 * Gives: false if a thread was left behind, with its exporter: exporter_global_finish
 *        must not be called then, the process is to exit.
 */
bool delivery_free(struct delivery *delivery);

#endif

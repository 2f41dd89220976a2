/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/delivery: knows the way of a profile from the end of its interval to all exporters:
 * encoding, queues, spool, retries. Does not know how it was sampled, and the protocols of
 * servers.
 *
 * delivery.h - brings profiles to the exporters beside the sampling, without ever holding it up.
 *
 * Shape:   delivery_new, delivery_add for each exporter, delivery_start, delivery_put for each
 *          profile, delivery_flush once at the end, delivery_free. Other exporters, while it
 *          runs: change.h.
 * Threads: one for each exporter and one for the spool, with all signals blocked. delivery_put and
 *          delivery_stats may be called from any thread once all exporters are added, but not
 *          beside delivery_change_apply; the rest belongs to one thread. The log is called from
 * any.
 *
 * With a spool a profile is on disk before it is first sent, and leaves it when all
 * exporters that it is for have it, have refused it for good, or would not take it any more.
 * Without one, or while the disk fails, each exporter has a bounded queue in memory that
 * loses its oldest. A thread of its own writes to the disk: nobody waits for that.
 *
 * What fails for now is tried again, in order, after a pause that doubles (exponential
 * backoff with full jitter). An outage counts against no profile; one that fails while
 * others get through holds them up no longer, and is given up in the end (retry_queue.h).
 */
#ifndef AGENT_DELIVERY_DELIVERY_H
#define AGENT_DELIVERY_DELIVERY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time_units.h"
#include "exporters/exporter.h"

enum delivery_level { DELIVERY_INFO, DELIVERY_WARNING };

/* The world as it looks from here. The pointers are static, `ctx` is borrowed. */
struct delivery_world {
    uint64_t (*now_ns)(void *ctx); /* monotonic, never 0 */
    int64_t (*utc_ns)(void *ctx);
    void (*log)(void *ctx, enum delivery_level level, const char *line); /* without a newline */
    void *ctx;
    /* Waits for `cond` until `deadline_ns` of now_ns; may return early. NULL: by CLOCK_MONOTONIC.
     */
    void (*wait)(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);
};

/* Where profiles go: an exporter, or a test's own. */
struct delivery_sink {
    enum exporter_rc (*send)(void *ctx, const struct exporter_profile *profile, int64_t now_ns,
                             struct exporter_answer *answer);
    void (*cancel)(void *ctx); /* from any thread: ends a send, and all later ones */
    void (*close)(void *ctx);  /* once, when nothing uses it any more */
    void *ctx;
};

/* 0 stands for the default that is named. */
struct delivery_limits {
    size_t queue_profiles; /* that wait in memory, beside the one under way: 32 */
    size_t queue_bytes;    /* of those: 32 MiB */
    uint64_t retry_ns;   /* for how long one in memory, or one that fails alone, is tried: 5 min */
    uint64_t max_age_ns; /* since a profile's start, whatever the UTC clock is set to: no limit */
    uint64_t backoff_min_ns; /* 0.5 s */
    uint64_t backoff_max_ns; /* 30 s */
    uint64_t denied_max_ns;  /* the longest pause after 401 or 403: 5 min */
    uint64_t
        send_jitter_ns;    /* profiles wait for a share of it, each agent for its own: not at all */
    uint64_t log_every_ns; /* the least time between two lines about failures: 1 min */
};

/* A directory for profiles that wait. 0 stands for the default that is named. */
struct delivery_spool {
    const char *path;
    uint64_t max_size_bytes; /* 256 MiB */
    uint64_t max_age_ns;     /* since a profile's start, likewise: no limit */
    uint64_t min_free_bytes; /* of the disk, that are left to others: none */
    uint64_t patience_ns;    /* a write that takes longer is not waited for: 5 s */
    uint64_t log_every_ns;   /* the least time between two lines of one kind: 1 min */
    bool held;               /* a delivery that was left behind may have it: it is waited for */
};

struct delivery_stats {
    uint64_t sent;       /* profiles that were taken */
    uint64_t sent_bytes; /* of those */
    uint64_t rejected;   /* samples that a server left out of what it took */
    uint64_t retried;    /* tries that failed and were to be tried again */
    uint64_t denied;     /* of those: for want of a secret that is accepted */
    uint64_t refused;    /* profiles refused for good */
    uint64_t
        dropped_full;     /* profiles that a full queue or spool lost, or no memory was there for */
    uint64_t dropped_old; /* profiles that were tried for too long, or are too old to be taken */
    uint64_t dropped_stop; /* profiles that were in memory still when delivery_flush gave up */
    size_t queued;         /* profiles, with the one under way */
    size_t queued_bytes;   /* of those in memory */
    size_t in_spool;       /* of those queued: on disk */
    struct err last_error; /* "" until there was one */
};

struct delivery_spool_stats {
    bool on;                  /* there is a spool; without, all else is 0 */
    bool failing;             /* the disk does not take profiles now */
    size_t entries;           /* on disk */
    uint64_t bytes;           /* that those take there, */
    uint64_t max_bytes;       /* and may take */
    uint64_t written;         /* entries, since the start */
    uint64_t found;           /* entries that an earlier run had left */
    uint64_t dropped_size;    /* to make room for newer ones */
    uint64_t dropped_age;     /* older than max_age */
    uint64_t dropped_free;    /* to leave room on the disk */
    uint64_t dropped_unknown; /* for exporters that are configured no more */
    uint64_t bad;             /* entries set aside: no whole profile, or a newer version's */
    uint64_t in_memory;       /* profiles that went past the spool, as the disk failed */
    size_t pending;           /* profiles that are to be written */
    struct err last_error;    /* "" until there was one */
};

struct delivery; /* private */

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
 * Adds an exporter and starts its thread.
 *
 * Gives:  the sink to `delivery`, also on failure: it is closed when it is over.
 * Errors: false: out of memory or threads.
 */
MUST_CHECK bool delivery_add(struct delivery *delivery, const char *name, enum exporter_form form,
                             const struct delivery_sink *sink,
                             const struct delivery_limits *limits);

/*
 * Goes on with what an earlier run left in the spool; after the last delivery_add. Without a
 * spool it does nothing. False: out of threads.
 */
MUST_CHECK bool delivery_start(struct delivery *delivery);

/* How many exporters want profiles of this form. */
size_t delivery_wanted(const struct delivery *delivery, enum exporter_form form);

/*
 * Copies a profile and queues it for every exporter of its form. After
 * delivery_flush it is dropped.
 *
 * Cost: one copy; waits for no send and no disk.
 */
void delivery_put(struct delivery *delivery, enum exporter_form form,
                  const struct exporter_profile *profile);

/* How many exporters there are. */
size_t delivery_count(const struct delivery *delivery);

/* The counters of exporter `i`, in the order they were added. Lends its name until delivery_free.
 */
const char *delivery_stats(struct delivery *delivery, size_t i, struct delivery_stats *out);

/* The counters of the spool. */
void delivery_spool_stats(struct delivery *delivery, struct delivery_spool_stats *out);

/*
 * Puts what is queued on disk if there is a spool, tries it until `deadline_ns`
 * (monotonic), then cancels the sends, drops what is in memory only and ends the threads.
 * With a spool an exporter that fails is not tried again. Returns as soon as all is done, and at
 * the latest 200 ms after the deadline: a thread that a disk or a name server holds up
 * even then is left behind with its exporter. It says nothing any more.
 *
 * Gives: true if nothing was dropped by it.
 */
bool delivery_flush(struct delivery *delivery, uint64_t deadline_ns);

/*
 * Ends it, at once if delivery_flush was not called. NULL is fine.
 *
 * Gives: false if a thread was left behind, with its exporter: exporter_global_finish
 *        must not be called then, the process is to exit.
 */
bool delivery_free(struct delivery *delivery);

#endif

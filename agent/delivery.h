/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery.h - brings profiles to the exporters beside the sampling, without ever holding it up.
 *
 * Shape:   delivery_new, delivery_add for each exporter, delivery_put for each
 *          profile, delivery_flush once at the end, delivery_free.
 * Threads: one for each exporter, with all signals blocked. delivery_put and
 *          delivery_stats may be called from any thread once all exporters are
 *          added; the rest belongs to one thread. The log is called from any.
 *
 * Each exporter has a queue of its own. What fails for now is tried again after a
 * pause that doubles (exponential backoff with full jitter), the least tried
 * first, so that a profile that never gets through holds up no other. What is
 * dropped is counted: a full queue loses its oldest.
 */
#ifndef AGENT_DELIVERY_H
#define AGENT_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "exporters/exporter.h"

enum delivery_level { DELIVERY_INFO, DELIVERY_WARNING };

/* The world as it looks from here. The pointers are static, `ctx` is borrowed. */
struct delivery_world {
    uint64_t (*now_ns)(void *ctx); /* monotonic; runs as fast as CLOCK_MONOTONIC */
    int64_t (*utc_ns)(void *ctx);
    void (*log)(void *ctx, enum delivery_level level, const char *line); /* without a newline */
    void *ctx;
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
    size_t queue_profiles;   /* that wait, beside the one under way: 32 */
    size_t queue_bytes;      /* of those: 32 MiB */
    uint64_t retry_ns;       /* from a profile's first try to its last: 5 min */
    uint64_t max_age_ns;     /* since a profile's start, by the UTC clock: no limit */
    uint64_t backoff_min_ns; /* 0.5 s */
    uint64_t backoff_max_ns; /* 30 s */
    uint64_t log_every_ns;   /* the least time between two lines about failures: 1 min */
};

struct delivery_stats {
    uint64_t sent;         /* profiles that were taken */
    uint64_t sent_bytes;   /* of those */
    uint64_t retried;      /* tries that failed and were to be tried again */
    uint64_t refused;      /* profiles refused for good */
    uint64_t dropped_full; /* profiles that a full queue lost, or no memory was there for */
    uint64_t dropped_old;  /* profiles that were tried for too long, or are too old to be taken */
    uint64_t dropped_stop; /* profiles that were there still when delivery_flush gave up */
    size_t queued;         /* profiles, with the one under way */
    size_t queued_bytes;
    struct err last_error; /* "" until there was one */
};

struct delivery; /* private */

/* A Pyroscope takes no profile that began over an hour ago: what to set max_age_ns to. */
#define DELIVERY_AGE_PYROSCOPE_NS (UINT64_C(50) * 60 * 1000000000)

/* Gives: *out, which the caller ends with delivery_free. False: out of memory. */
MUST_CHECK bool delivery_new(const struct delivery_world *world, struct delivery **out);

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

/* How many exporters want profiles of this form. */
size_t delivery_wanted(const struct delivery *delivery, enum exporter_form form);

/*
 * Copies a profile and queues it for every exporter of its form. After
 * delivery_flush it is dropped.
 *
 * Cost: one copy; waits for no send.
 */
void delivery_put(struct delivery *delivery, enum exporter_form form,
                  const struct exporter_profile *profile);

/* How many exporters there are. */
size_t delivery_count(const struct delivery *delivery);

/* The counters of exporter `i`, in the order they were added. Lends its name until delivery_free.
 */
const char *delivery_stats(struct delivery *delivery, size_t i, struct delivery_stats *out);

/*
 * Tries what is queued until `deadline_ns` (monotonic), then cancels the sends,
 * drops the rest and ends the threads. Returns as soon as all is done, and at the
 * latest 200 ms after the deadline: a thread that a disk or a name server holds up
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

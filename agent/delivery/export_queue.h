/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_queue.h - retry queue of one exporter: decides which batch to send next, when, and what
 * an answer means for the batch. All exporters use this one retry policy.
 *
 * Shape:   export_queue_init; export_queue_add for each new batch; export_queue_next to get a batch
 *          to send, export_queue_complete with its answer; export_queue_finish.
 * Threads: the caller holds the lock of struct delivery.
 * Units:   now_ns, and all other instants, are of the caller's monotonic clock.
 *
 * Order. Batches of one interval have no series in common and are sent side by side. Those of the
 * next interval wait until all of them are answered: profiles of a series arrive in order.
 *
 * Failures. After a failure one batch at a time is sent, the oldest, after a pause that doubles
 * (exponential backoff with full jitter). A failure does not show whether the server is down or the
 * batch is bad. So after three failures of one batch, a batch of a later interval is sent as a
 * probe. If the probe succeeds, the failing batch is put aside and halved. The halves are sent in
 * parallel with other batches. They are halved again if they fail while other batches succeed,
 * until the bad profile is alone. That profile is given up if it still fails. A batch in memory
 * that fails for longer than `retry_ns` is given up, too. One on disk waits as long as the spool
 * keeps it.
 *
 * Bounds. Entries that are only in memory take at most `queue_bytes` together. Beyond it the oldest
 * are dropped, but none of the newest interval.
 */
#ifndef AGENT_DELIVERY_EXPORT_QUEUE_H
#define AGENT_DELIVERY_EXPORT_QUEUE_H

#include "exporters/batch.h"
#include "exporters/exporter.h"

struct spool_file; /* agent/delivery/internal.h */

/* Limits of a queue. 0 means the default in the comment. */
struct export_limits {
    size_t queue_bytes;      /* bytes only in memory, except batches in flight; default 8 MiB */
    size_t in_flight;        /* most batches in flight; default 4; export_worker_new sets it */
    uint64_t retry_ns;       /* longest time of failures of one batch; default 5 min */
    uint64_t max_age_ns;     /* age since a batch's start; older ones are dropped; default none */
    uint64_t backoff_min_ns; /* first upper bound of a pause; default 0.5 s */
    uint64_t backoff_max_ns; /* last upper bound of a pause; default 30 s */
    uint64_t denied_max_ns;  /* longest pause while exporter_answer.denied; default 5 min */
    uint64_t jitter_ns;   /* the queue delays new batches by a fixed random part of it; default 0 */
    uint64_t interval_ns; /* time between intervals; sets the pace of a backlog; default 15 s */
    uint64_t patience_ns; /* longest wait for the disk to write a batch; default 5 s */
};

/* A batch that waits or is in flight. */
struct export_entry {
    uint64_t interval, order; /* numbers that grow, 1 or more; `order` is unique */
    size_t count, size;       /* profiles; bytes */
    uint64_t put_ns;          /* when it was added; 0: by an earlier run */
    int64_t born_ns;          /* start of its first profile, by the monotonic clock */
    struct batch *batch;      /* owned; NULL: it is on disk only */
    struct spool_file *file;  /* counted use of its file: spool_file_release ends it; NULL: none */
    bool unwritten;           /* the spool's thread will write it to a file of its own, or does */
    bool dropped;             /* only spool_writer.pending refers to it */
    bool in_flight;
    bool aside;             /* it fails while other batches succeed */
    bool halve;             /* put its two halves in its place instead of sending it */
    unsigned tries;         /* if aside: failures while other batches succeeded */
    uint64_t first_ns;      /* its first failure since a denial; 0: none */
    uint64_t not_before_ns; /* if aside: the next try */
    uint64_t seen;          /* queue->successes at its last failure, if aside */
};

/* Why an entry was dropped from the queue. */
enum export_loss {
    EXPORT_LOST_FULL, /* more than queue_bytes, or out of memory */
    EXPORT_LOST_OLD   /* failed for too long, older than max_age_ns, or more than 1024 are aside */
};

/* Result of an answer for its entry. */
enum export_fate {
    EXPORT_ENDED,    /* delivered or refused: out of the queue, and the caller's */
    EXPORT_GIVEN_UP, /* too old, or failed for too long: likewise the caller's */
    EXPORT_WAITS     /* it is tried again; the queue still owns it */
};

struct export_queue {
    struct export_limits limits;
    /* Takes over an entry that the queue drops. Set by the caller after export_queue_init. */
    void (*lose)(void *ctx, struct export_entry *entry, enum export_loss why);
    void *ctx;
    struct export_entry **entries; /* owned: sorted by interval, then order */
    size_t count, capacity;
    size_t in_flight;           /* of `count` */
    uint64_t random;            /* state of the random generator */
    bool hurried;               /* export_queue_hurry was called */
    uint64_t not_before_ns;     /* no batch is sent before; 0: no pause */
    unsigned failures, denials; /* since the last success */
    uint64_t successes;         /* batches taken, or refused for good: the server works */
    uint64_t failing;           /* `order` of the batch that failed last, not aside; 0: none */
    unsigned failing_tries;     /* its failures in a row */
    bool probing;               /* the next batch, or the one in flight, is a probe */
    uint64_t backlog_ns;        /* when the next batch of a backlog may be sent */
    uint64_t phase_ns;          /* delay of new batches: a random part of limits.jitter_ns */
};

/* Contents of a queue, in flight or not. */
struct export_backlog {
    size_t batches, profiles;
    size_t bytes;           /* in memory, on disk, or both */
    size_t memory_bytes;    /* of `bytes`: in memory, even if also on disk */
    size_t disk_profiles;   /* of `profiles`: on disk, even if also in memory */
    uint64_t oldest_put_ns; /* least put_ns of this run's entries that are not aside; 0: none */
};

/* Makes an empty queue; the caller then sets `lose` and `ctx`. `random`: seed of its generator. */
void export_queue_init(struct export_queue *queue, const struct export_limits *limits,
                       uint64_t random, uint64_t now_ns);

/* Frees the queue and its entries, but does not release their files. */
void export_queue_finish(struct export_queue *queue);

/* Adds an entry, which the queue owns from then on. It may drop (`lose`) others, or this one. */
void export_queue_add(struct export_queue *queue, struct export_entry *entry);

/*
 * Chooses the batch to send now and marks it in flight. Drops (`lose`) those that are too old.
 *
 * Gives: the entry, which the queue still owns. NULL: none can be sent now; call again at *due_ns
 *        (UINT64_MAX: no time is known), and after each add and each answer.
 */
struct export_entry *export_queue_next(struct export_queue *queue, uint64_t now_ns,
                                       uint64_t *due_ns);

/*
 * Applies the answer to an entry in flight. EXPORTER_OK and EXPORTER_REFUSED end it. With any other
 * `rc` it stays queued for another try, or is given up. May drop (`lose`) other entries.
 *
 * Gives: the entry to the caller, unless the result is EXPORT_WAITS.
 */
enum export_fate export_queue_complete(struct export_queue *queue, struct export_entry *entry,
                                       enum exporter_rc rc, const struct exporter_answer *answer,
                                       uint64_t now_ns);

/*
 * Replaces an entry in flight by parts of it: its halves, or the part that failed. Of each part the
 * caller sets `order`, `count`, `size`, `batch`, `file` and `unwritten`. The queue takes over each
 * part, sets its interval and times, and puts it aside. Without memory a part is dropped (`lose`).
 * `answered`: a server has taken the rest, or refused the whole.
 *
 * Gives: the entry to the caller.
 */
void export_queue_replace(struct export_queue *queue, struct export_entry *entry,
                          struct export_entry *const *parts, size_t count, bool answered,
                          uint64_t now_ns);

/* Returns an entry in flight that could not be sent. It is tried again after `pause_ns`; unless it
 * is aside, all others wait as long. */
void export_queue_put_back(struct export_queue *queue, struct export_entry *entry, uint64_t now_ns,
                           uint64_t pause_ns);

/* Removes an entry, which the caller owns from then on. */
void export_queue_remove(struct export_queue *queue, struct export_entry *entry);

/* Prepares for the end: ends all present pauses, and switches jitter and pace off for good. A batch
 * that waits for the disk still waits, and a new failure pauses again. */
void export_queue_hurry(struct export_queue *queue);

/* True if a batch failed or was denied, and none has succeeded since. */
bool export_queue_is_failing(const struct export_queue *queue);

/* Sums up the queue's entries. */
void export_queue_backlog(const struct export_queue *queue, struct export_backlog *out);

/*
 * Converts the UTC time `from_ns` to the monotonic clock of `now_ns`; `to_ns` is the UTC time now.
 * A `from_ns` in the future counts as now.
 */
int64_t export_born_ns(uint64_t now_ns, int64_t from_ns, int64_t to_ns);

/* Frees an entry and its batch, not its file: see delivery_entry_end. NULL is fine. */
void export_entry_free(struct export_entry *entry);

#endif

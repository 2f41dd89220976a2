/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_queue.h - the batches that one exporter has to deliver: what to send next, when, and what
 * an answer means for it. The one retry policy.
 *
 * Shape:   export_queue_init; export_queue_add what comes; export_queue_next the batches to send,
 *          export_queue_complete with each answer; export_queue_finish.
 * Threads: belongs to whoever holds its delivery's lock. It knows no clock: all times are given.
 *
 * Order. Batches of one interval have no series in common and are sent side by side. Those of the
 * next interval wait until all of them are answered: profiles of a series arrive in order.
 *
 * Failures. After a failure one batch at a time is sent, the oldest, after a pause that doubles
 * (exponential backoff with full jitter). A failure does not tell an outage from a bad batch. So
 * after three failures of one batch, a batch of a later interval is sent: a probe. If it gets
 * through, the failing batch is put aside and halved. The halves are sent in parallel with the
 * others, and halved again if they fail while these get through, until the bad profile is alone. A
 * single profile that keeps failing while others get through is given up. So is a batch in memory
 * that fails for longer than `retry_ns`; one on disk waits for as long as the spool keeps it.
 *
 * Bounds. Entries that are only in memory take at most `queue_bytes` together. Beyond it the oldest
 * are dropped, but none of the newest interval.
 */
#ifndef AGENT_DELIVERY_EXPORT_QUEUE_H
#define AGENT_DELIVERY_EXPORT_QUEUE_H

#include "exporters/batch.h"
#include "exporters/exporter.h"

struct spool_file; /* agent/delivery/internal.h */

/* 0: the default, which stands last in each comment. */
struct export_limits {
    size_t queue_bytes;      /* in memory, without what is under way: 8 MiB */
    size_t in_flight;        /* batches under way at a time: 4 */
    uint64_t retry_ns;       /* for how long a batch is tried: see above; 5 min */
    uint64_t max_age_ns;     /* since a batch's start; older ones are dropped: no limit */
    uint64_t backoff_min_ns; /* 0.5 s */
    uint64_t backoff_max_ns; /* 30 s */
    uint64_t denied_max_ns;  /* the longest pause after 401 or 403: 5 min */
    uint64_t jitter_ns;   /* each agent delays its batches by a fixed random part of it: no delay */
    uint64_t interval_ns; /* time between intervals, which paces a backlog: 15 s */
    uint64_t patience_ns; /* how long sending waits for the disk to write a batch: 5 s */
};

/* A batch that waits, or is under way. */
struct export_entry {
    uint64_t interval, order; /* numbers that grow, 1 or more; `order` is unique */
    size_t count, size;       /* profiles, and bytes */
    uint64_t put_ns;          /* when it was added; 0: by an earlier run */
    int64_t born_ns;          /* when its first profile began, by the same clock */
    struct batch *batch;      /* owned; NULL: it is on disk only */
    struct spool_file *file;  /* counted use of its file: spool_file_release ends it; NULL: none */
    bool unwritten;           /* it waits for a file of its own: spool_writer.c refers to it */
    bool dropped;             /* nobody but spool_writer.c refers to it any more */
    bool in_flight;
    bool aside;             /* it fails while others get through */
    bool halve;             /* instead of sending it, put its two halves in its place */
    unsigned tries;         /* aside: failures while others got through */
    uint64_t first_ns;      /* its first failure since a 401 or 403; 0: none */
    uint64_t not_before_ns; /* aside: the next try */
    uint64_t seen;          /* queue->successes at its last failure */
};

/* Why an entry left without being delivered. */
enum export_loss {
    EXPORT_LOST_FULL, /* queue_bytes, or out of memory */
    EXPORT_LOST_OLD   /* failed for too long, above max_age_ns, or over 1024 are aside */
};

/* What becomes of an entry after an answer. */
enum export_fate {
    EXPORT_ENDED,    /* delivered or refused: it has left the queue and is the caller's */
    EXPORT_GIVEN_UP, /* too old, or tried for too long: likewise the caller's */
    EXPORT_WAITS     /* it is tried again */
};

struct export_queue {
    struct export_limits limits;
    void (*lose)(void *ctx, struct export_entry *entry, enum export_loss why); /* owns the entry */
    void *ctx;
    struct export_entry **entries; /* owned: sorted by interval, then order */
    size_t count, capacity;
    size_t in_flight;           /* of those */
    uint64_t random;            /* state */
    bool hurried;               /* export_queue_hurry was called */
    uint64_t not_before_ns;     /* nothing is sent before; 0: no pause */
    unsigned failures, denials; /* since the last success */
    uint64_t successes;         /* answers that a batch was taken, or refused for good */
    uint64_t failing;           /* order of the batch that failed last, not aside; 0: none */
    unsigned failing_tries;     /* of it in sequence */
    bool probing;               /* the next batch, or the one under way, is a probe */
    uint64_t backlog_ns;        /* when the next batch of a backlog may be sent */
    uint64_t phase_ns;          /* this agent's share of limits.jitter_ns */
};

/* What is in the queue, under way or not. */
struct export_backlog {
    size_t batches, profiles;
    size_t bytes;           /* in memory, on disk, or both */
    size_t memory_bytes;    /* of `bytes`: in memory, even if also on disk */
    size_t disk_profiles;   /* of `profiles`: on disk, even if also in memory */
    uint64_t oldest_put_ns; /* of what this run has added and is not aside; 0: nothing */
};

/* Makes an empty queue, whose `lose` and `ctx` the caller sets then. `random`: any number, from
 * which it draws others. */
void export_queue_init(struct export_queue *queue, const struct export_limits *limits,
                       uint64_t random, uint64_t now_ns);

/* Frees it and its entries, but not their files. */
void export_queue_finish(struct export_queue *queue);

/* Adds an entry, which is the queue's from here on; it may lose others, or this one. */
void export_queue_add(struct export_queue *queue, struct export_entry *entry);

/*
 * Chooses the batch to send now, which is under way from here on, and loses those that are too
 * old.
 *
 * Gives: the entry, which the queue still owns; NULL: none, and in *due_ns when to ask again at
 *        the latest: ask after each add and each answer, too (UINT64_MAX: only then).
 */
struct export_entry *export_queue_next(struct export_queue *queue, uint64_t now_ns,
                                       uint64_t *due_ns);

/*
 * Takes account of the answer to an entry under way. EXPORTER_OK and EXPORTER_REFUSED end it. With
 * any other answer it stays queued for another try, or is given up. May lose other entries, as
 * export_queue_add does.
 *
 * Gives: the entry to the caller, unless it is EXPORT_WAITS: then the queue has it still.
 */
enum export_fate export_queue_complete(struct export_queue *queue, struct export_entry *entry,
                                       enum exporter_rc rc, const struct exporter_answer *answer,
                                       uint64_t now_ns);

/*
 * Puts others in the place of an entry under way: its halves, or the part of it that failed. Of
 * each part the caller sets `order`, `count`, `size`, `batch`, `file` and `unwritten`; the queue
 * sets interval and times, owns it then, and puts it aside. A part that finds no memory is lost.
 * `answered`: a server has taken the rest, or refused the whole.
 *
 * Gives: the entry to the caller.
 */
void export_queue_replace(struct export_queue *queue, struct export_entry *entry,
                          struct export_entry *const *parts, size_t count, bool answered,
                          uint64_t now_ns);

/* An entry under way could not be tried: it is tried again after `pause_ns`; unless it is aside,
 * all others wait as long. */
void export_queue_put_back(struct export_queue *queue, struct export_entry *entry, uint64_t now_ns,
                           uint64_t pause_ns);

/* Takes an entry out, which is the caller's then. */
void export_queue_remove(struct export_queue *queue, struct export_entry *entry);

/* The queue is to end soon: ends all pauses under way, and jitter and pace for good. A batch that
 * is yet to be written to disk still waits for that, and a new failure pauses again. */
void export_queue_hurry(struct export_queue *queue);

/* True if something failed and nothing has got through since. */
bool export_queue_is_failing(const struct export_queue *queue);

void export_queue_backlog(const struct export_queue *queue, struct export_backlog *out);

/*
 * Converts the UTC time `from_ns` to the clock of `now_ns`; now is `to_ns` UTC. A later `from_ns`
 * counts as now. Setting the UTC clock changes no age, because ages are counted by the other clock.
 */
int64_t export_born_ns(uint64_t now_ns, int64_t from_ns, int64_t to_ns);

/* Frees an entry and its batch, not its file: see delivery_entry_end. NULL is fine. */
void export_entry_free(struct export_entry *entry);

#endif

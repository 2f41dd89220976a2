/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - what the files of a delivery share; nobody else includes it.
 *
 * There is one lock, struct delivery's. It guards what is marked so here, and is never held while
 * a disk or a server is waited for, or while something is logged.
 */
#ifndef AGENT_DELIVERY_INTERNAL_H
#define AGENT_DELIVERY_INTERNAL_H

#include "agent/delivery/delivery.h"
#include "agent/delivery/export_log.h"
#include "agent/delivery/spool.h"

/* A file of the spool, and how many entries of a queue have their profiles in it. */
struct spool_file {
    struct spool_name name;
    uint64_t size;   /* on the disk */
    size_t profiles; /* when it was written */
    unsigned users;
    struct spool_file *next; /* in the list of those that are to be removed */
};

enum delivery_mode {
    DELIVERY_RUNNING,
    DELIVERY_STOPPING, /* what is queued is tried, and then its thread ends */
    DELIVERY_STOPPED,  /* nothing is started any more */
    DELIVERY_CLOSED    /* the spool's thread ends when it has nothing to do */
};

/* A batch under way. */
struct flight {
    struct export_worker *worker; /* borrowed; NULL: this flight is free */
    struct export_entry *entry;   /* borrowed from the queue */
    struct spool_held held;       /* owned: the batch, and the lock of its file if it has one */
    uint64_t started_ns;
};

/* One exporter. */
struct export_worker {
    struct delivery *delivery; /* borrowed */
    char name[SPOOL_EXPORTER_SIZE];
    enum exporter_form form;
    struct delivery_sink sink; /* owned */
    pthread_t thread;
    bool started;
    struct flight flights[EXPORTER_IN_FLIGHT_MAX]; /* the thread's own */
    struct export_log log;                         /* the thread's own */

    /* Guarded by the lock. */
    struct export_queue queue;
    pthread_cond_t changed;
    bool ended;
    struct delivery_stats stats; /* the counters of it */
    uint64_t put;                /* profiles that came so far */
    struct export_rates rates;
};

/* What gathers the profiles of an interval for all exporters that want the same. */
struct gathering {
    enum exporter_form form;
    size_t profiles_max;
    struct batch_builder builder;
};

/* An entry that is to be written. */
struct spool_pending {
    struct export_entry *entry;   /* of the worker's queue, unless it is `dropped` */
    struct export_worker *worker; /* borrowed */
};

/* The spool. */
struct spool_writer {
    struct delivery_spool settings; /* its path is owned */
    pthread_t thread;
    bool started;

    /* The thread's own. */
    struct spool *spool; /* owned; NULL: it could not be opened yet */
    uint64_t open_ns;    /* not before then the next try to open it */
    struct spool_log log;

    /* Guarded by the lock. */
    pthread_cond_t changed;
    bool ended;
    bool listed;                   /* what an earlier run left is known */
    struct spool_pending *pending; /* owned: oldest first */
    size_t pending_count, pending_capacity;
    struct spool_file *removals; /* owned: a list */
    uint64_t next_number;
    struct delivery_spool_stats stats;
};

struct delivery {
    struct delivery_world world;
    struct export_worker *workers[DELIVERY_EXPORTERS_MAX]; /* owned */
    size_t count;
    struct gathering gatherings[DELIVERY_EXPORTERS_MAX];
    size_t gathering_count;
    uint64_t interval; /* the number of the one that is being gathered */
    bool stopped;
    struct spool_writer *writer; /* owned; NULL: there is no spool */

    pthread_mutex_t lock;
    pthread_cond_t idle; /* a thread has ended */
    enum delivery_mode mode;
    uint64_t next_order; /* of entries */
    unsigned threads;    /* that run */
    bool abandoned;      /* the last of them calls `destroy` */
    void (*destroy)(struct delivery *delivery);
};

/* threads.c */

uint64_t delivery_now(const struct delivery *delivery);

/* Makes a condition that waits by CLOCK_MONOTONIC. */
MUST_CHECK bool delivery_init_cond(pthread_cond_t *cond);

/* Waits for a condition, with the lock, until about `until_ns`. */
void delivery_wait(struct delivery *delivery, pthread_cond_t *cond, uint64_t until_ns);

/* Starts a thread with all signals blocked. Without the lock. False: it could not be started. */
MUST_CHECK bool delivery_start_thread(struct delivery *delivery, pthread_t *thread,
                                      void *(*run)(void *), void *ctx, const char *title);

/* The last that a thread does: it has ended, and `ended` says so. */
void delivery_end_thread(struct delivery *delivery, bool *ended);

/* entries.c: with the lock, but for delivery_entry_new */

/* An entry for a batch, which it takes over. NULL: out of memory; the batch is the caller's. */
struct export_entry *delivery_entry_new(struct delivery *delivery, struct batch *batch);

/*
 * Frees an entry that has left its queue, and gives its file back. One that is to be written is
 * left to spool_writer.c.
 */
void delivery_entry_end(struct delivery *delivery, struct export_entry *entry);

/* Frees the batch of an entry in memory, if the disk has just that and nothing uses it there. */
void delivery_entry_forget_batch(struct export_entry *entry);

/* An entry of a worker's queue is to be written. */
void spool_pending_add(struct spool_writer *writer, struct export_worker *worker,
                       struct export_entry *entry);

/* An entry has no use for a file any more; without users it is removed. */
void spool_file_release(struct spool_writer *writer, struct spool_file *file);

/* export_worker.c */
MUST_CHECK struct export_worker *export_worker_new(struct delivery *delivery, const char *name,
                                                   enum exporter_form form,
                                                   const struct delivery_sink *sink,
                                                   const struct export_limits *limits);
MUST_CHECK bool export_worker_start(struct export_worker *worker);
/* Adds an entry to its queue. With the lock. */
void export_worker_add(struct export_worker *worker, struct export_entry *entry);
void export_worker_stats(struct export_worker *worker, struct delivery_stats *out);
void export_worker_free(struct export_worker *worker);

/* spool_writer.c */
MUST_CHECK bool spool_writer_new(const struct delivery_spool *settings, struct spool_writer **out,
                                 struct err *err);
MUST_CHECK bool spool_writer_start(struct delivery *delivery);
void spool_writer_free(struct spool_writer *writer);

#endif

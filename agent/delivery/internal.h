/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - the structs and functions that the source files behind delivery.h share: delivery.c,
 * threads.c, entries.c, export_worker.c and spool_writer.c. No other file includes it.
 *
 * Threads: each exporter (struct export_worker) has a thread, and so has the spool (struct
 *          spool_writer). The owner's thread is the one that calls the functions of delivery.h.
 * Lock:    `lock` of struct delivery is the only one. It guards the fields below the comments
 *          "Guarded by the lock". A thread releases it before it waits for a disk or a server, and
 *          before it logs. Only delivery_stop holds it while it logs lost profiles.
 */
#ifndef AGENT_DELIVERY_INTERNAL_H
#define AGENT_DELIVERY_INTERNAL_H

#include "agent/delivery/delivery.h"
#include "agent/delivery/export_log.h"
#include "agent/delivery/spool.h"

/* A file of the spool. Guarded by the lock. */
struct spool_file {
    struct spool_name name;
    uint64_t size;           /* length of the file in bytes, rounded up to 4096 */
    size_t profiles;         /* number of profiles in the file */
    unsigned users;          /* queue entries whose profiles are in this file */
    struct spool_file *next; /* in the list spool_writer.removals */
};

/* A delivery goes through these modes in this order. */
enum delivery_mode {
    DELIVERY_RUNNING,
    DELIVERY_STOPPING,  /* each worker tries to send its queue, then its thread ends */
    DELIVERY_CANCELLED, /* sends under way are cancelled, none is started; workers' threads end */
    DELIVERY_CLOSED     /* all workers have ended, or had no more time; the spool's thread ends as
                           soon as it has nothing left to do */
};

/* A batch that is being sent. */
struct flight {
    struct export_worker *worker; /* borrowed; NULL: this slot is free */
    struct export_entry *entry; /* borrowed from the worker's queue, which keeps an entry while its
                                   batch is being sent */
    struct spool_held held;     /* owned: a reference to the batch and, if the batch was read from
                                   the spool, its locked file */
    uint64_t started_ns;        /* by delivery_now */
};

/* An exporter with its queue and its thread. */
struct export_worker {
    struct delivery *delivery; /* borrowed */
    char name[SPOOL_EXPORTER_SIZE];
    enum exporter_form form;   /* of the profiles that the exporter takes */
    struct delivery_sink sink; /* owned: sends the batches */
    pthread_t thread;
    bool started; /* `thread` was started */

    /* While the worker's thread runs, only this thread changes these. */
    struct flight flights[EXPORTER_IN_FLIGHT_MAX]; /* slots for the batches that are being sent */
    struct export_log log;                         /* what the log already says of the exporter */

    /* Guarded by the lock. */
    struct export_queue queue;
    pthread_cond_t changed; /* signalled when the queue or the mode has changed */
    bool ended;             /* the thread has ended */
    /* Counters. The fields from `queued` to `oldest_ns`, in_rate and out_rate stay 0 here;
     * export_worker_stats sets them in its copy. */
    struct delivery_stats stats;
    uint64_t put;              /* profiles queued so far */
    struct export_rates rates; /* profiles queued, and sent or refused for good, per second */
};

/* Collects the profiles of an interval into a batch. Workers with equal `form` and equal
 * sink.profiles_max share one. Only the owner's thread uses it. */
struct gathering {
    enum exporter_form form;
    size_t profiles_max; /* of one batch */
    struct batch_builder builder;
};

/* A queue entry whose batch the spool's thread has to write. */
struct spool_pending {
    struct export_entry *entry;   /* borrowed from the worker's queue; owned once delivery_entry_end
                                     has set entry->dropped */
    struct export_worker *worker; /* borrowed */
};

/* The spool and its thread. */
struct spool_writer {
    struct delivery_spool settings; /* settings.path is an owned copy */
    pthread_t thread;
    bool started; /* `thread` was started */

    /* After spool_writer_start, only the spool's thread sets these. Workers read `spool` without
     * the lock, but only to read the file of an entry. Entries with a file exist only after `spool`
     * is set, and `spool` is set only once. */
    struct spool *spool;   /* owned; NULL: not opened yet */
    uint64_t next_open_ns; /* by delivery_now: when to try again to open the spool */
    struct spool_log log;  /* what the log already says of the spool */

    /* Guarded by the lock. */
    pthread_cond_t changed;        /* signalled when there is something to do */
    bool ended;                    /* the thread has ended */
    bool listed;                   /* the batches of an earlier run are in the workers' queues */
    struct spool_pending *pending; /* owned: the oldest first */
    size_t pending_count, pending_capacity;
    struct spool_file *removals;       /* owned: a list of files to remove from disk */
    uint64_t next_number;              /* of the next file; needs no lock: spool's thread only */
    struct delivery_spool_stats stats; /* counters; delivery_spool_stats sets stats.pending */
};

struct delivery {
    /* Only the owner's thread sets these. */
    struct delivery_world world;                           /* clocks and the log */
    struct export_worker *workers[DELIVERY_EXPORTERS_MAX]; /* owned */
    size_t count;                                          /* number of workers */
    struct gathering gatherings[DELIVERY_EXPORTERS_MAX];
    size_t gathering_count;
    uint64_t interval;           /* id of this interval: max(start in UTC ns, previous id + 1) */
    bool stop_called;            /* delivery_stop was called: delivery_put drops profiles */
    struct spool_writer *writer; /* owned; NULL: there is no spool */

    pthread_mutex_t lock;

    /* Guarded by the lock. */
    pthread_cond_t thread_ended; /* signalled when a thread has ended */
    enum delivery_mode mode;
    uint64_t next_order; /* export_entry.order of the next entry */
    unsigned threads;    /* number of threads that run */
    bool abandoned;      /* delivery_free left threads running: the last to end calls `destroy` */
    void (*destroy)(struct delivery *delivery); /* frees everything; set by delivery_new */
};

/* threads.c */

/* Returns the time now in ns, by world.now_ns: CLOCK_MONOTONIC except in tests. */
uint64_t delivery_now(const struct delivery *delivery);

/* Waits until `cond` is signalled or delivery_now reaches `until_ns`, but not longer than an hour;
 * may also return earlier. The caller holds the lock, which is released meanwhile. */
void delivery_wait(struct delivery *delivery, pthread_cond_t *cond, uint64_t until_ns);

/*
 * Starts a thread with all signals blocked and the name `title` (15 characters at most), and counts
 * the thread in `threads`. `run` has to call delivery_end_thread at its end. The caller does not
 * hold the lock.
 *
 * Gives: *thread. False: the thread could not be started, and is not counted.
 */
MUST_CHECK bool delivery_start_thread(struct delivery *delivery, pthread_t *thread,
                                      void *(*run)(void *), void *ctx, const char *title);

/* Sets *ended and signals `thread_ended`. If the delivery is abandoned and no other thread runs,
 * destroys the delivery. A thread calls this function last, without the lock. */
void delivery_end_thread(struct delivery *delivery, bool *ended);

/* entries.c: the caller holds the lock, except for delivery_entry_new, which does not need it */

/* Makes an entry for a batch and takes over the caller's reference to the batch. NULL: out of
 * memory; the reference is still the caller's. */
struct export_entry *delivery_entry_new(struct delivery *delivery, struct batch *batch);

/* Ends an entry that is in no queue any more: releases its file, drops its batch, and frees the
 * entry. If entry->unwritten, the spool's thread still uses the entry: then sets entry->dropped, so
 * that this thread frees the entry later. */
void delivery_entry_end(struct delivery *delivery, struct export_entry *entry);

/* Frees the in-memory copy of an entry's batch, if the entry's file holds exactly this batch. Does
 * nothing if the file holds a larger batch, of which this is a part, or while the batch is being
 * sent or waits to be written. */
void delivery_entry_unload(struct export_entry *entry);

/* Queues an entry of `worker` for the spool's thread to write to disk. If out of memory, counts the
 * entry's profiles in stats.in_memory; they then stay in memory only. */
void spool_pending_add(struct spool_writer *writer, struct export_worker *worker,
                       struct export_entry *entry);

/* Decrements file->users. If no user is left, hands the file to the spool's thread, which removes
 * and frees it. */
void spool_file_release(struct spool_writer *writer, struct spool_file *file);

/* export_worker.c */

/* Makes a worker without a thread. Copies `name`, *sink and *limits, and takes over the exporter
 * behind `sink`. NULL: out of memory; the exporter is still the caller's. */
MUST_CHECK struct export_worker *export_worker_new(struct delivery *delivery, const char *name,
                                                   enum exporter_form form,
                                                   const struct delivery_sink *sink,
                                                   const struct export_limits *limits);

/* Starts the worker's thread. False: the thread could not be started. The caller does not hold the
 * lock. */
MUST_CHECK bool export_worker_start(struct export_worker *worker);

/* Adds an entry to the worker's queue, which owns the entry from then on, and wakes the thread. A
 * full queue drops its oldest entries with delivery_entry_end. The caller holds the lock. */
void export_worker_add(struct export_worker *worker, struct export_entry *entry);

/* Sets all of *out: the counters, and what the queue holds now. The caller holds the lock. */
void export_worker_stats(struct export_worker *worker, struct delivery_stats *out);

/* Frees the worker with its queue, and closes its exporter. No thread may run any more. Call it
 * before spool_writer_free. */
void export_worker_free(struct export_worker *worker);

/* spool_writer.c */

/*
 * Makes the writer and tries to open the spool. A spool that cannot be opened now is no error: the
 * thread tries again later. The caller then initialises `log` (spool_log_init).
 *
 * Gives:  *out, which the caller ends with spool_writer_free; untouched on failure.
 * Errors: false: the spool is locked, and not by an earlier delivery of this process
 *         (settings->held is false); `err` says so. False, too, if out of memory; `err` is
 *         unchanged then, so the caller sets it before the call.
 */
MUST_CHECK bool spool_writer_new(const struct delivery_spool *settings, struct spool_writer **out,
                                 struct err *err);

/* Starts the spool's thread; delivery->writer must not be NULL. False: the thread could not be
 * started. The caller does not hold the lock. */
MUST_CHECK bool spool_writer_start(struct delivery *delivery);

/* Empties `pending` and frees its dropped entries. There are some if a worker hung and dropped
 * entries after the spool's thread had ended. Call it when all threads have ended, before
 * export_worker_free, which frees the entries that are not dropped. NULL is allowed. */
void spool_pending_finish(struct spool_writer *writer);

/* Closes the spool and frees the writer. Call it after export_worker_free. NULL is allowed. */
void spool_writer_free(struct spool_writer *writer);

#endif

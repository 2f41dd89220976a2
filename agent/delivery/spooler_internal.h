/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spooler_internal.h - what the files of a shelf share; nobody else includes it.
 *
 * Threads: as each function says. `lock` guards what stands below it in struct spooler.
 */
#ifndef AGENT_DELIVERY_SPOOLER_INTERNAL_H
#define AGENT_DELIVERY_SPOOLER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "agent/delivery/index.h"
#include "agent/delivery/spooler.h"
#include "agent/delivery/spooler_log.h"
#include "base/time_units.h"

enum { KIB = 1024, SPOOLER_NAME_SIZE = 68 /* settings allow for 64 */ };

#define RETRY_EVERY_NS (10 * NS_PER_S) /* a disk that fails */

/* Who owes an entry: bit i stands for the lane with ids[i]. */
struct spooler_pending_exporters {
    size_t count;
    uint64_t ids[SPOOL_OWERS_MAX];
    char names[SPOOL_OWERS_MAX][SPOOLER_NAME_SIZE];
};

enum spooler_mode { SPOOLER_RUNNING, SPOOLER_ENDING, SPOOLER_STOPPED };

struct pending {
    struct pending *next;    /* owned list */
    struct payload *payload; /* owned: one reference */
    enum exporter_form form;
    uint64_t put_ns;
    int64_t born_ns; /* as delivery_item has it */
    uint64_t order;  /* 0: not yet */
    bool handed;     /* the lanes have it already */
};

struct spooler {
    struct delivery_world world;
    struct delivery_spool settings; /* its path is owned */
    atomic_uint references;         /* the owner's, the thread's, each lane's */
    pthread_t thread;
    bool started;

    struct spool *spool;      /* owned; NULL: it could not be opened yet. Set by the thread only */
    uint64_t open_ns;         /* not before then the next try to open it; the thread only */
    uint64_t stale_ns;        /* ... and to cross out what could not be */
    bool listed;              /* what an earlier run left is known; the thread only */
    struct spooler_talk talk; /* the thread only */

    pthread_mutex_t lock; /* guards all below; never held while the disk or a lane is waited for */
    pthread_cond_t changed, idle;
    enum spooler_mode mode;
    bool ended;
    struct export_worker **workers; /* borrowed; the owner may use them without the lock */
    size_t export_worker_count;
    bool giving;                   /* the thread uses the lanes */
    struct pending *first, **last; /* the first may be under way */
    size_t pending, pending_bytes;
    bool under_way;
    uint64_t since_ns; /* of what is under way */
    uint64_t stuck_ns; /* when it was last said that the disk does not answer; 0: never */
    uint64_t next_order;
    uint64_t evicted; /* the last entry that was removed to make room */
    struct delivery_index index;
    struct delivery_spool_stats stats;
};

uint64_t spooler_now(const struct spooler *spooler);

/*
 * False: the lanes may be gone. Until spooler_end_giving they stay; no disk may be waited for
 * meanwhile.
 */
MUST_CHECK bool spooler_begin_giving(struct spooler *spooler);
void spooler_end_giving(struct spooler *spooler);

/* Says what it is like now; the disk worked, or `err` is why it did not. The thread only. */
void spooler_tell(struct spooler *spooler, const struct err *err);

/* spooler_queue.c */

/* Gives each exporter of the form the item, in memory. */
void spooler_give_payload(struct spooler *spooler, const struct pending *node);

/* Gives those who owe it the item, which is on disk. Gives: the bits of those that are there. */
uint16_t spooler_give_entry(struct spooler *spooler, const struct pending *node,
                            const struct spooler_pending_exporters *owers);
void spooler_free_pending(struct pending *node);

/* Takes the first out of the queue. Called with the lock. */
struct pending *spooler_pop(struct spooler *spooler);

/* Gives it its number, unless it has one. Called with the lock. */
void spooler_number(struct spooler *spooler, struct pending *node);

/*
 * Takes out all that the disk has not got, as it does not answer. What is under way stays,
 * marked, but is given, too: `*under_way` is a copy of it with a reference of its own. Called
 * with the lock.
 */
struct pending *spooler_give_up(struct spooler *spooler, struct pending *under_way);

/* Gives the lanes what spooler_give_up took. */
void spooler_hand_over(struct spooler *spooler, struct pending *all,
                       const struct pending *under_way);

/* spooler_limits.c: the thread only */

/* Makes room for `size` more bytes; the oldest go first. False: `err` says why there is none. */
MUST_CHECK bool spooler_make_room(struct spooler *spooler, uint64_t size, struct err *err);

/* Drops what has become too old. True: there was something. */
bool spooler_drop_old(struct spooler *spooler);

/* spooler_recovery.c: the thread only */

/* Opens the spool if it is not, unless that failed a moment ago, and takes up what is in it. */
void spooler_open_spool(struct spooler *spooler);

#endif

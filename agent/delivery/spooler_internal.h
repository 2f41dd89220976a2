/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spooler_internal.h - what the files of a shelf share; nobody else includes it.
 *
 * Threads: as each function says. `lock` guards what stands below it in struct shelf.
 */
#ifndef AGENT_DELIVERY_SPOOLER_INTERNAL_H
#define AGENT_DELIVERY_SPOOLER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "agent/delivery/index.h"
#include "agent/delivery/spooler.h"
#include "agent/delivery/spooler_log.h"

enum { KIB = 1024, SHELF_NAME_SIZE = 68 /* settings allow for 64 */ };

#define S_NS           UINT64_C(1000000000)
#define RETRY_EVERY_NS (10 * S_NS) /* a disk that fails */

/* Who owes an entry: bit i stands for the lane with ids[i]. */
struct shelf_owers {
    size_t count;
    uint64_t ids[SPOOL_OWERS_MAX];
    char names[SPOOL_OWERS_MAX][SHELF_NAME_SIZE];
};

enum shelf_mode { SHELF_RUNNING, SHELF_ENDING, SHELF_STOPPED };

struct pending {
    struct pending *next;           /* owned list */
    struct delivery_parcel *parcel; /* owned: one reference */
    enum exporter_form form;
    uint64_t put_ns;
    int64_t born_ns; /* as delivery_item has it */
    uint64_t order;  /* 0: not yet */
    bool handed;     /* the lanes have it already */
};

struct shelf {
    struct delivery_world world;
    struct delivery_spool settings; /* its path is owned */
    atomic_uint references;         /* the owner's, the thread's, each lane's */
    pthread_t thread;
    bool started;

    struct spool *spool;    /* owned; NULL: it could not be opened yet. Set by the thread only */
    uint64_t open_ns;       /* not before then the next try to open it; the thread only */
    uint64_t stale_ns;      /* ... and to cross out what could not be */
    bool listed;            /* what an earlier run left is known; the thread only */
    struct shelf_talk talk; /* the thread only */

    pthread_mutex_t lock; /* guards all below; never held while the disk or a lane is waited for */
    pthread_cond_t changed, idle;
    enum shelf_mode mode;
    bool ended;
    struct lane **lanes; /* borrowed; the owner may use them without the lock */
    size_t lane_count;
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

uint64_t shelf_now(const struct shelf *shelf);

/*
 * False: the lanes may be gone. Until shelf_end_giving they stay; no disk may be waited for
 * meanwhile.
 */
MUST_CHECK bool shelf_begin_giving(struct shelf *shelf);
void shelf_end_giving(struct shelf *shelf);

/* Says what it is like now; the disk worked, or `err` is why it did not. The thread only. */
void shelf_tell(struct shelf *shelf, const struct err *err);

/* spooler_queue.c */

/* Gives each exporter of the form the item, in memory. */
void shelf_give_parcel(struct shelf *shelf, const struct pending *node);

/* Gives those who owe it the item, which is on disk. Gives: the bits of those that are there. */
uint16_t shelf_give_entry(struct shelf *shelf, const struct pending *node,
                          const struct shelf_owers *owers);
void shelf_free_pending(struct pending *node);

/* Takes the first out of the queue. Called with the lock. */
struct pending *shelf_pop(struct shelf *shelf);

/* Gives it its number, unless it has one. Called with the lock. */
void shelf_number(struct shelf *shelf, struct pending *node);

/*
 * Takes out all that the disk has not got, as it does not answer. What is under way stays,
 * marked, but is given, too: `*under_way` is a copy of it with a reference of its own. Called
 * with the lock.
 */
struct pending *shelf_give_up(struct shelf *shelf, struct pending *under_way);

/* Gives the lanes what shelf_give_up took. */
void shelf_hand_over(struct shelf *shelf, struct pending *all, const struct pending *under_way);

/* spooler_limits.c: the thread only */

/* Makes room for `size` more bytes; the oldest go first. False: `err` says why there is none. */
MUST_CHECK bool shelf_make_room(struct shelf *shelf, uint64_t size, struct err *err);

/* Drops what has become too old. True: there was something. */
bool shelf_drop_old(struct shelf *shelf);

/* spooler_recovery.c: the thread only */

/* Opens the spool if it is not, unless that failed a moment ago, and takes up what is in it. */
void shelf_open_spool(struct shelf *shelf);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spooler.h - the spool of a delivery: its thread, its bounds, its counters.
 *
 * Shape:   spooler_new, spooler_start once all lanes are there; put, take and done; at the end
 *          spooler_settle, then the lanes', then spooler_end and free.
 * Threads: put, take, done, bad and stats from any; the rest from the owner's. One thread
 *          writes to the disk. A lane's lock may be held by a caller, never the other way
 *          round.
 *
 * What comes is queued, written by the thread, and then given to the lanes. When the disk
 * fails, or has not answered for a while, it is given to them as it is, in memory.
 */
#ifndef AGENT_DELIVERY_SPOOLER_H
#define AGENT_DELIVERY_SPOOLER_H

#include "agent/delivery/delivery.h"
#include "agent/delivery/export_worker.h"
#include "agent/delivery/payload.h"
#include "exporters/spool.h"

struct spooler; /* private */

/* Gives: *out. Errors as delivery_new. */
MUST_CHECK bool spooler_new(const struct delivery_world *world,
                            const struct delivery_spool *settings, struct spooler **out,
                            struct err *err);

/* Starts the thread, which begins with what an earlier run left. Borrows the lanes. */
MUST_CHECK bool spooler_start(struct spooler *spooler, struct export_worker **workers,
                              size_t count);

/*
 * Takes other lanes from here on; the lanes of before may end. What their exporters owe is theirs
 * who have the same export_worker_id.
 */
void spooler_set_workers(struct spooler *spooler, struct export_worker **workers, size_t count);

/* Queues a parcel, taking a reference of its own. False: no memory. */
MUST_CHECK bool spooler_put(struct spooler *spooler, enum exporter_form form,
                            struct payload *payload);

/*
 * Reads an item's profile from the disk, and holds it against others.
 *
 * Gives:  *out, ended with spooler_release.
 * Errors: SPOOL_GONE (*lost: to make room; else it need not be sent any more), SPOOL_BUSY (or the
 *         lane that this one is the heir of is still at it),
 * SPOOL_CORRUPT and SPOOL_NEWER (it is set aside), SPOOL_FAILED, SPOOL_NOMEM.
 */
MUST_CHECK enum spool_rc spooler_take(struct spooler *spooler, const struct delivery_item *item,
                                      struct spool_held *out, bool *lost, struct err *err);

/* The send is over; spooler_done was called before, if that is to be. */
void spooler_release(struct spooler *spooler, const struct delivery_item *item,
                     struct spool_held *held);

/* This exporter does not want the item any more. Waits for no disk. */
void spooler_done(struct spooler *spooler, const struct delivery_item *item);

/* The same for an exporter that is no more, and has not sent it. */
void spooler_forget(struct spooler *spooler, const struct delivery_item *item);

void spooler_stats(struct spooler *spooler, struct delivery_spool_stats *out);

/* Waits until all is on disk or `deadline_ns`; then gives the lanes what is not. */
void spooler_drain(struct spooler *spooler, uint64_t deadline_ns);

/* Waits until all that is done is crossed out on disk or `deadline_ns`, and ends the thread. */
void spooler_end(struct spooler *spooler, uint64_t deadline_ns);

/* Another one uses it, for which it is given back; the last one who drops it frees it. NULL is
 * fine. */
struct spooler *spooler_store(struct spooler *spooler);
void spooler_drop(struct spooler *spooler);

/*
 * Drops it. False: the thread is held up by the disk, and left behind. Until it ends, nobody
 * else can have the spool. NULL is fine.
 */
bool spooler_free(struct spooler *spooler);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_worker.h - one exporter of a delivery: its thread, its plan, its counters.
 *
 * Shape:   lane_new starts the thread; lane_put; at the end lane_hurry, lane_wait,
 *          and for one that has not ended lane_stop and lane_wait; lane_free.
 *          For one with an heir: lane_inherit, lane_leave, lane_wait, lane_bequeath; lane_free.
 * Threads: lane_put and lane_stats from any; the rest from the owner's.
 */
#ifndef AGENT_DELIVERY_EXPORT_WORKER_H
#define AGENT_DELIVERY_EXPORT_WORKER_H

#include "agent/delivery/delivery.h"
#include "agent/delivery/retry_queue.h"

struct lane;  /* private */
struct shelf; /* agent/delivery/spooler.h */

/* What a lane is made from. Borrowed, but for the sink. */
struct lane_settings {
    const char *name;
    enum exporter_form form;
    struct delivery_sink sink;
    struct delivery_limits limits;
    struct delivery_world world;
    struct shelf *shelf; /* NULL: there is no spool */
    uint64_t id;         /* of the delivery's own; no other one has had it */
};

/* Gives: *out, and the sink to it. False: no memory or no thread; then the sink is not taken. */
MUST_CHECK bool lane_new(const struct lane_settings *settings, struct lane **out);

enum exporter_form lane_form(const struct lane *lane);
const char *lane_name(const struct lane *lane);

/* Which exporter it is to the spool: one with an heir gives it away. */
uint64_t lane_id(const struct lane *lane);
void lane_stats(struct lane *lane, struct delivery_stats *out);

/* Queues an item; drops it once the lane is to end. Gives: its parcel to the lane. */
void lane_put(struct lane *lane, const struct delivery_item *item);

/* The spool has dropped all its entries up to this one. */
void lane_gone(struct lane *lane, uint64_t order);

/* Counts a profile that there was no memory for. */
void lane_count_lost(struct lane *lane);

/*
 * Tries at once all that is queued, and ends the thread when there is no more, or when it
 * fails and what is left is in the spool. `again`: even if it failed before.
 */
void lane_hurry(struct lane *lane, bool again);

/* Cancels the send, drops what is in memory only and ends the thread. */
void lane_stop(struct lane *lane);

/* Makes `heir`, which nobody uses yet, the same to the spool; it sends nothing until lane_bequeath.
 */
void lane_inherit(struct lane *heir, const struct lane *lane);

/* Has the thread end after the send that is under way. */
void lane_leave(struct lane *lane);

/*
 * Gives an heir all that is queued, and starts it. What is under way even now is cancelled, and
 * its heir has it, too.
 */
void lane_bequeath(struct lane *lane, struct lane *heir);

/* Drops what is queued, and what is under way if it fails: from the spool, too. */
void lane_retire(struct lane *lane);

/* Waits for the thread's end, until `deadline_ns`. True: it has ended. */
bool lane_wait(struct lane *lane, uint64_t deadline_ns);

/*
 * Ends a lane whose thread has ended, and closes its sink. False: it has not; it
 * will do both itself, should what holds it up ever let it go.
 */
bool lane_free(struct lane *lane);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_worker.h - one exporter of a delivery: its thread, its plan, its counters.
 *
 * Shape:   export_worker_new starts the thread; export_worker_put; at the end
 *          export_worker_expedite, export_worker_wait, and for one that has not ended
 *          export_worker_stop and export_worker_wait; export_worker_free. For one with an heir:
 *          export_worker_take_over, export_worker_leave, export_worker_wait,
 *          export_worker_hand_over; export_worker_free.
 * Threads: export_worker_put and export_worker_stats from any; the rest from the owner's.
 */
#ifndef AGENT_DELIVERY_EXPORT_WORKER_H
#define AGENT_DELIVERY_EXPORT_WORKER_H

#include "agent/delivery/delivery.h"
#include "agent/delivery/retry_queue.h"

struct export_worker; /* private */
struct spooler;       /* agent/delivery/spooler.h */

/* What a lane is made from. Borrowed, but for the sink. */
struct export_worker_settings {
    const char *name;
    enum exporter_form form;
    struct delivery_sink sink;
    struct delivery_limits limits;
    struct delivery_world world;
    struct spooler *spooler; /* NULL: there is no spool */
    uint64_t id;             /* of the delivery's own; no other one has had it */
};

/* Gives: *out, and the sink to it. False: no memory or no thread; then the sink is not taken. */
MUST_CHECK bool export_worker_new(const struct export_worker_settings *settings,
                                  struct export_worker **out);

enum exporter_form export_worker_form(const struct export_worker *worker);
const char *export_worker_name(const struct export_worker *worker);

/* Which exporter it is to the spool: one with an heir gives it away. */
uint64_t export_worker_id(const struct export_worker *worker);
void export_worker_stats(struct export_worker *worker, struct delivery_stats *out);

/* Queues an item; drops it once the lane is to end. Gives: its parcel to the lane. */
void export_worker_put(struct export_worker *worker, const struct delivery_item *item);

/* The spool has dropped all its entries up to this one. */
void export_worker_gone(struct export_worker *worker, uint64_t order);

/* Counts a profile that there was no memory for. */
void export_worker_count_lost(struct export_worker *worker);

/*
 * Tries at once all that is queued, and ends the thread when there is no more, or when it
 * fails and what is left is in the spool. `again`: even if it failed before.
 */
void export_worker_expedite(struct export_worker *worker, bool again);

/* Cancels the send, drops what is in memory only and ends the thread. */
void export_worker_stop(struct export_worker *worker);

/* Makes `heir`, which nobody uses yet, the same to the spool; it sends nothing until
 * export_worker_hand_over.
 */
void export_worker_take_over(struct export_worker *successor, const struct export_worker *worker);

/* Has the thread end after the send that is under way. */
void export_worker_leave(struct export_worker *worker);

/*
 * Gives an heir all that is queued, and starts it. What is under way even now is cancelled, and
 * its heir has it, too.
 */
void export_worker_hand_over(struct export_worker *worker, struct export_worker *successor);

/* Drops what is queued, and what is under way if it fails: from the spool, too. */
void export_worker_retire(struct export_worker *worker);

/* Waits for the thread's end, until `deadline_ns`. True: it has ended. */
bool export_worker_wait(struct export_worker *worker, uint64_t deadline_ns);

/*
 * Ends a lane whose thread has ended, and closes its sink. False: it has not; it
 * will do both itself, should what holds it up ever let it go.
 */
bool export_worker_free(struct export_worker *worker);

#endif

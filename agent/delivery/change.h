/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - gives a delivery that runs other exporters, and leaves those that stay as
 * they are: their queues, connections, pauses and counters.
 *
 * Shape:   delivery_change_new, delivery_change_reuse or delivery_change_add for each exporter that
 *          there is to be, in order; then delivery_change_apply, and delivery_left_end for those
 *          that are no more; or delivery_change_abandon, and nothing has happened.
 * Threads: those of a delivery's owner; delivery_left_end may be called from any.
 */
#ifndef AGENT_DELIVERY_CHANGE_H
#define AGENT_DELIVERY_CHANGE_H

#include "agent/delivery/delivery.h"

struct delivery_change; /* private */
struct delivery_left;   /* private: exporters that are no more */

/* For up to `count` exporters; the delivery has started. NULL: out of memory. */
MUST_CHECK struct delivery_change *delivery_change_new(struct delivery *delivery, size_t count);

/* The next exporter is number `i` of before, each of which can be kept once. */
void delivery_change_reuse(struct delivery_change *change, size_t i);

/*
 * The next exporter is a new one, as with delivery_add. If one of the same name and form is not
 * kept, the new one has its queue, too.
 */
MUST_CHECK bool delivery_change_add(struct delivery_change *change, const char *name,
                                    enum exporter_form form, const struct delivery_sink *sink,
                                    const struct delivery_limits *limits);

/*
 * From here on the delivery has these exporters. A send that is under way has until `deadline_ns`
 * (monotonic) to end, if another exporter goes on with its queue.
 *
 * Gives: what delivery_left_end must be called with; the change is freed.
 */
MUST_CHECK struct delivery_left *delivery_change_apply(struct delivery_change *change,
                                                       uint64_t deadline_ns);

/* Ends those that were added. NULL is fine. */
void delivery_change_abandon(struct delivery_change *change);

/*
 * Has exporters that are no more, and have no heir, try what they have until `deadline_ns`
 * (monotonic), then drops the rest, and ends them; 200 ms later at the latest. It may outlive
 * the delivery.
 *
 * Gives: false if a thread was left behind, as with delivery_free.
 */
bool delivery_left_end(struct delivery_left *left, uint64_t deadline_ns);

#endif

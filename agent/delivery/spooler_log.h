/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spooler_log.h - says in the log how the spool fares, without filling it.
 *
 * Shape:   spooler_talk_init, then spooler_talk_tell whenever the disk was used.
 * Threads: belongs to one thread at a time.
 */
#ifndef AGENT_DELIVERY_SPOOLER_LOG_H
#define AGENT_DELIVERY_SPOOLER_LOG_H

#include "agent/delivery/delivery.h"

struct spooler_talk {
    const struct delivery_world *world;   /* borrowed */
    uint64_t every_ns;                    /* between two lines of one kind */
    bool failing;                         /* that it fails has been said */
    struct delivery_spool_stats reported; /* what has been said of each counter */
    uint64_t failure_ns, drop_ns, bad_ns; /* the last line of each kind; 0: none yet */
};

void spooler_talk_init(struct spooler_talk *talk, const struct delivery_world *world,
                       uint64_t every_ns);

/* Says what is news in the counters. */
void spooler_talk_tell(struct spooler_talk *talk, uint64_t now_ns,
                       const struct delivery_spool_stats *stats);

/* Says that the disk does not answer: what the thread that waits for it cannot. */
void spooler_talk_stuck(const struct delivery_world *world, const struct err *err);

#endif

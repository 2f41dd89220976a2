/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_log.h - says in the log how an exporter fares, without filling it.
 *
 * Shape:   delivery_talk_init, then delivery_tell after each try.
 * Threads: belongs to one thread at a time.
 */
#ifndef AGENT_DELIVERY_EXPORT_LOG_H
#define AGENT_DELIVERY_EXPORT_LOG_H

#include "agent/delivery/delivery.h"

struct delivery_talk {
    char who[80];                       /* "exporter NAME" */
    const struct delivery_world *world; /* borrowed */
    uint64_t every_ns;                  /* between two lines of one kind */
    bool announced;                     /* that it fails has been said */
    uint64_t failed_tries;              /* since it last worked */
    uint64_t dropped;                   /* of all that were lost, so many have been told */
    uint64_t rejected;                  /* ... and of the samples that servers left out */
    uint64_t failure_ns, refusal_ns, drop_ns, reject_ns; /* the last line of each kind; 0: none */
};

/* Says a line of `who`. */
void delivery_say(const struct delivery_world *world, const char *who, enum delivery_level level,
                  const char *format, ...) PRINTF_LIKE(4, 5);

/* True, and *last_ns is set, if the last line of this kind is long enough ago; 0: there is none. */
bool delivery_may_say(uint64_t every_ns, uint64_t *last_ns, uint64_t now_ns);

/* Makes it so that nothing has been said. */
void delivery_talk_init(struct delivery_talk *talk, const char *name,
                        const struct delivery_world *world, uint64_t every_ns);

/*
 * Takes in an answer and says it if it is news: the first failure, that it still
 * fails, that it works again, a refusal, profiles dropped. `stats` are those after it.
 */
void delivery_tell(struct delivery_talk *talk, enum exporter_rc rc, uint64_t now_ns,
                   const struct delivery_stats *stats);

/* Says what an exporter has noted; it does so once for each thing. */
void delivery_note(const struct delivery_talk *talk, const char *note);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_log.h - says in the log how an exporter and the spool fare, without filling it.
 *
 * Shape:   export_log_init, then export_log_result after each push; spool_log_tell whenever the
 *          disk was used.
 * Threads: each belongs to one thread at a time.
 */
#ifndef AGENT_DELIVERY_EXPORT_LOG_H
#define AGENT_DELIVERY_EXPORT_LOG_H

#include "agent/delivery/delivery.h"

/* What to do about an exporter that falls behind. */
#define EXPORT_BEHIND_CURE \
    "set a longer interval, a greater max_in_flight, or give the server more room"

enum { EXPORT_PACE_MAX = 192 };

/* The least time between two lines of one kind. */
#define EXPORT_LOG_EVERY_NS (60 * UINT64_C(1000000000))

struct export_log {
    char who[80];                       /* "exporter NAME" */
    const struct delivery_world *world; /* borrowed */
    bool announced;                     /* that it fails has been said */
    bool behind;                        /* that it falls behind has been said */
    uint64_t failed_tries;              /* since it last worked */
    uint64_t dropped;                   /* of all that were lost, so many have been told */
    uint64_t rejected;                  /* ... and of the samples that servers left out */
    char note[ERR_TEXT_MAX];            /* the last one that was told */
    uint64_t failure_ns, refusal_ns, drop_ns, reject_ns, note_ns; /* the last line of each, or 0 */
};

/* How many profiles come and are taken, measured over about a minute. */
struct export_rates {
    uint64_t since_ns, put, sent; /* when this minute began, and the counters then */
    double in, out;               /* a second, of the minute before */
    bool known;
};

struct spool_log {
    const struct delivery_world *world;   /* borrowed */
    bool failing;                         /* that it fails has been said */
    struct delivery_spool_stats reported; /* what has been said of each counter */
    uint64_t failure_ns, drop_ns, bad_ns; /* the last line of each kind; 0: none yet */
};

/* Says a line of `who`. */
void export_log_say(const struct delivery_world *world, const char *who, enum delivery_level level,
                    const char *format, ...) PRINTF_LIKE(4, 5);

/* Makes it so that nothing has been said. */
void export_log_init(struct export_log *log, const char *name, const struct delivery_world *world);

/*
 * Takes in the result of a push and says it if it is news: the first failure, that it still
 * fails, that it works again, a refusal, profiles dropped, a note that is not the last one.
 * `stats` are those after it.
 */
void export_log_result(struct export_log *log, const struct exporter_result *result,
                       uint64_t now_ns, const struct delivery_stats *stats);

/* Writes how fast profiles come and are taken, what waits, and how long an answer takes. */
void export_log_pace(const struct delivery_stats *stats, char out[EXPORT_PACE_MAX]);

/* Says that an exporter falls behind, and that it no longer does. */
void export_log_behind(struct export_log *log, const struct delivery_stats *stats);

/* Takes in the counters of now. True: a minute is over, and the rates are new. */
bool export_rates_update(struct export_rates *rates, uint64_t now_ns, uint64_t put, uint64_t sent);

void spool_log_init(struct spool_log *log, const struct delivery_world *world);

/* Says what is news in the counters. */
void spool_log_tell(struct spool_log *log, uint64_t now_ns,
                    const struct delivery_spool_stats *stats);

#endif

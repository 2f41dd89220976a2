/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_log.h - logs the state of exporters and of the spool. At most one line a minute each for:
 * - exporter: failures, refusals, dropped profiles, rejected profiles, notes of the server;
 * - spool: failures, drops of the oldest profiles, bad files.
 *
 * Shape:   export_log_init. After each push (a try to send a batch): export_rates_update,
 *          export_log_result, export_log_behind. spool_log_init. After disk use: spool_log_tell.
 * Threads: each struct belongs to one thread at a time.
 */
#ifndef AGENT_DELIVERY_EXPORT_LOG_H
#define AGENT_DELIVERY_EXPORT_LOG_H

#include "agent/delivery/delivery.h"

/* Advice to users whose exporter falls behind: profiles are queued faster than it sends them. */
#define EXPORT_BEHIND_CURE \
    "set a longer interval or a greater max_in_flight, or give the server more CPU or memory"

enum { EXPORT_PACE_MAX = 192 }; /* bytes of a text by export_log_pace, with the final 0 byte */

/* The least time between two lines of one kind, in ns. */
#define EXPORT_LOG_EVERY_NS (60 * UINT64_C(1000000000))

/* What the log already says about one exporter. */
struct export_log {
    char who[80];                       /* "exporter NAME", with which each line begins */
    const struct delivery_world *world; /* borrowed: the log */
    bool failure_logged;                /* the log says that the exporter fails */
    bool behind_logged;                 /* the log says that the exporter falls behind */
    uint64_t failed_tries;              /* failed pushes since the last success, not refused ones */
    uint64_t dropped_logged;            /* dropped_full + dropped_old when last logged */
    uint64_t rejected_logged;           /* value of delivery_stats.rejected last logged */
    char logged_note[ERR_TEXT_MAX];     /* the last note of the server that was logged; "": none */
    /* Times of the last line of each kind, by the caller's clock; 0: none yet. refusal_ns: the
     * server refused profiles; reject_ns: it took a request, but rejected profiles in it. */
    uint64_t failure_ns, refusal_ns, drop_ns, reject_ns, note_ns;
};

/* How many profiles are queued and sent per second. A period lasts at least 60 s. */
struct export_rates {
    uint64_t since_ns;  /* start of the current period; 0: none has begun */
    uint64_t put, sent; /* arguments of export_rates_update at since_ns */
    double in_rate;     /* profiles queued per second in the last complete period */
    double out_rate;    /* profiles sent or refused for good, per second in the same period */
    bool known;         /* a period is complete, so the rates are valid */
};

/* What the log already says about the spool. */
struct spool_log {
    const struct delivery_world *world;   /* borrowed: the log */
    bool failure_logged;                  /* the log says that the disk fails */
    struct delivery_spool_stats reported; /* values of the counters that the log has mentioned */
    uint64_t failure_ns, drop_ns, bad_ns; /* times of the last line of each kind; 0: none yet */
};

/* Logs the line "WHO: TEXT"; the text is made from `format` as printf does. */
void export_log_say(const struct delivery_world *world, const char *who, enum delivery_level level,
                    const char *format, ...) PRINTF_LIKE(4, 5);

/* Initialises *log for the exporter `name`, with nothing logged yet. Borrows `world`. */
void export_log_init(struct export_log *log, const char *name, const struct delivery_world *world);

/*
 * Logs what is new after a push: the exporter begins to fail, still fails, or works again; profiles
 * were refused or dropped; the server took a request, but rejected profiles in it; the server sent
 * a note that differs from the last one. `stats`: the exporter's counters after the push.
 * `now_ns`: the time now, by a clock that never goes back.
 */
void export_log_result(struct export_log *log, const struct exporter_result *result,
                       uint64_t now_ns, const struct delivery_stats *stats);

/* Formats a text for the log and `pystrobe doctor`: the rates of *stats, how many profiles wait,
 * for how long the oldest has waited, and the mean time of a push. Logs nothing. */
void export_log_pace(const struct delivery_stats *stats, char out[EXPORT_PACE_MAX]);

/* Logs a line when stats->behind has become true (the exporter falls behind), and another when it
 * has become false (the exporter has caught up). */
void export_log_behind(struct export_log *log, const struct delivery_stats *stats);

/* Updates the rates from two counters: profiles queued so far (`put`), and those sent or refused
 * for good (`sent`). Call it after each push; before the first call *rates is all 0. Gives true if
 * a period has just ended, so that the rates have new values. */
bool export_rates_update(struct export_rates *rates, uint64_t now_ns, uint64_t put, uint64_t sent);

/* Initialises *log with nothing logged yet. Borrows `world`. */
void spool_log_init(struct spool_log *log, const struct delivery_world *world);

/* Logs what has changed in the spool's counters: the disk begins to fail or works again; profiles
 * were dropped; profiles of an earlier run were found; files could not be read, or were moved to
 * bad/. */
void spool_log_tell(struct spool_log *log, uint64_t now_ns,
                    const struct delivery_spool_stats *stats);

#endif

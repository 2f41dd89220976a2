/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_log.h - logs processes that hang: one line when a hang is seen, with a dump of the threads,
 * and one line when it ends.
 *
 * Dumps are limited, because a process may hang often: one in HANG_DUMP_EVERY_NS for each process;
 * for all processes HANG_DUMPS at once, then one each 30 s. Lines without a dump have the limits of
 * all log lines.
 *
 * Threads: one.
 */
#ifndef AGENT_SUPERVISOR_HANG_LOG_H
#define AGENT_SUPERVISOR_HANG_LOG_H

#include "agent/host/log_limit.h"
#include "agent/sampling/engine.h"
#include "base/time_units.h"

#define HANG_DUMP_EVERY_NS (600 * NS_PER_S)

enum { HANG_DUMPS = LOG_BURST };

/* The last reported hang of one process. */
struct hang_reported {
    enum hang_kind kind;   /* HANG_NONE: it does not hang */
    pid_t tid;             /* as in struct hang */
    uint64_t since_ns;     /* monotonic: when the hang began */
    uint64_t count;        /* hangs of the process so far */
    uint64_t next_dump_ns; /* monotonic: no dump before */
};

/* State of the log for all processes. */
struct hang_log {
    uint64_t counts[HANG_KINDS]; /* hangs so far, by kind; [HANG_NONE]: hangs that have ended */
    struct log_limit dumps;      /* limit of dumps of all processes */
};

/* Logs the event `hang` of a process of `service` and stores it in *reported; nothing if the kind
 * is the same. `dump`: text of `size` bytes; size 0: none. */
void hang_report(struct hang_log *log, struct hang_reported *reported,
                 const struct engine_hang *hang, const char *service, const char *dump,
                 size_t size);

/* Sets the kind to HANG_NONE without a log line, because the process is sampled no longer. */
void hang_forget(struct hang_reported *reported);

#endif

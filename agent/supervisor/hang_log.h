/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_log.h - logs processes that hang: one line when the hang is seen, with a dump of the
 * threads, and one line when it ends.
 *
 * A process may hang often. Dumps are limited: one of each process in HANG_DUMP_EVERY_NS; of all
 * processes HANG_DUMPS at once, then one each 30 s. Lines without a dump have the limits of all log
 * lines.
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

/* What the log has about one process. */
struct hang_reported {
    enum hang_kind kind;
    pid_t tid;
    uint64_t since_ns;     /* monotonic */
    uint64_t count;        /* hangs so far */
    uint64_t next_dump_ns; /* monotonic: no dump before */
};

/* What the log has about all processes. */
struct hang_log {
    uint64_t counts[HANG_KINDS]; /* [HANG_NONE]: hangs that have ended */
    struct log_limit dumps;
};

/* Logs the event `hang` of a process of `service`, unless `reported` has it already. `dump`: text
 * of `size` bytes; size 0: none. */
void hang_report(struct hang_log *log, struct hang_reported *reported,
                 const struct engine_hang *hang, const char *service, const char *dump,
                 size_t size);

/* Forgets a hang, because the process has ended or is sampled no longer. */
void hang_forget(struct hang_reported *reported);

#endif

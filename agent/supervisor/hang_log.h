/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_log.h - tells in the log of a process that hangs: a line when it is seen, with a dump of
 * what its threads do, and a line when it goes on.
 *
 * A process can hang and go on again as often as it likes. Of each there is a dump once in
 * HANG_DUMP_EVERY_NS, of all together HANG_DUMPS at once and then one in each 30 s; lines without a
 * dump are limited as all lines of the log are.
 *
 * Threads: one.
 */
#ifndef AGENT_SUPERVISOR_HANG_LOG_H
#define AGENT_SUPERVISOR_HANG_LOG_H

#include "agent/host/log_limit.h"
#include "agent/sampling/engine.h"

#define HANG_DUMP_EVERY_NS (UINT64_C(600) * 1000000000)

enum { HANG_DUMPS = LOG_BURST };

/* What was told of one process. */
struct hang_reported {
    enum hang_kind kind;
    pid_t tid;
    uint64_t since_ns;     /* monotonic */
    uint64_t count;        /* how often it hung */
    uint64_t next_dump_ns; /* monotonic: none before */
};

/* What was told of all. */
struct hang_log {
    uint64_t counts[HANG_KINDS]; /* [HANG_NONE]: how often one went on */
    struct log_limit dumps;
};

/* Tells the news of a process of `service`, unless `told` has them already. `dump`: text of `size`
 * bytes, 0: none could be had. */
void hang_report(struct hang_log *log, struct hang_reported *reported,
                 const struct engine_hang *hang, const char *service, const char *dump,
                 size_t size);

/* The process has ended, or is not read any more: it does not hang. */
void hang_forget(struct hang_reported *reported);

#endif

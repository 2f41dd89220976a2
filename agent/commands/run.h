/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - the parts of a running agent: cmd_agent.c starts and ends them, reload.c changes them. */
#ifndef AGENT_COMMANDS_RUN_H
#define AGENT_COMMANDS_RUN_H

#include <limits.h>

#include "agent/delivery/publisher.h"
#include "agent/discover/match.h"
#include "agent/serve/monitoring.h"
#include "agent/supervisor/supervisor.h"

struct run {
    struct conf_source source;  /* of the settings; borrowed */
    struct conf *conf;          /* owned: in effect */
    struct matcher *matcher;    /* owned */
    struct proc_reader *reader; /* owned */
    struct publisher publisher;
    struct supervisor *supervisor; /* owned */
    struct monitoring monitoring;
    char spool[PATH_MAX]; /* of a service manager, where the settings name none */
    bool hangs;           /* an exporter could not be ended */
};

/* Gives settings that name no spool the one that a service manager has made for us, if any. */
void run_choose_spool(struct run *run, struct conf *conf);

/*
 * Reads the settings anew. What did not change goes on as it is: targets are sampled on,
 * exporters keep their queues and connections. With a mistake in them all stays as it was.
 *
 * False: `err` says why not, or the first of several mistakes; the log has all of them.
 */
bool reload(struct run *run, struct err *err);

/* Waits up to `deadline_ns` for exporters that a reload ended. False: one hangs. */
MUST_CHECK bool reload_wait(uint64_t deadline_ns);

#endif

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
    struct conf_source source;  /* of `conf`; its pointers are borrowed */
    struct conf *conf;          /* owned: the settings in effect */
    struct matcher *matcher;    /* owned */
    struct proc_reader *reader; /* owned */
    struct publisher publisher;
    struct supervisor *supervisor; /* owned */
    struct monitoring monitoring;
    char spool[PATH_MAX]; /* path that run_choose_spool has made; conf->agent.spool points here */
    bool hangs;           /* an exporter's thread could not be ended */
};

/* If settings name no spool, and a service manager has set STATE_DIRECTORY, sets their spool to the
 * directory "spool" in the first directory of that variable. */
void run_choose_spool(struct run *run, struct conf *conf);

/*
 * Reads the settings again and applies the changes. Unchanged parts go on: targets stay sampled,
 * and exporters whose settings are all the same keep their queues and connections.
 *
 * Errors: false: nothing was changed; `err` has the first mistake, the log has all of them.
 */
bool reload(struct run *run, struct err *err);

/* Waits for the end of replaced exporters. False: one still runs at `deadline_ns` (monotonic). */
MUST_CHECK bool reload_wait(uint64_t deadline_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_watchdog.h - exits this process if its main thread hangs in a read of a target. It is for
 * commands such as `pystrobe dump`; child_process.h does the same for the agent's samplers. A page
 * of the target may never arrive (userfaultfd, a FUSE file system that does not answer). Then only
 * the end of the whole process helps.
 *
 * Shape:   read_watchdog_start once. Around each read of a target: heartbeat_begin_read and
 *          heartbeat_end_read with read_watchdog_heartbeat.
 * Threads: starts one. It calls `give_up` while the main thread hangs, so `give_up` must not wait
 *          for a lock that the main thread may hold.
 */
#ifndef AGENT_DUMP_READ_WATCHDOG_H
#define AGENT_DUMP_READ_WATCHDOG_H

#include "agent/child/heartbeat.h"

/*
 * Watches the calling thread. If it is blocked in one read for 5 s, prints an error and exits with
 * the status that `give_up` returns (NULL: EXIT_UNAVAILABLE). Has no effect if no thread can be
 * started.
 */
void read_watchdog_start(int (*give_up)(void *ctx), void *ctx);

/* The heartbeat of the watched thread. Static. */
struct heartbeat *read_watchdog_heartbeat(void);

#endif

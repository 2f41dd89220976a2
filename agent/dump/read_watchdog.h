/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_watchdog.h - ends a command whose main thread hangs in the read of a process, see
 * child_process.h for the agent's own samplers: a page of it may never come (userfaultfd, a FUSE
 * file system that does not answer), and no signal but the one that ends all threads helps.
 *
 * Shape:   read_watchdog_start once; heartbeat_begin_read before a process is read and
 * heartbeat_end_read after it. Threads: makes one, in which `give_up` is called while the main
 * thread hangs; what that thread uses must be left alone.
 */
#ifndef AGENT_DUMP_READ_WATCHDOG_H
#define AGENT_DUMP_READ_WATCHDOG_H

#include "agent/child/heartbeat.h"

/*
 * Watches the calling thread from now on. `give_up` gives the exit status; NULL: EXIT_UNAVAILABLE.
 * Where no thread can be had nobody watches.
 */
void read_watchdog_start(int (*give_up)(void *ctx), void *ctx);

/* Lends, for ever, where the watched thread shows what it does. */
struct heartbeat *read_watchdog_heartbeat(void);

#endif

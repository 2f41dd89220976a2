/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_watchdog.h - ends a command whose main thread hangs in a read of a process (child_process.h
 * does this for the agent's samplers). A page of the target may never arrive (userfaultfd, a FUSE
 * file system that does not answer), and then only a signal that ends all threads helps.
 *
 * Shape:   read_watchdog_start once; heartbeat_begin_read of read_watchdog_heartbeat before a
 *          process is read, and heartbeat_end_read after it.
 * Threads: makes one, in which `give_up` is called while the main thread hangs: it must use nothing
 *          that the main thread may have locked.
 */
#ifndef AGENT_DUMP_READ_WATCHDOG_H
#define AGENT_DUMP_READ_WATCHDOG_H

#include "agent/child/heartbeat.h"

/*
 * Watches the calling thread from now on. If it hangs in a read for 5 s, says so on stderr, calls
 * `give_up`, and exits with the status that this returns (NULL: EXIT_UNAVAILABLE). Without effect
 * if no thread can be started.
 */
void read_watchdog_start(int (*give_up)(void *ctx), void *ctx);

/* The heartbeat of the watched thread. Static. */
struct heartbeat *read_watchdog_heartbeat(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execs.h - the kernel's notices of execs and of new processes.
 *
 * Notices queue up in the kernel until execs_read or forks_read. A scan reads those since the last
 * scan, so that no exec wakes up a thread. A caller that waits for a notice first limits the
 * notices to few processes with forks_watch.
 *
 * Needs:   Linux 6.6, or CAP_NET_ADMIN before that; the host's own pid and user namespace.
 * Source:  the kernel's drivers/connector/cn_proc.c.
 */
#ifndef AGENT_PROC_EXECS_H
#define AGENT_PROC_EXECS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Gives: a descriptor for execs_read, ended with close; -1: the kernel sends us no notices. */
MUST_CHECK int execs_open(void);

/*
 * Calls `each` for every exec since the last call; `when_ns` (CLOCK_MONOTONIC) is the time of the
 * exec. Never waits. False: some notices were lost.
 */
MUST_CHECK bool execs_read(int fd, void (*each)(void *ctx, pid_t pid, uint64_t when_ns), void *ctx);

/* The same for new processes, but not new threads. If some hundreds of processes start between two
 * calls, the queue may overflow: notices are lost. */
MUST_CHECK int forks_open(void);
MUST_CHECK bool forks_read(int fd, void (*each)(void *ctx, pid_t parent, pid_t child), void *ctx);

enum { FORKS_PARENTS_MAX = 1000 };

/* Limits later notices of a forks_open descriptor to children of these processes, of the first
 * FORKS_PARENTS_MAX if there are more. False: nothing has changed. */
MUST_CHECK bool forks_watch(int fd, const pid_t *parents, size_t count);

#endif

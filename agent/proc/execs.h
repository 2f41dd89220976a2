/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execs.h - the kernel's notices of processes that began to run another program, and of processes
 * that came.
 *
 * They queue up in the kernel until execs_read or forks_read: a scan reads what came since the last
 * one, so that a host that starts many programs wakes nobody up. Who waits for notices of few
 * processes has the kernel drop the others: forks_watch.
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

/* Gives: a descriptor, ended with close; -1: the kernel tells us nothing. */
MUST_CHECK int execs_open(void);

/*
 * Calls `each` for every process that was noted; `when_ns` (CLOCK_MONOTONIC) is when it began to
 * run the other program. False: some notices were lost.
 */
MUST_CHECK bool execs_read(int fd, void (*each)(void *ctx, pid_t pid, uint64_t when_ns), void *ctx);

/* The same for processes that were started, not for threads. A host may start more of them than the
 * queue has room for: some hundreds between two readings. */
MUST_CHECK int forks_open(void);
MUST_CHECK bool forks_read(int fd, void (*each)(void *ctx, pid_t parent, pid_t child), void *ctx);

enum { FORKS_PARENTS_MAX = 1000 };

/* From now on only children of these processes are reported; if there are more than
 * FORKS_PARENTS_MAX, those of the first. False: nothing has changed. */
MUST_CHECK bool forks_watch(int fd, const pid_t *parents, size_t count);

#endif

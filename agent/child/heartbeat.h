/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat.h - the read that a child (child_process.h) makes now, in one page of memory that it
 * shares with its parent: the parent can see it even while the child hangs.
 *
 * Trust: the parent decides only two things by it: to kill the child, and which process to blame.
 */
#ifndef AGENT_CHILD_HEARTBEAT_H
#define AGENT_CHILD_HEARTBEAT_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct heartbeat {
    _Atomic uint64_t turns;    /* calls of heartbeat_begin_read and heartbeat_end_read */
    _Atomic uint64_t since_ns; /* monotonic: start of the read that runs; 0: none runs */
    _Atomic int32_t pid;       /* the process of that read, or of the last one */
};

/* Records that a read of process `pid` begins; heartbeat_end_read ends it. */
static inline void heartbeat_begin_read(struct heartbeat *heartbeat, pid_t pid, uint64_t now_ns)
{
    atomic_store_explicit(&heartbeat->pid, pid, memory_order_relaxed);
    atomic_fetch_add_explicit(&heartbeat->turns, 1, memory_order_relaxed);
    atomic_store_explicit(&heartbeat->since_ns, now_ns, memory_order_release);
}

/* Start of the read that runs (monotonic); 0: none runs. */
static inline uint64_t heartbeat_since(const struct heartbeat *heartbeat)
{
    return atomic_load_explicit(&heartbeat->since_ns, memory_order_acquire);
}

/* Records that no read runs. An idle child also calls it, to show that it works. */
static inline void heartbeat_end_read(struct heartbeat *heartbeat)
{
    atomic_store_explicit(&heartbeat->since_ns, 0, memory_order_release);
    atomic_fetch_add_explicit(&heartbeat->turns, 1, memory_order_relaxed);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat.h - what a sampler is doing now, in one page of memory that it shares with its
 * supervisor: it can be read even while the sampler hangs.
 *
 * Trust: the supervisor decides nothing by it except to kill the sampler.
 */
#ifndef AGENT_CHILD_HEARTBEAT_H
#define AGENT_CHILD_HEARTBEAT_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct heartbeat {
    _Atomic uint64_t turns;    /* number of steps begun; counts on while the process works */
    _Atomic uint64_t since_ns; /* monotonic: start of the read that runs; 0: none runs */
    _Atomic int32_t pid;       /* the process that is read */
};

/* A read of process `pid` begins; it ends with heartbeat_end_read. */
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

/* The read has ended. */
static inline void heartbeat_end_read(struct heartbeat *heartbeat)
{
    atomic_store_explicit(&heartbeat->since_ns, 0, memory_order_release);
    atomic_fetch_add_explicit(&heartbeat->turns, 1, memory_order_relaxed);
}

#endif

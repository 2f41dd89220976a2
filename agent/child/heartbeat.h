/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat.h - what a sampler shows of itself while it works: one page of memory that its
 * supervisor sees, too, whatever the sampler hangs in.
 *
 * Trust: the supervisor believes nothing but that it may kill the sampler for it.
 */
#ifndef AGENT_CHILD_HEARTBEAT_H
#define AGENT_CHILD_HEARTBEAT_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct heartbeat {
    _Atomic uint64_t turns;    /* counts what it has begun: it lives */
    _Atomic uint64_t since_ns; /* monotonic: since then it reads a process; 0: it reads none */
    _Atomic int32_t pid;       /* that process */
};

/* From now on it reads a process, until heartbeat_end_read. */
static inline void heartbeat_begin_read(struct heartbeat *heartbeat, pid_t pid, uint64_t now_ns)
{
    atomic_store_explicit(&heartbeat->pid, pid, memory_order_relaxed);
    atomic_fetch_add_explicit(&heartbeat->turns, 1, memory_order_relaxed);
    atomic_store_explicit(&heartbeat->since_ns, now_ns, memory_order_release);
}

/* Since when it reads a process; 0: it reads none. */
static inline uint64_t heartbeat_since(const struct heartbeat *heartbeat)
{
    return atomic_load_explicit(&heartbeat->since_ns, memory_order_acquire);
}

/* It reads none, and goes on to something else. */
static inline void heartbeat_end_read(struct heartbeat *heartbeat)
{
    atomic_store_explicit(&heartbeat->since_ns, 0, memory_order_release);
    atomic_fetch_add_explicit(&heartbeat->turns, 1, memory_order_relaxed);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - reads and sets the scheduling of the calling thread, mainly its time slice.
 *
 * Threads: all functions may be called from any thread.
 * Source:  include/uapi/linux/sched/types.h; kernel/sched/syscalls.c, tag v6.12: sched_runtime of
 *          a SCHED_OTHER thread is its time slice. Older kernels ignore it.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel's struct sched_attr, whose header conflicts with <sched.h>. See sched_setattr(2). */
struct slice {
    uint32_t size;   /* bytes of this struct; 0: slice_read failed */
    uint32_t policy; /* SCHED_OTHER, SCHED_FIFO, ... */
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

/* Reads the attributes of the calling thread. Cost: one system call. */
void slice_read(struct slice *out);

/* Sets them. False: slice_read had failed, or the kernel refuses. Cost: one system call. */
bool slice_apply(const struct slice *slice);

/* Sets the time slice if SCHED_OTHER: a shorter one lets the thread in sooner. Ignores failures. */
void slice_shorten(uint64_t runtime_ns);

#endif

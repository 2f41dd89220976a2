/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - how the calling thread is scheduled, and for how long it likes to run at a time.
 *
 * Threads: all functions may be called from any thread.
 * Source:  include/uapi/linux/sched/types.h; kernel/sched/syscalls.c, tag v6.12: sched_runtime of
 *          an ordinary thread is its time slice, before that it is ignored.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel's struct sched_attr, whose header does not go with <sched.h>. */
struct slice {
    uint32_t size; /* 0: not known */
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

/* How it is scheduled now. Cost: one system call. */
void slice_read(struct slice *out);

/* Has it scheduled so. False: unknown how, or that is not allowed. Cost: one system call. */
bool slice_apply(const struct slice *slice);

/* Asks to be let in sooner, for `runtime_ns` at a time, if it is an ordinary thread. */
void slice_shorten(uint64_t runtime_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gil_skip.h - samples that use the GIL's switch count to read only the threads that can have run.
 *
 * Only the thread that holds the GIL can change its Python stack. The GIL counts how often it
 * passed from one thread to another (switch_number; a thread that takes it again after giving it up
 * is not counted). Before the stacks are read, a sample reads this count, the last holder and the
 * head of the list of threads:
 *
 * - All as in the sample before: only the last holder's stack can have changed. Only that is read,
 *   and not even that if the thread has slept since (sched_idle.h).
 * - The count is one higher: the holder then and the holder now are read.
 * - Else all threads are read: a full sample.
 *
 * If the only thread of the process has slept since, nothing is read, because no thread can have
 * been created.
 *
 * A new thread is at the head of the list. A thread that ended took the GIL to do so, or had it
 * last; its state says so as long as it exists, and another thread in the same memory has another
 * id. A new interpreter is at the head of the list of interpreters. This head is read every 64
 * samples, and when a thread ran and the GIL is free, because a thread that enters another
 * interpreter releases the GIL.
 * If a thread that ran has no Python frame, the next sample is a full one: the runtime may be
 * shutting down, which need not change the count.
 *
 * Needs:   3.12 or later, with a GIL.
 * Source:  Python/ceval_gil.c, take_gil and drop_gil, tags v3.12.0 to v3.15.0.
 */
#ifndef UNWIND_GIL_SKIP_H
#define UNWIND_GIL_SKIP_H

#include "unwind/target.h"

/*
 * Begins a GIL-skip sample: marks the threads that can have run in list.threads (`ran`), fetches
 * them and reads their states. False: a full sample is needed.
 */
bool gil_skip_begin(struct cpy_target *target);

/*
 * True if no thread has taken a GIL since the last sample, in which all threads slept: the counts
 * and the last holders are the same, and those holders have slept on. A thread that woke up in C
 * code and did not take the GIL is not noticed. Only valid if gil_skip.ready is set.
 */
bool gil_skip_all_idle(struct cpy_target *target);

/*
 * The same for versions before 3.12, which do not count GIL switches: true if no thread holds the
 * GIL now, and the thread that was last seen to run has slept on. Other threads are not asked.
 */
bool gil_skip_gil_is_free(struct cpy_target *target);

/*
 * Fetches what a full sample is likely to read. With CPY_STATUS_CPU and one interpreter, it first
 * marks the threads that have slept since their stacks were read (`sleeps`): of these it fetches
 * only the thread state, for the list.
 */
void gil_skip_fetch_all(struct cpy_target *target);

/* To be called after a sample without errors: sets gil_skip.ready for the next one. */
void gil_skip_end(struct cpy_target *target);

#endif

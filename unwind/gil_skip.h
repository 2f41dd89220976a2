/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gil_skip.h - samples that read only the threads that can have run, by the GIL's switch count.
 *
 * Only the thread that holds the GIL can change its Python stack. The GIL counts how often it
 * passed from one thread to another (switch_number; a thread that takes it again after giving it up
 * is not counted). Before the stacks are read, a sample reads this count, the last holder and the
 * head of the list of threads:
 *
 * - All as in the sample before: no other thread's stack has changed. Only the last holder is read,
 *   and not even that if it has slept since (sched_idle.h).
 * - The count is one higher: the holder then and the holder now are read.
 * - Else all threads are read: a full sample.
 *
 * If the only thread of the process has slept since, nothing is read, because no thread can have
 * been created.
 *
 * A new thread is at the head of the list. A thread that ended took the GIL to do so, or had it
 * last; its state says so as long as it exists, and another thread in the same memory has another
 * id. A new interpreter is at the head of the list of interpreters, which is read where a thread
 * ran and the GIL is free, as a thread that goes into another interpreter leaves it, and every 64
 * samples.
 * If a thread that ran has no Python frame, the next sample reads all: the runtime may shut down,
 * and no GIL need change hands in that.
 *
 * Needs:   3.12 or later, with a GIL.
 * Source:  Python/ceval_gil.c, take_gil and drop_gil, tags v3.12.0 to v3.15.0.
 */
#ifndef UNWIND_GIL_SKIP_H
#define UNWIND_GIL_SKIP_H

#include "unwind/target.h"

/*
 * Begins a GIL-skip sample: fetches the threads that can have run and marks them in list.threads
 * (`ran`). False: a full sample is needed.
 */
bool gil_skip_begin(struct cpy_target *target);

/*
 * True if no thread has taken a GIL since the last sample, in which all threads slept: the counts
 * and the last holders are the same, and those holders have slept on. A thread that woke up in C
 * code and did not take the GIL is not noticed. Only to be called if gil_skip.ready.
 */
bool gil_skip_all_idle(struct cpy_target *target);

/*
 * The same for versions that do not count GIL switches and have one GIL for all interpreters: no
 * thread holds it now, and the thread that ran last has slept on.
 */
bool gil_skip_gil_is_free(struct cpy_target *target);

/*
 * Fetches what a full sample is likely to read. If the kernel is asked about each thread anyway,
 * those that have slept since their stacks were read are marked (`sleeps`), and only their thread
 * state is fetched, for the list.
 */
void gil_skip_fetch_all(struct cpy_target *target);

/* To be called after a sample without errors: finds out whether the next one may skip threads. */
void gil_skip_end(struct cpy_target *target);

#endif

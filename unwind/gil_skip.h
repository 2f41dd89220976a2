/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gil_skip.h - knows when a sample need not read all threads.
 *
 * Where there is a GIL, only a thread that holds it can change its Python stack, and
 * the GIL counts how often it went from one thread to another (switch_number; not when
 * the thread that gave it up takes it again). So if the count, the last holder and the
 * head of the list of threads are what they were before the sample before was read, all
 * other threads' stacks are what they were then: only the last holder is read, and not even
 * that one if it slept all the time (sched_idle.h). If the count is one more, the holder now and
 * the one then are read. Where the one that slept is the only thread of the process, nothing is
 * read: nobody can have come.
 *
 * A thread that came is at the head of the list. One that went took the GIL for that, or
 * had it last; its state says so as long as it is there, and whoever takes its place has
 * another id. New interpreters come to the head of their list, which is looked at each 64
 * samples.
 *
 * Source: Python/ceval_gil.c, take_gil and drop_gil, tags v3.12.0 to v3.15.0.
 */
#ifndef UNWIND_GIL_SKIP_H
#define UNWIND_GIL_SKIP_H

#include "unwind/target.h"

/*
 * True if this sample has to read only the threads that are marked as `ran`, of those that
 * the sample before has listed; their words are fetched.
 */
bool gil_skip_begin(struct cpy_target *target);

/*
 * True if nobody has had a GIL since the sample before, of whose threads all were seen to sleep:
 * the counts and the last holders are what they were, and these have slept on. A thread that woke
 * up in C code, and took no GIL, is not noticed. To be asked only where the next sample may be
 * light.
 */
bool gil_skip_all_idle(struct cpy_target *target);

/* The same where nobody counts who takes the GIL, and there is one for all interpreters: nobody has
 * it now, and the thread that was last seen to have run has slept on. */
bool gil_skip_gil_is_free(struct cpy_target *target);

/*
 * Fetches what a sample of all threads is likely to read. Where the kernel is asked about each of
 * them anyway, those that have slept since their stacks were read are marked as `sleeps`: of them
 * only the state is fetched, for the list.
 */
void gil_skip_fetch_all(struct cpy_target *target);

/* After a sample that went well: may the next one be light? */
void gil_skip_end(struct cpy_target *target);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_names.h - decides in which samples the names of which threads are read.
 *
 * The name of a new thread is read in its first sample. After cpy_look_at_names it is read again
 * for threads that have run since: a thread that has not run has not renamed itself. Another thread
 * may have renamed it, so of those that sleep one is looked at each time, too. What is not known is
 * looked for again after a number of samples that doubles.
 *
 * Cost: what the last looks have read is fetched with the sample, or by one call for all looks of a
 *       sample. So threads that are looked at again and again cost no further system calls; one
 *       that comes, or whose turn it is, costs a few, whatever the number of threads.
 */
#ifndef UNWIND_THREAD_NAMES_H
#define UNWIND_THREAD_NAMES_H

#include "unwind/target.h"

/* Reads the names that this sample has to read. To be called once the threads are listed. */
void thread_names_read(struct cpy_target *target);

/*
 * The name of a thread that is in the sample: that of the outermost interpreter which knows one. To
 * those within, the thread that came to import threading first is "MainThread". NULL: not known.
 *
 * Gives:  sets *changed if it may differ from the one of the last call; else leaves it.
 * Lends:  until the next sample.
 */
const char *thread_names_get(struct cpy_target *target, const struct listed *thread, bool *changed);

/* Notes that a thread may have run since the sample before. */
void thread_names_note_run(struct cpy_target *target, const struct listed *thread);

#endif

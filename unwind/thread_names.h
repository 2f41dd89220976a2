/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_names.h - decides in which samples the names of which threads are read.
 *
 * The name of a new thread is read in its first sample. After cpy_look_at_names it is read again
 * for threads that have run since, at most 16 in a sample: the others have not renamed themselves.
 * Another thread may have renamed them, so every tenth call one of them is looked at, in turn. A
 * name that is not known is looked for again after a number of samples that doubles.
 *
 * Cost: the memory that the last looks have read is fetched with the sample, or by one call for all
 *       looks of a sample. So repeated looks at a thread cost no further system calls. A new
 *       thread, or one whose turn it is, costs a few, whatever the number of threads.
 */
#ifndef UNWIND_THREAD_NAMES_H
#define UNWIND_THREAD_NAMES_H

#include "unwind/target.h"

/* Reads the names that are due in this sample. To be called once the threads are listed. */
void thread_names_read(struct cpy_target *target);

/*
 * The name of a thread of the sample; NULL: not known. If it has states in several interpreters,
 * the outermost one with a name counts, because inner ones may call any thread "MainThread".
 *
 * Gives:  sets *changed if the name may differ from that of the last call; else leaves it.
 * Lends:  until the next sample.
 */
const char *thread_names_get(struct cpy_target *target, const struct listed *thread, bool *changed);

/* Notes that a thread may have run since the sample before, so that its name is due. */
void thread_names_note_run(struct cpy_target *target, const struct listed *thread);

#endif

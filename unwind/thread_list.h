/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_list.h - list of the interpreters and threads of a target, for a full sample.
 *
 * A GIL-skip sample (gil_skip.h) uses the list of the sample before. To see that it is still right
 * it calls thread_list_read_interp and, from time to time, thread_list_heads.
 */
#ifndef UNWIND_THREAD_LIST_H
#define UNWIND_THREAD_LIST_H

#include "unwind/target.h"

/*
 * Fills target->list with all interpreters, and all thread states that may run Python code.
 *
 * A kernel thread that has states in several interpreters is one thread: its other states are below
 * the one that runs or, if none runs, the one of the newest interpreter.
 *
 * If the lists changed meanwhile, it calls `fetch` to fetch all again, and goes on without what was
 * fetched if that does not help or `fetch` is NULL: then each thread costs some reads.
 *
 * Errors: CPY_STARTING, CPY_RACED (the lists changed while they were read), CPY_GONE, CPY_DENIED,
 *         CPY_NOMEM.
 */
typedef void thread_list_fetch(struct cpy_target *target);

MUST_CHECK enum cpy_rc thread_list_all(struct cpy_target *target, thread_list_fetch *fetch);

/*
 * Reads the address of the first interpreter.
 * Errors: CPY_STARTING: there is none yet, or the runtime is being shut down.
 */
MUST_CHECK enum cpy_rc thread_list_heads(struct cpy_target *target, cpy_addr *head);

/* Reads the words of an interpreter again; its GIL has the address that `then` says. */
MUST_CHECK enum cpy_rc thread_list_read_interp(struct cpy_target *target, const struct interp *then,
                                               struct interp *now);

/*
 * True if the listed interpreters are of the runtime that those of the last call were of. Else the
 * process has ended that one and begun another (Py_FinalizeEx, Py_Initialize), or it runs another
 * program: what is known of code objects (codes.restarts) and of where its modules are no longer
 * holds.
 */
bool thread_list_same_runtime(struct cpy_target *target);

/* True if the thread state is one that may run Python code. */
bool thread_list_is_alive(const struct layout *layout, const struct thread_words *words);

#endif

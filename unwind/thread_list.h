/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_list.h - list of the interpreters and threads of a target, for a full sample.
 *
 * A GIL-skip sample (gil_skip.h) uses the list of the sample before. To see that it is still valid,
 * it calls thread_list_read_interp and, sometimes, thread_list_heads.
 */
#ifndef UNWIND_THREAD_LIST_H
#define UNWIND_THREAD_LIST_H

#include "unwind/target.h"

/* Fetches again what a full sample is likely to read. */
typedef void thread_list_fetch(struct cpy_target *target);

/*
 * Fills target->list with all interpreters, and all thread states that may run Python code.
 *
 * A kernel thread that has states in several interpreters is one thread: its other states become
 * outer parts (listed.outer) of the one that holds the GIL or, if none does, the innermost one.
 *
 * If the lists changed meanwhile, it calls `fetch` and tries again. If that does not help, or
 * `fetch` is NULL, it reads without fetched copies: then each thread costs some reads.
 *
 * Errors: CPY_STARTING, CPY_RACED (the lists changed in all tries), those of mem_read.
 */
MUST_CHECK enum cpy_rc thread_list_all(struct cpy_target *target, thread_list_fetch *fetch);

/*
 * Reads the address of the first interpreter, the newest one.
 * Errors: CPY_STARTING: there is none yet, or the runtime is shutting down; those of mem_read.
 */
MUST_CHECK enum cpy_rc thread_list_heads(struct cpy_target *target, cpy_addr *head);

/* Reads the words of an interpreter again; takes addr, gil and runner from `then`. */
MUST_CHECK enum cpy_rc thread_list_read_interp(struct cpy_target *target, const struct interp *then,
                                               struct interp *now);

/*
 * True if the listed interpreters belong to the same runtime as in the last call. False: the
 * process has ended that runtime and begun another (Py_FinalizeEx, Py_Initialize), or runs another
 * program. Then it increments codes.restarts and calls names_forget.
 */
bool thread_list_same_runtime(struct cpy_target *target);

/* True if the thread state may run Python code: it is bound to a thread, and not cleared. */
bool thread_list_is_alive(const struct layout *layout, const struct thread_words *words);

#endif

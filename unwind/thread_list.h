/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_list.h - lists the interpreters and threads of a target for a sample of all of
 * them.
 *
 * A light sample (gil_skip.h) keeps the list of the one before, and only looks whether what it
 * was made from is still so, by thread_list_read_interp and, now and then, thread_list_heads.
 */
#ifndef UNWIND_THREAD_LIST_H
#define UNWIND_THREAD_LIST_H

#include "unwind/target.h"

/*
 * Fills t->interps and t->threads: every thread state that may run Python code.
 *
 * The states of one kernel thread in several interpreters are joined: the one that
 * runs, else that of the interpreter made last, has the others below it.
 * Errors: CPY_STARTING, CPY_RACED (the lists did not hold still), CPY_GONE, ...
 */
MUST_CHECK enum cpy_rc thread_list_all(struct cpy_target *target);

/*
 * The first interpreter. Errors: CPY_STARTING: there is none yet, or it is being shut down.
 */
MUST_CHECK enum cpy_rc thread_list_heads(struct cpy_target *target, cpy_addr *head);

/* Reads the interpreter that was at then->addr again; its GIL is where it was. */
MUST_CHECK enum cpy_rc thread_list_read_interp(struct cpy_target *target, const struct interp *then,
                                               struct interp *now);

/* True if the state is of a thread that runs, or may run, Python code. */
bool thread_list_is_alive(const struct layout *layout, const struct thread_words *words);

#endif

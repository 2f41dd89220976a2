/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gil_stuck.h - finds threads that hold the GIL at one instruction, and since when. Part of
 * process.c; hang.h has the rules.
 *
 * A loop that calls C code returns to the same instruction again and again, and may be sampled
 * nowhere else. So the contents of the frames are compared, too, GIL_STUCK_LOOKS times before a
 * thread counts as stuck: a variable that takes new values is often at one of the same two
 * addresses.
 */
#ifndef AGENT_SAMPLING_GIL_STUCK_H
#define AGENT_SAMPLING_GIL_STUCK_H

#include "agent/sampling/process.h"

enum { GIL_STUCK_LOOKS = 16 };

/* Updates the state of a thread from a sample. */
void gil_stuck_note(struct process_thread *thread, const struct cpy_thread *seen, uint64_t now_ns);

/* Updates the hang state of the process after a sample or an idle check. True: it has changed. */
bool gil_stuck_look(struct process *process, uint64_t now_ns);

/* True if a thread may be stuck and more comparisons are needed: then the process is checked at
 * each tick, without idle backoff. */
bool gil_stuck_is_open(const struct process *process);

#endif

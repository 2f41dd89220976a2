/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gil_stuck.h - finds threads that hold the GIL at one instruction, and since when. Part of
 * process.c; hang.h has the rules.
 *
 * A loop that calls C code returns to the same instruction again and again, and may be sampled
 * nowhere else. So the contents of the frames (cpy_fingerprint) are compared, too; GIL_STUCK_LOOKS
 * times, because a variable that gets new objects often has them at two addresses in turn.
 */
#ifndef AGENT_SAMPLING_GIL_STUCK_H
#define AGENT_SAMPLING_GIL_STUCK_H

#include "agent/sampling/process.h"

enum { GIL_STUCK_LOOKS = 16 }; /* comparisons, spread over hang.after_ns */

/* Updates thread->stuck from a sample. */
void gil_stuck_note(struct process_thread *thread, const struct cpy_thread *seen, uint64_t now_ns);

/* Updates process->hang after a sample or an idle check. True: hang.kind has changed. */
bool gil_stuck_look(struct process *process, uint64_t now_ns);

/* True if a thread may be stuck and more comparisons are needed: then the process is checked at
 * each tick, without idle backoff. */
bool gil_stuck_is_open(const struct process *process);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gil_stuck.h - sees in the samples of a process whether it hangs: which of its threads stay in
 * one place with the GIL, and since when. Part of process.c; hang.h says by which rules.
 *
 * A loop that calls C code comes back to the same instruction again and again, and is met nowhere
 * else. So what the frames hold is compared, too, GIL_STUCK_LOOKS times before a thread is called
 * stuck: a variable that goes through new numbers is often at one of the same two addresses.
 */
#ifndef AGENT_SAMPLING_GIL_STUCK_H
#define AGENT_SAMPLING_GIL_STUCK_H

#include "agent/sampling/process.h"

enum { GIL_STUCK_LOOKS = 16 };

/* Takes in a sample of a thread. */
void gil_stuck_note(struct process_thread *thread, const struct cpy_thread *seen, uint64_t now_ns);

/* Looks whether the process hangs, once it has been sampled or was seen to rest. True: that has
 * changed. */
bool gil_stuck_look(struct process *process, uint64_t now_ns);

/* True if a thread may be stuck, which only more looks can tell: then the process is not left alone
 * for longer than a tick, however it rests. */
bool gil_stuck_is_open(const struct process *process);

#endif

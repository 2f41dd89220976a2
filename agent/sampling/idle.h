/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.h - knows whether a process has rested since it was last read, and when to look again. Part
 * of process.c; process.h says by which rules.
 */
#ifndef AGENT_SAMPLING_IDLE_H
#define AGENT_SAMPLING_IDLE_H

#include "agent/sampling/process.h"

/* Brings the CPU time up to date; false: it has not moved. What was read last stands at the end. */
bool idle_clock_moved(struct process *p);

/*
 * For how many samples one now would stand, as to what it finds running; 0: it would be as the
 * last, and counts in this interval already. Whoever asks has found out before whether we are
 * `alone`: a thread that ran then has moved the clock by now, or runs on.
 */
uint64_t idle_sample_weight(struct process *p, uint64_t now_ns, bool alone);

/* Finds out how far it has rested, in the midst of the ticks that the next sample stands for. True:
 * all threads are known, and rest. */
bool idle_commit(struct process *p, uint64_t now_ns);

/* It is read now, or its interval is over: nothing is known any more. */
void idle_forget(struct process *p);

/* When to look at it next. */
void idle_set_ticks(struct process *p, uint64_t now_ns);

#endif

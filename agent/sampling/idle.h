/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.h - decides whether a process was idle since its last sample, and when to check it again.
 * Part of process.c; process.h has the rules.
 */
#ifndef AGENT_SAMPLING_IDLE_H
#define AGENT_SAMPLING_IDLE_H

#include "agent/sampling/process.h"

/* Reads the CPU clock of the process into p->cpu_ns. True: it has moved since it was last read, or
 * cannot be read. */
bool idle_clock_moved(struct process *p);

/*
 * Weight of a sample taken now, in ticks. 0: no sample is needed, because the process is idle; the
 * time counts for its last sample.
 *
 * `alone` must have been read before the call: a thread that ran at that moment has moved the CPU
 * clock by now, or still runs.
 */
uint64_t idle_sample_weight(struct process *p, uint64_t now_ns, bool alone);

/* Counts the idle time up to now, before the next sample is due. True: the process has been idle
 * since its last sample, and all its threads are known and asleep. */
bool idle_commit(struct process *p, uint64_t now_ns);

/* Forgets the idle state, because the process is read now or its interval has ended. */
void idle_forget(struct process *p);

/* Sets the number of ticks until the next check. */
void idle_set_ticks(struct process *p, uint64_t now_ns);

#endif

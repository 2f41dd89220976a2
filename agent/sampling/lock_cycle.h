/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_cycle.h - looks for threads of a process that wait for each other's locks. Part of
 * process.c; hang.h has the rules.
 */
#ifndef AGENT_SAMPLING_LOCK_CYCLE_H
#define AGENT_SAMPLING_LOCK_CYCLE_H

#include "agent/sampling/process.h"

/* Updates process->hang.cycle, if the last look is hang.after_ns and two seconds ago or longer. */
void lock_cycle_look(struct process *process, uint64_t now_ns);

/* Hash of the waits that are part of a cycle; sets *out_first to the index of one. 0: no cycle. */
MUST_CHECK uint64_t lock_cycle_find(const struct cpy_lock_wait *waits, size_t count,
                                    size_t *out_first);

#endif

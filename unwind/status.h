/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - what a thread is doing. */
#ifndef UNWIND_STATUS_H
#define UNWIND_STATUS_H

#include "unwind/target.h"

/* True if the thread is on a CPU, not only ready to be. May move to its CPU to find out. */
bool status_on_cpu(struct cpy_target *target, struct sched_idle *sched_idle, pid_t tid);

/* Whether it holds the GIL, and collects: what another thread's turn changes, too. */
uint32_t status_of_gil(const struct cpy_target *target, const struct listed *thread);

/* All of its status that is asked for, but for CPY_STATUS_CPU. */
uint32_t status_of(struct cpy_target *target, const struct listed *thread);

#endif

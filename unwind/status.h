/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - status of a thread: on a CPU, holds the GIL, collects garbage and so on. */
#ifndef UNWIND_STATUS_H
#define UNWIND_STATUS_H

#include "unwind/target.h"

/* Whether it holds the GIL, and collects garbage: both may change while it sleeps. */
uint32_t status_of_gil(const struct cpy_target *target, const struct listed *thread);

/* All of the requested status except CPY_STATUS_CPU. */
uint32_t status_of(struct cpy_target *target, const struct listed *thread);

#endif

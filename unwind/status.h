/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - status of a thread: on a CPU, holds the GIL, collects garbage and so on. */
#ifndef UNWIND_STATUS_H
#define UNWIND_STATUS_H

#include "unwind/target.h"

/* CPY_STATUS_GIL and CPY_STATUS_GC of a thread, which may change while it sleeps. */
uint32_t status_of_gil(const struct cpy_target *target, const struct listed *thread);

/* The same, CPY_STATUS_MAIN and, if requested, CPY_STATUS_GIL_WAIT and CPY_STATUS_EXCEPTION. */
uint32_t status_of(struct cpy_target *target, const struct listed *thread);

#endif

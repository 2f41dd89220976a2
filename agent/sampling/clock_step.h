/* SPDX-License-Identifier: Apache-2.0 */
/* clock_step.h - moves the intervals that run when the clock of the host was set. */
#ifndef AGENT_SAMPLING_CLOCK_STEP_H
#define AGENT_SAMPLING_CLOCK_STEP_H

#include "agent/host/utc.h"
#include "agent/sampling/service.h"

/*
 * To be called before an interval begins or ends: those that run are moved to where they were by
 * the clock as it was set since `last`, which becomes now. Logs that, and a suspend.
 */
void apply_clock_step(struct services *services, struct utc *last);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* clock_step.h - corrects the start of running intervals after the wall clock was set. */
#ifndef AGENT_SAMPLING_CLOCK_STEP_H
#define AGENT_SAMPLING_CLOCK_STEP_H

#include "agent/host/utc.h"
#include "agent/sampling/service.h"

/*
 * Adds the step of the wall clock since *last to start_utc_ns of each service, and sets *last to
 * now. Logs the step, and a suspend. Call it before an interval begins or ends.
 */
void apply_clock_step(struct services *services, struct utc *last);

#endif

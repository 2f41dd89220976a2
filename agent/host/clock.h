/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the two clocks. */
#ifndef AGENT_HOST_CLOCK_H
#define AGENT_HOST_CLOCK_H

#include <stdint.h>

#include "base/time_units.h"

/* CLOCK_MONOTONIC, which is never set back: for durations and deadlines. */
uint64_t clock_mono_ns(void);

/* CLOCK_REALTIME, since 1970: for times in profiles and logs. */
int64_t clock_utc_ns(void);

/* Converts a time of CLOCK_MONOTONIC to CLOCK_REALTIME, by the difference of the two now. */
int64_t clock_utc_at(uint64_t mono_ns);

#endif

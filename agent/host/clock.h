/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the two clocks. */
#ifndef AGENT_HOST_CLOCK_H
#define AGENT_HOST_CLOCK_H

#include <stdint.h>

#include "base/time_units.h"

/* CLOCK_MONOTONIC, which is never set back: for all that is measured or waited for. */
uint64_t clock_mono_ns(void);

/* CLOCK_REALTIME, since 1970: for what a profile or a log says. */
int64_t clock_utc_ns(void);

/* CLOCK_REALTIME at a moment of CLOCK_MONOTONIC, unless it was set since. */
int64_t clock_utc_at(uint64_t mono_ns);

#endif

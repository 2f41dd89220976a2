/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utc.h - detects that the wall clock was set, or that the host was suspended, during an interval.
 *
 * An interval has a start on the wall clock and a length on the monotonic clock, which stands still
 * in a suspend. The wall clock may be set at any time: after a boot without a battery it jumps from
 * 1970 to now. The later setting is the better one, so the start of a running interval is moved by
 * utc_step. A suspend moves nothing.
 *
 * Shape: utc_now at the start of an interval and at its end; utc_step with both.
 */
#ifndef AGENT_HOST_UTC_H
#define AGENT_HOST_UTC_H

#include <stdint.h>

#include "base/time_units.h"

/* One moment on three clocks. */
struct utc {
    int64_t real_ns; /* CLOCK_REALTIME */
    int64_t boot_ns; /* CLOCK_BOOTTIME: goes on during a suspend */
    int64_t mono_ns; /* CLOCK_MONOTONIC: stands still during a suspend */
};

enum {
    UTC_SLEW_NS = 100 * NS_PER_MS
}; /* smaller differences count as 0: the clock is slewed, or the clocks were read slowly */

/* Reads the three clocks. */
struct utc utc_now(void);

/*
 * Time by which the wall clock was set forward (negative: back) between two moments; 0: it was not.
 * Add it to wall clock times that were read at or before `then`.
 */
int64_t utc_step(const struct utc *then, const struct utc *now);

/* Time that the host was suspended between two moments; 0: it was not. */
int64_t utc_suspended(const struct utc *then, const struct utc *now);

#endif

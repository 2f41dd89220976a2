/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utc.h - tells a clock that was set from time that has passed.
 *
 * An interval is measured on the monotonic clock, which stands still while the host is
 * suspended, and begins at an instant of the wall clock, which can be set at any time: after a
 * boot without a battery it goes from 1970 to now. What was set is the better clock, so an
 * interval that began before is moved to where it was by the clock as it is now; a suspend moves
 * nothing.
 *
 * Shape: utc_now where an interval begins, and again where it ends; utc_step between both.
 */
#ifndef AGENT_HOST_UTC_H
#define AGENT_HOST_UTC_H

#include <stdint.h>

#include "base/time_units.h"

/* One moment on three clocks. */
struct utc {
    int64_t real_ns; /* CLOCK_REALTIME */
    int64_t boot_ns; /* CLOCK_BOOTTIME: goes on in a suspend */
    int64_t mono_ns; /* CLOCK_MONOTONIC: does not */
};

enum {
    UTC_SLEW_NS = 100 * NS_PER_MS
}; /* less than this is a clock that is slewed, or a slow read */

/* Reads the three clocks. */
struct utc utc_now(void);

/*
 * By how much the wall clock was set between two moments, forward or back; 0: it was not.
 * To be added to what was read from it at or before `then`.
 */
int64_t utc_step(const struct utc *then, const struct utc *now);

/* How long the host was suspended between two moments; 0: it was not. */
int64_t utc_suspended(const struct utc *then, const struct utc *now);

#endif

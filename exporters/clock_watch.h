/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_watch.h - decides whether the wall clock can be trusted to tell the age of a file.
 *
 * While a clock is ahead, for however short a time, all kept files look expired, and files that are
 * written get a date in the future. So after a step of more than CLOCK_WATCH_STEP_NS the caller
 * expires no file until the clock has been steady for CLOCK_WATCH_STEADY_NS.
 */
#ifndef EXPORTERS_CLOCK_WATCH_H
#define EXPORTERS_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time_units.h"

#define CLOCK_WATCH_STEP_NS   (600 * (int64_t)NS_PER_S)
#define CLOCK_WATCH_STEADY_NS (3600 * (int64_t)NS_PER_S)

/* A file dated further in the future than this was written while the clock was ahead. */
#define CLOCK_WATCH_AHEAD_NS (60 * (int64_t)NS_PER_S)

/* Zeroed at first. */
struct clock_watch {
    int64_t real_ns, boot_ns; /* UTC and time since boot at the last look; 0: no look yet */
    int64_t set_ns;           /* time since boot when a step was last seen; 0: never */
};

/* Compares both clocks with the last look: `real_ns` is UTC, `boot_ns` CLOCK_BOOTTIME. True: the
 * wall clock was set by more than CLOCK_WATCH_STEP_NS since. */
bool clock_watch_look(struct clock_watch *watch, int64_t real_ns, int64_t boot_ns);

/* True if no step was seen in the CLOCK_WATCH_STEADY_NS before the last look. */
bool clock_watch_is_steady(const struct clock_watch *watch);

#endif

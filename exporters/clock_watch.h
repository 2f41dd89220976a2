/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_watch.h - whether the wall clock can be trusted to say how old a file is.
 *
 * A clock that is wrong for some seconds makes all that is kept look old, and what is written
 * meanwhile new for ever. So after the clock was set by more than CLOCK_WATCH_STEP_NS nothing is
 * taken for old until it has stood for CLOCK_WATCH_STEADY_NS.
 */
#ifndef EXPORTERS_CLOCK_WATCH_H
#define EXPORTERS_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time_units.h"

#define CLOCK_WATCH_STEP_NS   (600 * (int64_t)NS_PER_S)
#define CLOCK_WATCH_STEADY_NS (3600 * (int64_t)NS_PER_S)

/* What is dated later than this after now was written under another clock. */
#define CLOCK_WATCH_AHEAD_NS (60 * (int64_t)NS_PER_S)

/* All zeros at first. */
struct clock_watch {
    int64_t real_ns, boot_ns; /* at the last look, by the wall clock and since boot; 0: none yet */
    int64_t set_ns;           /* since boot: when the clock was seen to have been set; 0: never */
};

/* Looks at the clock, which is at `real_ns` (UTC), `boot_ns` after boot, suspends included. True:
 * it was set since the last look. */
bool clock_watch_look(struct clock_watch *watch, int64_t real_ns, int64_t boot_ns);

/* True if the clock had stood for long enough at the last look. */
bool clock_watch_is_steady(const struct clock_watch *watch);

#endif

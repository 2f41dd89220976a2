/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - see clock.h. */
#include "agent/host/clock.h"

uint64_t clock_mono_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return timespec_to_ns(now);
}

int64_t clock_utc_at(uint64_t mono_ns)
{
    return clock_utc_ns() - (int64_t)(clock_mono_ns() - mono_ns);
}

int64_t clock_utc_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)timespec_to_ns(now);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - see clock.h. */
#include "agent/host/clock.h"

#include <time.h>

uint64_t clock_mono_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

int64_t clock_utc_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec;
}

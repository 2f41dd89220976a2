/* SPDX-License-Identifier: Apache-2.0 */
/* utc.c - see utc.h. */
#include "agent/host/utc.h"

static int64_t read_clock(clockid_t clock)
{
    struct timespec time = {0};

    (void)clock_gettime(clock, &time);
    return (int64_t)timespec_to_ns(time);
}

struct utc utc_now(void)
{
    struct utc now = {.real_ns = read_clock(CLOCK_REALTIME),
                      .mono_ns = read_clock(CLOCK_MONOTONIC)};

    now.boot_ns = read_clock(CLOCK_BOOTTIME);
    return now;
}

/* What is too small to be meant is nothing. */
static int64_t beyond_slew(int64_t difference)
{
    return difference > UTC_SLEW_NS || difference < -UTC_SLEW_NS ? difference : 0;
}

int64_t utc_step(const struct utc *then, const struct utc *now)
{
    return beyond_slew((now->real_ns - now->boot_ns) - (then->real_ns - then->boot_ns));
}

int64_t utc_suspended(const struct utc *then, const struct utc *now)
{
    return beyond_slew((now->boot_ns - now->mono_ns) - (then->boot_ns - then->mono_ns));
}

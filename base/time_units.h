/* SPDX-License-Identifier: Apache-2.0 */
/* time_units.h - units of time, and conversion between struct timespec and nanoseconds. */
#ifndef BASE_TIME_UNITS_H
#define BASE_TIME_UNITS_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

enum { MS_PER_S = 1000, US_PER_MS = 1000 };

/* A negative time wraps around: the result cast to int64_t is right. */
static inline uint64_t timespec_to_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static inline struct timespec timespec_of_ns(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

#endif

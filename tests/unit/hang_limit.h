/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_limit.h - how long a test waits for something that has to happen before it says that it
 * hangs.
 *
 * No result depends on how fast the machine is: a test waits for a condition with AWAIT, or has
 * hang_limit_begin end the program if a call never returns. Neither says how long anything took.
 */
#ifndef TESTS_UNIT_HANG_LIMIT_H
#define TESTS_UNIT_HANG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit_test.h"

enum { HANG_LIMIT_S = 120, HANG_LIMIT_PAUSE_US = 1000 };

#define HANG_LIMIT_NS ((uint64_t)HANG_LIMIT_S * UINT64_C(1000000000))

/* When a wait that begins now is given up, in seconds of the monotonic clock. */
static inline time_t hang_limit_end_of_wait(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + HANG_LIMIT_S;
}

static inline bool hang_limit_is_over(time_t end)
{
    return hang_limit_end_of_wait() > end + HANG_LIMIT_S;
}

/* Waits until the condition holds; the test fails if it never does. */
#define AWAIT(condition)                                            \
    do {                                                            \
        const time_t await_end = hang_limit_end_of_wait();          \
                                                                    \
        while (!(condition)) {                                      \
            if (hang_limit_is_over(await_end))                      \
                fail_msg("not in %d s: " #condition, HANG_LIMIT_S); \
            (void)usleep(HANG_LIMIT_PAUSE_US);                      \
        }                                                           \
    } while (0)

/* From here on, a call that does not return ends the program by SIGALRM, later than AWAIT would.
 * For a test's setup. */
static inline void hang_limit_begin(void)
{
    (void)alarm(2 * HANG_LIMIT_S);
}

/* For its teardown. */
static inline void hang_limit_end(void)
{
    (void)alarm(0);
}

#endif

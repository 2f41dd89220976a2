/* SPDX-License-Identifier: Apache-2.0 */
/* clock_step.c - see clock_step.h. */
#include "agent/sampling/clock_step.h"

#include "agent/host/log.h"

void apply_clock_step(struct services *services, struct utc *last)
{
    struct utc now = utc_now();
    int64_t step = utc_step(last, &now), suspended = utc_suspended(last, &now);
    struct service *service;

    for (service = services->first; service; service = service->next)
        service->start_utc_ns += step;
    if (step != 0)
        log_line(LOG_LEVEL_INFO, "the clock was set by %.3f s", (double)step / 1e9);
    if (suspended != 0)
        log_line(LOG_LEVEL_INFO, "the host was suspended for %.3f s", (double)suspended / 1e9);
    *last = now;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* blocked_read.c - see blocked_read.h. */
#include "agent/child/blocked_read.h"

bool blocked_read_sleeps(struct blocked_read *seen, uint64_t began_ns,
                         const struct proc_sched *sched, uint64_t now_ns)
{
    const uint64_t busy_ns = sched->cpu_ns + sched->wait_ns;
    uint64_t awake_ns;

    if (seen->began_ns != began_ns)
        *seen = (struct blocked_read){.began_ns = began_ns,
                                      .first_ns = now_ns,
                                      .busy_ns = busy_ns,
                                      .still_ns = now_ns,
                                      .turns = sched->turns};
    if (seen->turns != sched->turns) {
        seen->turns = sched->turns;
        seen->still_ns = now_ns;
    }
    awake_ns = busy_ns > seen->busy_ns ? busy_ns - seen->busy_ns : 0;
    return now_ns >= seen->still_ns + BLOCKED_READ_STILL_NS ||
           now_ns >= seen->first_ns + awake_ns + BLOCKED_READ_SLEPT_NS;
}

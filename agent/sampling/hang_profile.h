/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_profile.h - separate profile of each hang, beside the one of its service.
 *
 * Once a process is seen to hang, its samples go to a service with the same name and two more
 * labels, `hang` and `pid`; no time is counted twice. They go to the usual service again when the
 * process runs again, or at the second end of an interval. The first end of an interval does not
 * deliver such a profile (service_defer): so each hang has one profile, which covers more than an
 * interval if the hang lasts.
 *
 * Threads: that of the engine.
 */
#ifndef AGENT_SAMPLING_HANG_PROFILE_H
#define AGENT_SAMPLING_HANG_PROFILE_H

#include "agent/sampling/process.h"
#include "agent/sampling/service.h"

/* The usual service of a process while its samples go to that of a hang. */
struct hang_profile {
    struct service *home; /* borrowed; its `users` counts the process; NULL: it is there now */
    unsigned ends;        /* ends of intervals since it left `home` */
};

/* Moves the process after process->hang.kind has changed. Without memory, or room for another
 * service, its samples go to its usual service. */
void hang_profile_note(struct hang_profile *profile, struct services *services,
                       struct process *process, uint64_t now_ns);

/* Call at the end of an interval, after process_commit and before profiles are delivered. */
void hang_profile_end_interval(struct hang_profile *profile, struct process *process,
                               uint64_t now_ns);

#endif

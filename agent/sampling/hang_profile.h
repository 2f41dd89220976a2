/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_profile.h - the profile that each hang has for itself, beside the one of its service.
 *
 * Once a process is seen to hang its samples are those of a service of the same name with two more
 * labels, `hang` and `pid`: no time is counted twice. That goes on until the process goes on, or
 * the second interval from then ends. What comes after that is the service's own again. Whoever
 * delivers holds such a profile at the first end of an interval (service_defer): so there is one of
 * each hang, of more than an interval if it lasts.
 *
 * Threads: that of the engine.
 */
#ifndef AGENT_SAMPLING_HANG_PROFILE_H
#define AGENT_SAMPLING_HANG_PROFILE_H

#include "agent/sampling/process.h"
#include "agent/sampling/service.h"

/* Where a process that hangs comes from. */
struct hang_profile {
    struct service *home; /* borrowed, and a user of it; NULL: the process is there */
    unsigned ends;        /* of intervals since it left */
};

/* What is seen of the process has changed: it hangs in that way, or goes on. Without memory, or
 * room for another service, it stays where it is. */
void hang_profile_note(struct hang_profile *profile, struct services *services,
                       struct process *process, uint64_t now_ns);

/* The interval ends: all was given out, and is to be delivered. */
void hang_profile_end_interval(struct hang_profile *profile, struct process *process,
                               uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* hang_profile.c - see hang_profile.h. */
#include "agent/sampling/hang_profile.h"

#include <stdio.h>

#include "agent/host/clock.h"

/* Those of the service, and two more. */
static void make_labels(const struct process *p, struct labels *out)
{
    char pid[16];

    (void)snprintf(pid, sizeof(pid), "%d", (int)p->id.pid);
    *out = p->service->labels;
    labels_put(out, SERVICE_HANG, hang_name(p->hang.kind));
    labels_put(out, "pid", pid);
}

static void move_to_hang_service(struct hang_profile *profile, struct services *services,
                                 struct process *p, uint64_t now_ns)
{
    struct service *home = p->service, *own;
    struct labels labels;

    make_labels(p, &labels);
    own = services_get_labelled(services, home->name, &labels, clock_utc_at(now_ns), now_ns);
    if (!own || own == home || !labels_equal(&own->labels, &labels))
        return;
    own->users++;
    own->period_ns = home->period_ns;
    own->split.max = home->split.max;
    *profile = (struct hang_profile){.home = home};
    process_move(p, own, now_ns);
}

/* Back to its service, if it is not there. */
static void move_to_home_service(struct hang_profile *profile, struct process *p, uint64_t now_ns)
{
    struct service *own = p->service;

    if (!profile->home)
        return;
    process_move(p, profile->home, now_ns);
    own->users--;
    profile->home = NULL;
}

void hang_profile_note(struct hang_profile *profile, struct services *services, struct process *p,
                       uint64_t now_ns)
{
    move_to_home_service(profile, p, now_ns);
    if (p->hang.kind != HANG_NONE)
        move_to_hang_service(profile, services, p, now_ns);
}

void hang_profile_end_interval(struct hang_profile *profile, struct process *p, uint64_t now_ns)
{
    if (profile->home && ++profile->ends > 1)
        move_to_home_service(profile, p, now_ns);
}

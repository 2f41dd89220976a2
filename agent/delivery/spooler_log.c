/* SPDX-License-Identifier: Apache-2.0 */
/* spooler_log.c - knows what about the spool is news. */
#include "agent/delivery/spooler_log.h"

#include <inttypes.h>

#include "agent/delivery/export_log.h"

static const char who[] = "spool";

void spooler_talk_init(struct spooler_talk *talk, const struct delivery_world *world,
                       uint64_t every_ns)
{
    *talk = (struct spooler_talk){.world = world, .every_ns = every_ns};
}

static void tell_state(struct spooler_talk *talk, uint64_t now_ns,
                       const struct delivery_spool_stats *stats)
{
    uint64_t in_memory = stats->in_memory - talk->reported.in_memory;

    if (stats->failing && delivery_may_say(talk->every_ns, &talk->failure_ns, now_ns)) {
        delivery_say(talk->world, who, DELIVERY_WARNING, "%s; profiles wait in memory instead",
                     stats->last_error.text);
        talk->failing = true;
    } else if (!stats->failing && talk->failing) {
        delivery_say(talk->world, who, DELIVERY_INFO,
                     "works again; %" PRIu64 " profiles went past it", in_memory);
        talk->failing = false;
        talk->reported.in_memory = stats->in_memory;
    }
}

static void tell_losses(struct spooler_talk *talk, uint64_t now_ns,
                        const struct delivery_spool_stats *stats)
{
    uint64_t size = stats->dropped_size - talk->reported.dropped_size;
    uint64_t age = stats->dropped_age - talk->reported.dropped_age;
    uint64_t space = stats->dropped_free - talk->reported.dropped_free;

    if (size + age + space == 0 || !delivery_may_say(talk->every_ns, &talk->drop_ns, now_ns))
        return;
    delivery_say(talk->world, who, DELIVERY_WARNING,
                 "the oldest profiles were dropped: %" PRIu64 " for spool_max_size, %" PRIu64
                 " for spool_max_age, %" PRIu64 " for spool_min_free",
                 size, age, space);
    talk->reported.dropped_size = stats->dropped_size;
    talk->reported.dropped_age = stats->dropped_age;
    talk->reported.dropped_free = stats->dropped_free;
}

void spooler_talk_tell(struct spooler_talk *talk, uint64_t now_ns,
                       const struct delivery_spool_stats *stats)
{
    uint64_t unknown = stats->dropped_unknown - talk->reported.dropped_unknown;

    tell_state(talk, now_ns, stats);
    tell_losses(talk, now_ns, stats);
    if (stats->found > talk->reported.found)
        delivery_say(talk->world, who, DELIVERY_INFO,
                     "goes on with %" PRIu64 " profiles of an earlier run",
                     stats->found - talk->reported.found);
    talk->reported.found = stats->found;
    if (unknown > 0)
        delivery_say(talk->world, who, DELIVERY_WARNING,
                     "%" PRIu64
                     " profiles were dropped: their exporters are not configured any more",
                     unknown);
    talk->reported.dropped_unknown = stats->dropped_unknown;
    if (stats->bad > talk->reported.bad &&
        delivery_may_say(talk->every_ns, &talk->bad_ns, now_ns)) {
        delivery_say(talk->world, who, DELIVERY_WARNING,
                     "%" PRIu64 " files that are no whole profiles went to bad/",
                     stats->bad - talk->reported.bad);
        talk->reported.bad = stats->bad;
    }
}

void spooler_talk_stuck(const struct delivery_world *world, const struct err *err)
{
    delivery_say(world, who, DELIVERY_WARNING, "%s; profiles wait in memory instead", err->text);
}

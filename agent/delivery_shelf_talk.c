/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_shelf_talk.c - knows what about the spool is news. */
#include "agent/delivery_shelf_talk.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { LINE_SIZE = ERR_TEXT_MAX + 256 };

void shelf_talk_init(struct shelf_talk *talk, const struct delivery_world *world, uint64_t every_ns)
{
    *talk = (struct shelf_talk){.world = world, .every_ns = every_ns};
}

static void say(const struct delivery_world *world, enum delivery_level level, const char *format,
                ...) PRINTF_LIKE(3, 4);

static void say(const struct delivery_world *world, enum delivery_level level, const char *format,
                ...)
{
    char line[LINE_SIZE];
    va_list args;
    int used;

    used = snprintf(line, sizeof(line), "spool: ");
    va_start(args, format);
    (void)vsnprintf(line + used, sizeof(line) - (size_t)used, format, args);
    va_end(args);
    world->log(world->ctx, level, line);
}

/* True, and *last_ns is set, if the last line of this kind is long enough ago. */
static bool may_say(const struct shelf_talk *talk, uint64_t *last_ns, uint64_t now_ns)
{
    if (*last_ns != 0 && now_ns - *last_ns < talk->every_ns)
        return false;
    *last_ns = now_ns;
    return true;
}

static void tell_state(struct shelf_talk *talk, uint64_t now_ns,
                       const struct delivery_spool_stats *stats)
{
    uint64_t in_memory = stats->in_memory - talk->told.in_memory;

    if (stats->failing && may_say(talk, &talk->failure_ns, now_ns)) {
        say(talk->world, DELIVERY_WARNING, "%s; profiles wait in memory instead",
            stats->last_error.text);
        talk->failing = true;
    } else if (!stats->failing && talk->failing) {
        say(talk->world, DELIVERY_INFO, "works again; %" PRIu64 " profiles went past it",
            in_memory);
        talk->failing = false;
        talk->told.in_memory = stats->in_memory;
    }
}

static void tell_losses(struct shelf_talk *talk, uint64_t now_ns,
                        const struct delivery_spool_stats *stats)
{
    uint64_t size = stats->dropped_size - talk->told.dropped_size;
    uint64_t age = stats->dropped_age - talk->told.dropped_age;
    uint64_t space = stats->dropped_free - talk->told.dropped_free;

    if (size + age + space == 0 || !may_say(talk, &talk->drop_ns, now_ns))
        return;
    say(talk->world, DELIVERY_WARNING,
        "the oldest profiles were dropped: %" PRIu64 " for spool_max_size, %" PRIu64
        " for spool_max_age, %" PRIu64 " for spool_min_free",
        size, age, space);
    talk->told.dropped_size = stats->dropped_size;
    talk->told.dropped_age = stats->dropped_age;
    talk->told.dropped_free = stats->dropped_free;
}

void shelf_talk_tell(struct shelf_talk *talk, uint64_t now_ns,
                     const struct delivery_spool_stats *stats)
{
    uint64_t unknown = stats->dropped_unknown - talk->told.dropped_unknown;

    tell_state(talk, now_ns, stats);
    tell_losses(talk, now_ns, stats);
    if (stats->found > talk->told.found)
        say(talk->world, DELIVERY_INFO, "goes on with %" PRIu64 " profiles of an earlier run",
            stats->found - talk->told.found);
    talk->told.found = stats->found;
    if (unknown > 0)
        say(talk->world, DELIVERY_WARNING,
            "%" PRIu64 " profiles were dropped: their exporters are not configured any more",
            unknown);
    talk->told.dropped_unknown = stats->dropped_unknown;
    if (stats->bad > talk->told.bad && may_say(talk, &talk->bad_ns, now_ns)) {
        say(talk->world, DELIVERY_WARNING,
            "%" PRIu64 " files that are no whole profiles went to bad/",
            stats->bad - talk->told.bad);
        talk->told.bad = stats->bad;
    }
}

void shelf_talk_stuck(const struct delivery_world *world, const struct err *err)
{
    say(world, DELIVERY_WARNING, "%s; profiles wait in memory instead", err->text);
}

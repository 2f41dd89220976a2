/* SPDX-License-Identifier: Apache-2.0 */
/* export_log.c - knows which answers of an exporter are news. */
#include "agent/delivery/export_log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { LINE_SIZE = ERR_TEXT_MAX + 256 };

void delivery_talk_init(struct delivery_talk *talk, const char *name,
                        const struct delivery_world *world, uint64_t every_ns)
{
    *talk = (struct delivery_talk){.world = world, .every_ns = every_ns};
    (void)snprintf(talk->who, sizeof(talk->who), "exporter %.64s", name);
}

void delivery_say(const struct delivery_world *world, const char *who, enum delivery_level level,
                  const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;
    int used;

    used = snprintf(line, sizeof(line), "%s: ", who);
    va_start(args, format);
    (void)vsnprintf(line + used, sizeof(line) - (size_t)used, format, args);
    va_end(args);
    world->log(world->ctx, level, line);
}

bool delivery_may_say(uint64_t every_ns, uint64_t *last_ns, uint64_t now_ns)
{
    if (*last_ns != 0 && now_ns - *last_ns < every_ns)
        return false;
    *last_ns = now_ns;
    return true;
}

static void tell_failure(struct delivery_talk *talk, uint64_t now_ns,
                         const struct delivery_stats *stats)
{
    talk->failed_tries++;
    if (!delivery_may_say(talk->every_ns, &talk->failure_ns, now_ns))
        return;
    if (talk->announced)
        delivery_say(talk->world, talk->who, DELIVERY_WARNING,
                     "still fails (%" PRIu64 " tries, %zu profiles wait): %s", talk->failed_tries,
                     stats->queued, stats->last_error.text);
    else
        delivery_say(talk->world, talk->who, DELIVERY_WARNING, "%s; it will be tried again",
                     stats->last_error.text);
    talk->announced = true;
}

static void tell_success(struct delivery_talk *talk)
{
    if (talk->announced)
        delivery_say(talk->world, talk->who, DELIVERY_INFO,
                     "works again, after %" PRIu64 " failed tries", talk->failed_tries);
    talk->announced = false;
    talk->failed_tries = 0;
}

static void tell_drops(struct delivery_talk *talk, uint64_t now_ns,
                       const struct delivery_stats *stats)
{
    uint64_t dropped = stats->dropped_full + stats->dropped_old;

    if (dropped == talk->dropped || !delivery_may_say(talk->every_ns, &talk->drop_ns, now_ns))
        return;
    delivery_say(talk->world, talk->who, DELIVERY_WARNING,
                 "%" PRIu64 " profiles were dropped (so far %" PRIu64
                 " as the queue was full, %" PRIu64 " as they got too old)",
                 dropped - talk->dropped, stats->dropped_full, stats->dropped_old);
    talk->dropped = dropped;
}

static void tell_rejected(struct delivery_talk *talk, uint64_t now_ns,
                          const struct delivery_stats *stats)
{
    if (stats->rejected == talk->rejected ||
        !delivery_may_say(talk->every_ns, &talk->reject_ns, now_ns))
        return;
    delivery_say(talk->world, talk->who, DELIVERY_WARNING,
                 "%" PRIu64 " samples were left out by the server (so far %" PRIu64 ")",
                 stats->rejected - talk->rejected, stats->rejected);
    talk->rejected = stats->rejected;
}

void delivery_tell(struct delivery_talk *talk, enum exporter_rc rc, uint64_t now_ns,
                   const struct delivery_stats *stats)
{
    if (rc == EXPORTER_OK)
        tell_success(talk);
    else if (rc != EXPORTER_REFUSED)
        tell_failure(talk, now_ns, stats);
    else if (delivery_may_say(talk->every_ns, &talk->refusal_ns, now_ns))
        delivery_say(talk->world, talk->who, DELIVERY_WARNING,
                     "a profile was refused (%" PRIu64 " so far): %s", stats->refused,
                     stats->last_error.text);
    tell_drops(talk, now_ns, stats);
    tell_rejected(talk, now_ns, stats);
}

void delivery_note(const struct delivery_talk *talk, const char *note)
{
    delivery_say(talk->world, talk->who, DELIVERY_WARNING, "%s", note);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_talk.c - knows which answers of an exporter are news. */
#include "agent/delivery_talk.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { LINE_SIZE = ERR_TEXT_MAX + 256 };

void delivery_talk_init(struct delivery_talk *talk, const char *name,
                        const struct delivery_world *world, uint64_t every_ns)
{
    *talk = (struct delivery_talk){.name = name, .world = world, .every_ns = every_ns};
}

static void say(const struct delivery_talk *talk, enum delivery_level level, const char *format,
                ...) PRINTF_LIKE(3, 4);

static void say(const struct delivery_talk *talk, enum delivery_level level, const char *format,
                ...)
{
    char line[LINE_SIZE];
    va_list args;
    int used;

    used = snprintf(line, sizeof(line), "exporter %.64s: ", talk->name);
    va_start(args, format);
    (void)vsnprintf(line + used, sizeof(line) - (size_t)used, format, args);
    va_end(args);
    talk->world->log(talk->world->ctx, level, line);
}

/* True, and *last_ns is set, if the last line of this kind is long enough ago. */
static bool may_say(const struct delivery_talk *talk, uint64_t *last_ns, uint64_t now_ns)
{
    if (*last_ns != 0 && now_ns - *last_ns < talk->every_ns)
        return false;
    *last_ns = now_ns;
    return true;
}

static void tell_failure(struct delivery_talk *talk, uint64_t now_ns,
                         const struct delivery_stats *stats)
{
    talk->failed_tries++;
    if (!may_say(talk, &talk->failure_ns, now_ns))
        return;
    if (talk->announced)
        say(talk, DELIVERY_WARNING, "still fails (%" PRIu64 " tries, %zu profiles wait): %s",
            talk->failed_tries, stats->queued, stats->last_error.text);
    else
        say(talk, DELIVERY_WARNING, "%s; it will be tried again", stats->last_error.text);
    talk->announced = true;
}

static void tell_success(struct delivery_talk *talk)
{
    if (talk->announced)
        say(talk, DELIVERY_INFO, "works again, after %" PRIu64 " failed tries", talk->failed_tries);
    talk->announced = false;
    talk->failed_tries = 0;
}

static void tell_drops(struct delivery_talk *talk, uint64_t now_ns,
                       const struct delivery_stats *stats)
{
    uint64_t dropped = stats->dropped_full + stats->dropped_old;

    if (dropped == talk->dropped || !may_say(talk, &talk->drop_ns, now_ns))
        return;
    say(talk, DELIVERY_WARNING,
        "%" PRIu64 " profiles were dropped (so far %" PRIu64 " as the queue was full, %" PRIu64
        " as they got too old)",
        dropped - talk->dropped, stats->dropped_full, stats->dropped_old);
    talk->dropped = dropped;
}

static void tell_rejected(struct delivery_talk *talk, uint64_t now_ns,
                          const struct delivery_stats *stats)
{
    if (stats->rejected == talk->rejected || !may_say(talk, &talk->reject_ns, now_ns))
        return;
    say(talk, DELIVERY_WARNING,
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
    else if (may_say(talk, &talk->refusal_ns, now_ns))
        say(talk, DELIVERY_WARNING, "a profile was refused (%" PRIu64 " so far): %s",
            stats->refused, stats->last_error.text);
    tell_drops(talk, now_ns, stats);
    tell_rejected(talk, now_ns, stats);
}

void delivery_note(const struct delivery_talk *talk, const char *note)
{
    say(talk, DELIVERY_WARNING, "%s", note);
}

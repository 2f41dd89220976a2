/* SPDX-License-Identifier: Apache-2.0 */
/* export_log.c - knows what about exporters and the spool is news. */
#include "agent/delivery/export_log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time_units.h"

enum { LINE_SIZE = ERR_TEXT_MAX + 256 };

static const char spool_who[] = "spool";

void export_log_say(const struct delivery_world *world, const char *who, enum delivery_level level,
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

/* True if another line of a kind may be written: none yet (*last_ns is 0), or long enough ago.
 * Sets *last_ns to now if so. */
static bool may_say(uint64_t *last_ns, uint64_t now_ns)
{
    if (*last_ns != 0 && now_ns - *last_ns < EXPORT_LOG_EVERY_NS)
        return false;
    *last_ns = now_ns;
    return true;
}

void export_log_init(struct export_log *log, const char *name, const struct delivery_world *world)
{
    *log = (struct export_log){.world = world};
    (void)snprintf(log->who, sizeof(log->who), "exporter %.64s", name);
}

static void tell_failure(struct export_log *log, uint64_t now_ns,
                         const struct exporter_result *result, const struct delivery_stats *stats)
{
    log->failed_tries++;
    if (!may_say(&log->failure_ns, now_ns))
        return;
    if (log->failure_logged)
        export_log_say(log->world, log->who, DELIVERY_WARNING,
                       "still fails (%" PRIu64 " tries, %zu %s waiting): %s", log->failed_tries,
                       stats->queued, text_plural(stats->queued, "profile", "profiles"),
                       result->answer.err.text);
    else
        export_log_say(log->world, log->who, DELIVERY_WARNING, "%s; it will be tried again",
                       result->answer.err.text);
    log->failure_logged = true;
}

static void tell_success(struct export_log *log)
{
    if (log->failure_logged)
        export_log_say(log->world, log->who, DELIVERY_INFO,
                       "works again, after %" PRIu64 " failed tries", log->failed_tries);
    log->failure_logged = false;
    log->failed_tries = 0;
}

static void tell_drops(struct export_log *log, uint64_t now_ns, const struct delivery_stats *stats)
{
    uint64_t dropped = stats->dropped_full + stats->dropped_old;

    if (dropped == log->dropped_logged || !may_say(&log->drop_ns, now_ns))
        return;
    export_log_say(log->world, log->who, DELIVERY_WARNING,
                   "%" PRIu64 " %s dropped (so far %" PRIu64 " as the queue was full, %" PRIu64
                   " as they got too old)",
                   dropped - log->dropped_logged,
                   text_plural(dropped - log->dropped_logged, "profile was", "profiles were"),
                   stats->dropped_full, stats->dropped_old);
    log->dropped_logged = dropped;
}

static void tell_rejected(struct export_log *log, uint64_t now_ns,
                          const struct delivery_stats *stats)
{
    if (stats->rejected == log->rejected_logged || !may_say(&log->reject_ns, now_ns))
        return;
    export_log_say(
        log->world, log->who, DELIVERY_WARNING,
        "%" PRIu64 " %s rejected by the server in requests that it took (%" PRIu64 " so far)",
        stats->rejected - log->rejected_logged,
        text_plural(stats->rejected - log->rejected_logged, "profile was", "profiles were"),
        stats->rejected);
    log->rejected_logged = stats->rejected;
}

/* A server may say the same with each answer. */
static void tell_note(struct export_log *log, uint64_t now_ns, const char *note)
{
    if (!note[0] || strcmp(note, log->logged_note) == 0 || !may_say(&log->note_ns, now_ns))
        return;
    (void)snprintf(log->logged_note, sizeof(log->logged_note), "%s", note);
    export_log_say(log->world, log->who, DELIVERY_WARNING, "%s", note);
}

void export_log_result(struct export_log *log, const struct exporter_result *result,
                       uint64_t now_ns, const struct delivery_stats *stats)
{
    tell_note(log, now_ns, result->answer.note.text);
    if (result->rc == EXPORTER_OK)
        tell_success(log);
    else if (result->rc != EXPORTER_REFUSED)
        tell_failure(log, now_ns, result, stats);
    else if (may_say(&log->refusal_ns, now_ns))
        export_log_say(log->world, log->who, DELIVERY_WARNING,
                       "profiles were refused (%" PRIu64 " so far): %s", stats->refused,
                       result->answer.err.text);
    tell_drops(log, now_ns, stats);
    tell_rejected(log, now_ns, stats);
}

void export_log_pace(const struct delivery_stats *stats, char out[EXPORT_PACE_MAX])
{
    const struct push_counts *pushes = &stats->pushes;
    uint64_t answers = 0;

    for (size_t i = 0; i < PUSH_BUCKETS; i++)
        answers += pushes->buckets[i];
    (void)snprintf(out, EXPORT_PACE_MAX,
                   "%.1f profiles/s come, %.1f/s are taken; %zu wait (%.1fMiB), the oldest for "
                   "%.0f s; an answer takes %.2f s",
                   stats->in_rate, stats->out_rate, stats->queued,
                   (double)stats->backlog_bytes / (1 << 20), (double)stats->oldest_ns / 1e9,
                   answers > 0 ? (double)pushes->duration_ns / 1e9 / (double)answers : 0);
}

void export_log_behind(struct export_log *log, const struct delivery_stats *stats)
{
    char pace[EXPORT_PACE_MAX];

    if (stats->behind == log->behind_logged)
        return;
    log->behind_logged = stats->behind;
    if (!stats->behind) {
        export_log_say(log->world, log->who, DELIVERY_INFO, "has caught up");
        return;
    }
    export_log_pace(stats, pace);
    export_log_say(log->world, log->who, DELIVERY_WARNING, "falls behind: %s; %s", pace,
                   EXPORT_BEHIND_CURE);
}

bool export_rates_update(struct export_rates *rates, uint64_t now_ns, uint64_t put, uint64_t sent)
{
    double seconds = (double)(now_ns - rates->since_ns) / 1e9;

    if (rates->since_ns != 0 && now_ns - rates->since_ns < 60 * NS_PER_S)
        return false;
    if (rates->since_ns != 0) {
        rates->in_rate = (double)(put - rates->put) / seconds;
        rates->out_rate = (double)(sent - rates->sent) / seconds;
        rates->known = true;
    }
    rates->since_ns = now_ns;
    rates->put = put;
    rates->sent = sent;
    return rates->known;
}

void spool_log_init(struct spool_log *log, const struct delivery_world *world)
{
    *log = (struct spool_log){.world = world};
}

static void tell_spool_state(struct spool_log *log, uint64_t now_ns,
                             const struct delivery_spool_stats *stats)
{
    uint64_t in_memory = stats->in_memory - log->reported.in_memory;

    if (stats->failing && may_say(&log->failure_ns, now_ns)) {
        export_log_say(log->world, spool_who, DELIVERY_WARNING,
                       "%s; profiles wait in memory instead", stats->last_error.text);
        log->failure_logged = true;
    } else if (!stats->failing && log->failure_logged) {
        export_log_say(log->world, spool_who, DELIVERY_INFO,
                       "works again; %" PRIu64 " %s went past it", in_memory,
                       text_plural(in_memory, "profile", "profiles"));
        log->failure_logged = false;
        log->reported.in_memory = stats->in_memory;
    }
}

static void tell_spool_losses(struct spool_log *log, uint64_t now_ns,
                              const struct delivery_spool_stats *stats)
{
    uint64_t size = stats->dropped_size - log->reported.dropped_size;
    uint64_t age = stats->dropped_age - log->reported.dropped_age;
    uint64_t space = stats->dropped_free - log->reported.dropped_free;

    if (size + age + space == 0 || !may_say(&log->drop_ns, now_ns))
        return;
    export_log_say(log->world, spool_who, DELIVERY_WARNING,
                   "the oldest profiles were dropped: %" PRIu64 " for spool_max_size, %" PRIu64
                   " for spool_max_age, %" PRIu64 " for spool_min_free",
                   size, age, space);
    log->reported.dropped_size = stats->dropped_size;
    log->reported.dropped_age = stats->dropped_age;
    log->reported.dropped_free = stats->dropped_free;
}

void spool_log_tell(struct spool_log *log, uint64_t now_ns,
                    const struct delivery_spool_stats *stats)
{
    const uint64_t unknown = stats->dropped_unknown - log->reported.dropped_unknown;
    const uint64_t found = stats->found - log->reported.found;
    const uint64_t unreadable = stats->unreadable - log->reported.unreadable;
    const uint64_t bad = stats->bad - log->reported.bad;

    tell_spool_state(log, now_ns, stats);
    tell_spool_losses(log, now_ns, stats);
    if (found > 0)
        export_log_say(log->world, spool_who, DELIVERY_INFO,
                       "goes on with %" PRIu64 " %s of an earlier run", found,
                       text_plural(found, "profile", "profiles"));
    log->reported.found = stats->found;
    if (unknown > 0)
        export_log_say(log->world, spool_who, DELIVERY_WARNING,
                       "%" PRIu64 " %s dropped: no exporter is configured for them any more",
                       unknown, text_plural(unknown, "profile was", "profiles were"));
    log->reported.dropped_unknown = stats->dropped_unknown;
    if (unreadable > 0)
        export_log_say(log->world, spool_who, DELIVERY_WARNING,
                       "%" PRIu64 " %s of an earlier run cannot be read, kept for the next one; "
                       "the last: %s",
                       unreadable, text_plural(unreadable, "file", "files"),
                       stats->last_error.text);
    log->reported.unreadable = stats->unreadable;
    if (bad > 0 && may_say(&log->bad_ns, now_ns)) {
        export_log_say(log->world, spool_who, DELIVERY_WARNING, "%" PRIu64 " %s went to bad/", bad,
                       text_plural(bad, "file that is not a whole profile",
                                   "files that are not whole profiles"));
        log->reported.bad = stats->bad;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* record_text.c - see record_text.h. */
#include "agent/cli/record_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "agent/host/escape.h"
#include "agent/report/report.h"
#include "agent/sampling/stats.h"
#include "base/text.h"
#include "base/time_units.h"

enum { REFUSED_SHOWN = 8 };

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

/*
 * Appends the function that ran most and its share. While an interval runs, its CPU time is not
 * given out yet: the time with the GIL stands in for it, or all time where there is no GIL.
 */
static void add_hottest(const struct service *services, struct buf *out)
{
    const struct service *service = services;
    struct pprof_top *tops;
    enum service_value value = VALUE_GIL;
    size_t count;
    int64_t total;

    while (service && pprof_total(service->profile, VALUE_SAMPLES) == 0)
        service = service->next;
    if (!service)
        return;
    if (pprof_total(service->profile, value) == 0)
        value = VALUE_WALL;
    total = pprof_total(service->profile, value);
    if (total == 0 || pprof_top(service->profile, value, &tops, &count) != PPROF_OK)
        return;
    if (count > 0) {
        buf_add_fmt(out, "  %.0f%% in ", 100 * (double)tops[0].flat / (double)total);
        report_text(tops[0].name, out);
    }
    free(tops);
}

void record_text_progress(const struct record_text *text, const struct service *services,
                          struct buf *out)
{
    buf_add_fmt(out, "%6.1f s  %" PRIu64 " samples of %zu process%s, %" PRIu64 " torn",
                seconds(text->elapsed_ns), text->stats->samples, text->stats->sampling,
                text->stats->sampling == 1 ? "" : "es", text->unwinder.torn);
    add_hottest(services, out);
}

static void add_hz(double hz, struct buf *out)
{
    if (hz < 1000)
        buf_add_fmt(out, "%.4g", hz);
    else
        buf_add_fmt(out, "%.0f", hz);
}

/* Appends the rate that came of the one that was asked for. */
static void add_rate(const struct record_text *text, struct buf *out)
{
    uint64_t wanted = text->stats->samples + text->stats->missed;

    buf_add_str(out, "pystrobe: ");
    add_hz(wanted ? text->rate_hz * (double)text->stats->samples / (double)wanted : 0.0, out);
    buf_add_str(out, " of ");
    add_hz(text->rate_hz, out);
    buf_add_str(out, " samples a second and process");
}

/* True if that process is the first on the list with its reason. */
static bool is_new_reason(const struct refused *refused, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (refused->list[i].access == refused->list[index].access)
            return false;
    return true;
}

void record_text_refused(const struct refused *refused, struct buf *out)
{
    const size_t shown = refused->count < REFUSED_SHOWN ? refused->count : REFUSED_SHOWN;
    const struct refused_process *process;
    const char *cure;

    for (size_t i = 0; i < shown; i++) {
        process = &refused->list[i];
        cure = is_new_reason(refused, i) ? ptrace_access_cure(process->access) : "";
        buf_add_fmt(out, "pystrobe: not sampled: process %d (", (int)process->id.pid);
        escape_add_str(out, process->command[0] ? process->command : "?");
        buf_add_fmt(out, "): %s%s%s\n", ptrace_access_text(process->access), cure[0] ? "; " : "",
                    cure);
    }
    if (refused->count > shown)
        buf_add_fmt(out, "pystrobe: not sampled: %zu %s that could not be read\n",
                    refused->count - shown, refused->more ? "or more others" : "others");
}

void record_text_timeline(const char *path, const struct pprof_timeline *timeline, struct buf *out)
{
    if (timeline->left_out == 0)
        return;
    buf_add_fmt(out, "pystrobe: %s has %" PRIu64 " %s without a time, as sums: ", path,
                timeline->left_out, text_plural(timeline->left_out, "sample", "samples"));
    if (timeline->full_ns > 0)
        buf_add_fmt(out,
                    "its time line ends after %.1f s, with %zu samples; record for a shorter "
                    "time, or with a lower rate\n",
                    seconds(timeline->full_ns), timeline->count);
    else
        buf_add_fmt(out, "there is room for %d threads\n", PPROF_TIMELINE_TRACKS);
}

void record_text_summary(const struct record_text *text, struct buf *out)
{
    const struct engine_stats *stats = text->stats;

    buf_add_fmt(out, "pystrobe: %" PRIu64 " sample%s of %" PRIu64 " process%s in %.1f s, ",
                stats->samples, stats->samples == 1 ? "" : "s", stats->attached,
                stats->attached == 1 ? "" : "es", seconds(text->elapsed_ns));
    stats_dropped(stats, &text->unwinder, out);
    buf_add_str(out, "\n");
    add_rate(text, out);
    buf_add_fmt(out, "; %.2f s of CPU%s, ", seconds(cpu_by_class_total(&stats->cpu)),
                text->refused->count > 0 ? " of what could be read" : "");
    stats_cpu(&stats->cpu, out);
    buf_add_str(out, "\n");
    record_text_refused(text->refused, out);
    buf_add(out, text->warnings->data, text->warnings->size);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* state_print.c - a state as text for people, and as JSON; see state.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/delivery/export_log.h"
#include "agent/host/escape.h"
#include "agent/host/version.h"
#include "agent/sampling/stats.h"
#include "agent/serve/state.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time_units.h"

/* Appends an instant as 2026-11-20T18:56:56Z. */
static void add_utc(struct buf *out, int64_t utc_ns)
{
    time_t seconds = (time_t)(utc_ns / (int64_t)NS_PER_S);
    char text[32] = "?";
    struct tm tm;

    if (gmtime_r(&seconds, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    buf_add_str(out, text);
}

/* Appends how long something took: 3d 4h, 5m 6s. */
static void add_span(struct buf *out, uint64_t ns)
{
    uint64_t s = ns / NS_PER_S;

    if (s >= 86400)
        buf_add_fmt(out, "%" PRIu64 "d %" PRIu64 "h", s / 86400, s % 86400 / 3600);
    else if (s >= 3600)
        buf_add_fmt(out, "%" PRIu64 "h %" PRIu64 "m", s / 3600, s % 3600 / 60);
    else
        buf_add_fmt(out, "%" PRIu64 "m %" PRIu64 "s", s / 60, s % 60);
}

static double mebibytes(uint64_t bytes)
{
    return (double)bytes / (1024.0 * 1024.0);
}

/* Appends foreign text in a column of `width`. */
static void add_padded_text(struct buf *out, const char *text, size_t width)
{
    size_t used = escape_width(text, strlen(text));

    escape_add_str(out, text);
    for (; used < width; used++)
        buf_add_str(out, " ");
    buf_add_str(out, " ");
}

static void config_text(const struct state_config *config, struct buf *out)
{
    buf_add_str(out, "config:   ");
    escape_add_str(out, config->path);
    buf_add_str(out, ", in effect since ");
    add_utc(out, config->loaded_ns);
    buf_add_str(out, "\n");
    if (config->tried_ns == 0)
        return;
    buf_add_str(out, "reload:   ");
    add_utc(out, config->tried_ns);
    if (config->good) {
        buf_add_str(out, ", good\n");
        return;
    }
    buf_add_str(out, ", FAILED, settings stay as they were: ");
    escape_add_str(out, config->error.text);
    buf_add_str(out, "\n");
}

static void budget_text(const struct state *state, struct buf *out)
{
    const struct budget_state *budget = &state->budget;
    /* The first seconds take the most, and the limit is one of minutes. */
    const bool early = state->taken_mono_ns - state->started_mono_ns < 60 * NS_PER_S;

    buf_add_fmt(out, "budget:   cpu %.2f%% of a core%s", 100 * budget->used_cpu,
                early ? " since it started" : "");
    if (budget->promised.cpu > 0)
        buf_add_fmt(out, " (promised: %.2f%%%s)", 100 * budget->promised.cpu,
                    early ? " over a minute" : "");
    if (budget->used_opening_cpu >= 0.0001)
        buf_add_fmt(out, ", opening processes %.2f%%", 100 * budget->used_opening_cpu);
    buf_add_fmt(out, ", memory %.1fMiB", mebibytes(budget->used_memory_bytes));
    if (budget->promised.memory_bytes > 0)
        buf_add_fmt(out, " (promised: %.1fMiB)", mebibytes(budget->promised.memory_bytes));
    if (budget->left_out > 0)
        buf_add_fmt(out, ", %" PRIu64 " %s left out so far", budget->left_out,
                    text_plural(budget->left_out, "target", "targets"));
    buf_add_str(out, "\n");
    if (budget->slowed > 0)
        buf_add_fmt(
            out,
            "          %zu sampled less often than asked for, as low as %.3gHz, by max_cpu = "
            "%.3g%%: would take %.3g%%\n",
            budget->slowed, budget->slowest_hz, 100 * budget->promised.cpu,
            100 * budget->wanted_cpu);
}

static void spool_text(const struct delivery_spool_stats *spool, struct buf *out)
{
    if (!spool->on)
        return;
    buf_add_fmt(out,
                "spool:    %zu %s, %.1fMiB, %" PRIu64 " written, %" PRIu64 " found, %" PRIu64
                " dropped, %" PRIu64 " bad, %" PRIu64 " unreadable%s",
                spool->entries, text_plural(spool->entries, "profile", "profiles"),
                mebibytes(spool->bytes), spool->written, spool->found,
                spool->dropped_size + spool->dropped_age + spool->dropped_free +
                    spool->dropped_unknown,
                spool->bad, spool->unreadable,
                spool->failing ? "; the disk FAILS, profiles wait in memory" : "");
    if (spool->last_error.text[0]) {
        buf_add_str(out, "\n          last error: ");
        escape_add_str(out, spool->last_error.text);
    }
    buf_add_str(out, "\n");
}

static void exporters_text(const struct state *state, struct buf *out)
{
    for (size_t i = 0; i < state->exporter_count; i++) {
        const struct state_exporter *exporter = &state->exporters[i];
        const struct delivery_stats *d = &exporter->delivery;
        char pace[EXPORT_PACE_MAX];

        buf_add_str(out, "exporter: ");
        escape_add_str(out, exporter->name);
        buf_add_str(out, " (");
        buf_add_str(out, exporter->type ? exporter->type->name : "");
        buf_add_fmt(out,
                    "), %" PRIu64 " sent, %zu wait, %" PRIu64 " tries failed, %" PRIu64
                    " refused, %" PRIu64 " dropped%s",
                    d->sent, d->queued, d->retried, d->refused,
                    d->dropped_full + d->dropped_old + d->dropped_stop,
                    d->behind ? "; it FALLS BEHIND" : "");
        if (d->behind) {
            export_log_pace(d, pace);
            buf_add_fmt(out, "\n          %s; %s", pace, EXPORT_BEHIND_CURE);
        }
        if (d->last_error.text[0]) {
            buf_add_str(out, "\n          last error: ");
            escape_add_str(out, d->last_error.text);
        }
        buf_add_str(out, "\n");
    }
}

void state_exporters(const struct state *state, struct buf *out)
{
    size_t i;

    for (i = 0; i < state->exporter_count; i++) {
        const struct state_exporter *exporter = &state->exporters[i];
        char pace[EXPORT_PACE_MAX];

        export_log_pace(&exporter->delivery, pace);
        buf_add_str(out, exporter->delivery.behind ? "falls behind\t" : "keeps up\t");
        escape_add_str(out, exporter->name);
        buf_add_fmt(out, "\t%s\n", pace);
    }
}

/* Ticks that were missed, and samples that failed. */
static uint64_t dropped_of(const struct engine_counts *counts)
{
    uint64_t sum = counts->missed;

    for (size_t rc = CPY_OK + 1; rc < ENGINE_OUTCOMES; rc++)
        sum += counts->failed[rc];
    return sum;
}

static void hang_text(const struct state_target *target, struct buf *out)
{
    if (!target->hang)
        return;
    buf_add_fmt(out, " HANGS (%s", target->hang);
    if (target->hang_tid)
        buf_add_fmt(out, ", thread %d", (int)target->hang_tid);
    buf_add_str(out, ", ");
    add_span(out, target->hang_ns);
    buf_add_str(out, ")");
}

/* How many processes hang now. */
static size_t count_hanging(const struct state *state)
{
    size_t i, count = 0;

    for (i = 0; i < state->target_count; i++)
        count += state->targets[i].hang != NULL;
    return count;
}

static void hangs_text(const struct state *state, struct buf *out)
{
    const uint64_t *hangs = state->supervisor.hangs;

    if (hangs[HANG_STUCK] + hangs[HANG_DEADLOCK] > 0)
        buf_add_fmt(out, "hangs:    %zu now, %" PRIu64 " stuck and %" PRIu64 " deadlocked so far\n",
                    count_hanging(state), hangs[HANG_STUCK], hangs[HANG_DEADLOCK]);
}

static bool is_slowed(const struct state_target *target)
{
    return target->rate_hz < target->wanted_hz;
}

static void targets_text(const struct state *state, struct buf *out)
{
    if (state->target_count == 0)
        return;
    buf_add_fmt(out, "\n%8s %-40s %-10s %-8s %10s %8s %8s %8s\n", "PID", "SERVICE", "PYTHON",
                "STATE", "SAMPLES", "TORN", "DROPPED", "RATE");
    for (size_t i = 0; i < state->target_count; i++) {
        const struct state_target *target = &state->targets[i];

        buf_add_fmt(out, "%8d ", (int)target->pid);
        add_padded_text(out, target->service, 40);
        add_padded_text(out, target->python[0] ? target->python : "-", 10);
        buf_add_fmt(out, "%-8s %10" PRIu64 " %8" PRIu64 " %8" PRIu64 " %6.4gHz",
                    target->doing ? target->doing : "-", target->counts.samples,
                    target->counts.torn, dropped_of(&target->counts), target->rate_hz);
        if (is_slowed(target))
            buf_add_fmt(out, " of %.4gHz (max_cpu)", target->wanted_hz);
        else if (target->burst)
            buf_add_str(out, " (burst)");
        hang_text(target, out);
        buf_add_str(out, "\n");
    }
    if (state->engine.sampling > state->target_count)
        buf_add_fmt(out, "and %zu more\n", state->engine.sampling - state->target_count);
}

void state_line(const struct state *state, struct buf *out)
{
    const struct err *last = &state->spool.last_error;
    uint64_t sent = 0;
    size_t i, waiting = 0;

    for (i = 0; i < state->exporter_count; i++) {
        const struct delivery_stats *d = &state->exporters[i].delivery;

        sent += d->sent;
        waiting += d->queued;
        if (d->queued > 0 && d->last_error.text[0])
            last = &d->last_error;
    }
    buf_add_fmt(out, "%zu %s sampled, %" PRIu64 " %s; %" PRIu64 " %s delivered, %zu wait",
                state->engine.sampling, text_plural(state->engine.sampling, "process", "processes"),
                state->engine.samples, text_plural(state->engine.samples, "sample", "samples"),
                sent, text_plural(sent, "profile", "profiles"), waiting);
    if (last->text[0] && (waiting > 0 || state->spool.failing)) {
        buf_add_str(out, "; last error: ");
        escape_add_str(out, last->text);
    }
    if (count_hanging(state) > 0)
        buf_add_fmt(out, "; %zu HANG", count_hanging(state));
    if (state->config.tried_ns != 0 && !state->config.good)
        buf_add_str(out, "; the last reload FAILED");
}

static const char *reason_text(size_t reason)
{
    return reason == FINDER_BUDGET  ? "max_cpu, max_memory"
           : reason == FINDER_OWNER ? "others of their owner block samplers"
                                    : cpy_rc_text((enum cpy_rc)reason);
}

/* The processes that cannot be sampled now, by reason; nothing if there are none. */
static void left_out_text(const struct supervisor_stats *s, struct buf *out)
{
    const char *before = "left out: ";

    for (size_t i = CPY_OK + 1; i < FINDER_REASONS; i++)
        if (s->left_out[i] > 0) {
            buf_add_fmt(out, "%s%zu (%s)", before, s->left_out[i], reason_text(i));
            before = ", ";
        }
    if (before[0] == ',')
        buf_add_str(out, "\n");
}

static void left_out_json(const struct supervisor_stats *s, struct buf *out)
{
    const char *before = ", \"left_out\": {";

    for (size_t i = CPY_OK + 1; i < FINDER_REASONS; i++, before = ", ")
        buf_add_fmt(out, "%s\"%s\": %zu", before, finder_reason_label(i), s->left_out[i]);
    buf_add_str(out, "}");
}

enum { SERVICES_SHOWN = 5 };

static void services_text(const struct state *state, struct buf *out)
{
    const uint64_t up_ns = state->taken_mono_ns - state->started_mono_ns;
    const size_t count = state->service_count;

    for (size_t i = 0; i < count && i < SERVICES_SHOWN; i++) {
        buf_add_str(out, i == 0 ? "services: " : ", ");
        escape_add_str(out, state->services[i].name);
        buf_add_fmt(out, " %.1f s", (double)state->services[i].cpu_ns / NS_PER_S);
    }
    if (count > SERVICES_SHOWN)
        buf_add_fmt(out, " and %zu more", count - SERVICES_SHOWN);
    if (count > 0)
        buf_add_str(out, up_ns < 3600 * NS_PER_S ? " of CPU since its start\n"
                                                 : " of CPU in the last hour\n");
}

void state_text(const struct state *state, struct buf *out)
{
    buf_add_fmt(out, "%s, pid %d, up ", version_agent, (int)state->pid);
    add_span(out, state->taken_mono_ns - state->started_mono_ns);
    buf_add_str(out, "\n");
    config_text(&state->config, out);
    buf_add_fmt(out, "targets:  %zu sampled, %" PRIu64 " so far, %zu sampled apart\n",
                state->engine.sampling, state->engine.attached, state->supervisor.quarantine);
    left_out_text(&state->supervisor, out);
    buf_add_fmt(out,
                "samplers: %zu, %" PRIu64 " started, %" PRIu64 " blocked by a process, %" PRIu64
                " crashed\n",
                state->supervisor.samplers, state->supervisor.started, state->supervisor.blocked,
                state->supervisor.crashed);
    hangs_text(state, out);
    buf_add_fmt(out, "samples:  %" PRIu64 ", ", state->engine.samples);
    stats_dropped(&state->engine, &state->unwinder, out);
    buf_add_fmt(out, "\nCPU:      %.1f s in profiles, ",
                (double)cpu_by_class_total(&state->engine.cpu) / (double)NS_PER_S);
    stats_cpu(&state->engine.cpu, out);
    buf_add_str(out, "\n");
    services_text(state, out);
    buf_add_fmt(out, "profiles: %" PRIu64 " built\n", state->profiles);
    budget_text(state, out);
    if (state->log_left_out > 0)
        buf_add_fmt(out, "log:      %" PRIu64 " %s left out\n", state->log_left_out,
                    text_plural(state->log_left_out, "line", "lines"));
    spool_text(&state->spool, out);
    exporters_text(state, out);
    targets_text(state, out);
}

static void config_json(const struct state_config *config, struct buf *out)
{
    escape_json(out, "\"config\": {\"path\": ", config->path);
    buf_add_fmt(out,
                ", \"loaded_unix_ns\": %" PRId64 ", \"reloads\": %" PRIu64
                ", \"failed_reloads\": %" PRIu64 ", \"last_reload\": ",
                config->loaded_ns, config->reloads, config->failures);
    if (config->tried_ns == 0) {
        buf_add_str(out, "null}");
        return;
    }
    buf_add_fmt(out, "{\"unix_ns\": %" PRId64 ", \"good\": %s, \"error\": ", config->tried_ns,
                json_bool(config->good));
    escape_json(out, "", config->good ? NULL : config->error.text);
    buf_add_str(out, "}}");
}

static void budget_json(const struct budget_state *budget, struct buf *out)
{
    buf_add_fmt(out,
                "\"budget\": {\"cpu_promised\": %.6f, \"cpu_used\": %.6f, "
                "\"memory_promised_bytes\": %" PRIu64 ", \"memory_used_bytes\": %" PRIu64
                ", \"cpu_opening\": %.6f, \"targets_slowed\": %zu, \"targets_left_out\": %" PRIu64
                ", \"slowest_hz\": %.6g, \"cpu_wanted\": %.6f}",
                budget->promised.cpu, budget->used_cpu, budget->promised.memory_bytes,
                budget->used_memory_bytes, budget->used_opening_cpu, budget->slowed,
                budget->left_out, budget->slowest_hz, budget->wanted_cpu);
}

static void spool_json(const struct delivery_spool_stats *spool, struct buf *out)
{
    if (!spool->on) {
        buf_add_str(out, "\"spool\": null");
        return;
    }
    buf_add_fmt(out,
                "\"spool\": {\"failing\": %s, \"entries\": %zu, \"bytes\": %" PRIu64
                ", \"written\": %" PRIu64 ", \"found\": %" PRIu64
                ", \"dropped\": {\"size\": %" PRIu64 ", \"age\": %" PRIu64 ", \"free\": %" PRIu64
                ", \"unknown\": %" PRIu64 "}, \"bad\": %" PRIu64 ", \"unreadable\": %" PRIu64
                ", \"in_memory\": %" PRIu64 ", \"last_error\": ",
                json_bool(spool->failing), spool->entries, spool->bytes, spool->written,
                spool->found, spool->dropped_size, spool->dropped_age, spool->dropped_free,
                spool->dropped_unknown, spool->bad, spool->unreadable, spool->in_memory);
    escape_json(out, "", spool->last_error.text[0] ? spool->last_error.text : NULL);
    buf_add_str(out, "}");
}

static void exporters_json(const struct state *state, struct buf *out)
{
    buf_add_str(out, "\"exporters\": [");
    for (size_t i = 0; i < state->exporter_count; i++) {
        const struct state_exporter *exporter = &state->exporters[i];
        const struct delivery_stats *d = &exporter->delivery;

        escape_json(out, i ? ", {\"name\": " : "{\"name\": ", exporter->name);
        escape_json(out, ", \"type\": ", exporter->type ? exporter->type->name : "");
        buf_add_fmt(out,
                    ", \"sent\": %" PRIu64 ", \"sent_bytes\": %" PRIu64 ", \"retried\": %" PRIu64
                    ", \"refused\": %" PRIu64 ", \"dropped\": {\"full\": %" PRIu64
                    ", \"old\": %" PRIu64 ", \"stop\": %" PRIu64 "}, \"queued\": %zu"
                    ", \"queued_bytes\": %zu, \"in_flight\": %zu, \"oldest_ns\": %" PRIu64
                    ", \"behind\": %s, \"last_ok_unix_ns\": %" PRId64 ", \"last_error\": ",
                    d->sent, d->sent_bytes, d->retried, d->refused, d->dropped_full, d->dropped_old,
                    d->dropped_stop, d->queued, d->queued_bytes, d->in_flight, d->oldest_ns,
                    d->behind ? "true" : "false", exporter->delivery.pushes.last_ok_ns);
        escape_json(out, "", d->last_error.text[0] ? d->last_error.text : NULL);
        buf_add_str(out, "}");
    }
    buf_add_str(out, "]");
}

static void counts_json(const struct engine_counts *counts, struct buf *out)
{
    buf_add_fmt(out, ", \"samples\": %" PRIu64 ", \"missed\": %" PRIu64 ", \"failed\": {",
                counts->samples, counts->missed);
    for (size_t rc = CPY_OK + 1; rc < ENGINE_OUTCOMES; rc++)
        buf_add_fmt(out, "%s\"%s\": %" PRIu64, rc == CPY_OK + 1 ? "" : ", ",
                    cpy_rc_label((enum cpy_rc)rc), counts->failed[rc]);
    buf_add_fmt(out,
                "}, \"torn\": {\"all\": %" PRIu64 ", \"moved\": %" PRIu64 ", \"chain\": %" PRIu64
                ", \"code\": %" PRIu64 ", \"unmapped\": %" PRIu64 "}",
                counts->torn, counts->torn_moved, counts->torn_chain, counts->torn_code,
                counts->torn_unmapped);
}

static void hang_json(const struct state_target *target, struct buf *out)
{
    buf_add_fmt(out, ", \"hangs\": %" PRIu64 ", \"hang\": ", target->hangs);
    if (!target->hang) {
        buf_add_str(out, "null");
        return;
    }
    buf_add_fmt(out, "{\"kind\": \"%s\", \"seconds\": %.1f, \"tid\": ", target->hang,
                (double)target->hang_ns / 1e9);
    json_count(out, "", (int32_t)target->hang_tid);
    buf_add_str(out, "}");
}

static void targets_json(const struct state *state, struct buf *out)
{
    buf_add_str(out, "\"targets\": [");
    for (size_t i = 0; i < state->target_count; i++) {
        const struct state_target *target = &state->targets[i];

        buf_add_fmt(out, "%s{\"pid\": %d, \"service\": ", i ? ", " : "", (int)target->pid);
        escape_json(out, "", target->service);
        escape_json(out, ", \"python\": ", target->python[0] ? target->python : NULL);
        escape_json(out, ", \"named_by\": ", target->named_by[0] ? target->named_by : NULL);
        buf_add_fmt(out,
                    ", \"state\": \"%s\", \"rate_hz\": %.6g, \"wanted_hz\": %.6g, "
                    "\"burst\": %s, \"slowed\": %s",
                    target->doing ? target->doing : "", target->rate_hz, target->wanted_hz,
                    json_bool(target->burst), json_bool(is_slowed(target)));
        counts_json(&target->counts, out);
        hang_json(target, out);
        buf_add_str(out, "}");
    }
    buf_add_str(out, "]");
}

static void services_json(const struct state *state, struct buf *out)
{
    buf_add_str(out, "\"services\": [");
    for (size_t i = 0; i < state->service_count; i++) {
        escape_json(out, i ? ", {\"service\": " : "{\"service\": ", state->services[i].name);
        buf_add_fmt(out, ", \"cpu_hour_seconds\": %.3f}",
                    (double)state->services[i].cpu_ns / NS_PER_S);
    }
    buf_add_str(out, "]");
}

void state_json(const struct state *state, struct buf *out)
{
    escape_json(out, "{\"version\": ", version_agent);
    buf_add_fmt(out,
                ", \"pid\": %d, \"taken_unix_ns\": %" PRId64 ", \"started_unix_ns\": %" PRId64
                ", \"sampling\": %zu, \"profiles\": %" PRIu64 ", \"log_left_out\": %" PRIu64 ", ",
                (int)state->pid, state->taken_ns, state->started_ns, state->engine.sampling,
                state->profiles, state->log_left_out);
    config_json(&state->config, out);
    buf_add_str(out, ", ");
    budget_json(&state->budget, out);
    buf_add_str(out, ", ");
    spool_json(&state->spool, out);
    buf_add_str(out, ", ");
    exporters_json(state, out);
    buf_add_str(out, ", ");
    services_json(state, out);
    buf_add_str(out, ", ");
    targets_json(state, out);
    left_out_json(&state->supervisor, out);
    buf_add_fmt(out,
                ", \"samplers\": {\"running\": %zu, \"started\": %" PRIu64 ", \"blocked\": %" PRIu64
                ", \"crashed\": %" PRIu64 ", \"suspects\": %zu}",
                state->supervisor.samplers, state->supervisor.started, state->supervisor.blocked,
                state->supervisor.crashed, state->supervisor.quarantine);
    buf_add_fmt(out,
                ", \"hangs\": {\"now\": %zu, \"stuck\": %" PRIu64 ", \"deadlock\": %" PRIu64 "}",
                count_hanging(state), state->supervisor.hangs[HANG_STUCK],
                state->supervisor.hangs[HANG_DEADLOCK]);
    buf_add_str(out, ", \"counts\": ");
    stats_json(&state->engine, &state->unwinder, out);
    if (out->size > 0 && out->data[out->size - 1] == '\n')
        out->size--; /* of the object within */
    buf_add_str(out, "}\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - see metrics.h. */
#include "agent/serve/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/escape.h"
#include "agent/host/version.h"
#include "agent/sampling/stats.h"

enum { LABEL_MAX = 1024 };

/* Starts a metric: its HELP and TYPE. */
static void head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_add_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A metric without labels. */
static void one(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    head(out, name, type, help);
    buf_add_fmt(out, "%s %.17g\n", name, value);
}

/* Appends a label's value in quotes; text of others is made visible before. */
static void add_label_value(struct buf *out, const char *text)
{
    struct buf shown;

    buf_init(&shown, LABEL_MAX);
    escape_add_str(&shown, text);
    buf_add_str(out, "\"");
    for (size_t i = 0; i < shown.size; i++) {
        if (shown.data[i] == '"' || shown.data[i] == '\\')
            buf_add_str(out, "\\");
        buf_add(out, &shown.data[i], 1);
    }
    buf_add_str(out, "\"");
    buf_finish(&shown);
}

/* A sample with a label. */
static void labelled(struct buf *out, const char *name, const char *label, const char *value,
                     double number)
{
    buf_add_fmt(out, "%s{%s=", name, label);
    add_label_value(out, value);
    buf_add_fmt(out, "} %.17g\n", number);
}

/* A sample with two. */
static void labelled_twice(struct buf *out, const char *name, const char *label1,
                           const char *value1, const char *label2, const char *value2,
                           double number)
{
    buf_add_fmt(out, "%s{%s=", name, label1);
    add_label_value(out, value1);
    buf_add_fmt(out, ",%s=", label2);
    add_label_value(out, value2);
    buf_add_fmt(out, "} %.17g\n", number);
}

/* What of a process is read in its turn. */
static void add_sample_times(const struct engine_times *times, struct buf *out)
{
    static const uint64_t bounds_us[ENGINE_BOUNDS] = ENGINE_BOUNDS_US;
    static const char name[] = "pystrobe_sample_duration_seconds";
    uint64_t sum = 0;

    head(out, name, "histogram", "How long a sample of a process took, where it was read.");
    for (size_t i = 0; i < ENGINE_BOUNDS; i++) {
        sum += times->counts[i];
        buf_add_fmt(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, (double)bounds_us[i] / 1e6,
                    sum);
    }
    sum += times->counts[ENGINE_BOUNDS];
    buf_add_fmt(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, sum);
    buf_add_fmt(out, "%s_sum %.9g\n%s_count %" PRIu64 "\n", name, (double)times->sum_ns / 1e9, name,
                sum);
}

static void add_sampling(const struct state *s, struct buf *out)
{
    const struct stats_row *row;
    size_t i, waits = 0, quarantined = 0, sampled = 0;

    for (i = 0; i < s->target_count; i++) {
        waits += strcmp(s->targets[i].doing, "waits") == 0;
        quarantined += strcmp(s->targets[i].doing, "apart") == 0;
        sampled += strcmp(s->targets[i].doing, "sampled") == 0;
    }
    head(out, "pystrobe_targets", "gauge", "Processes to sample.");
    labelled(out, "pystrobe_targets", "state", "sampled", (double)sampled);
    labelled(out, "pystrobe_targets", "state", "waits", (double)waits);
    labelled(out, "pystrobe_targets", "state", "apart", (double)quarantined);
    head(out, "pystrobe_targets_left_out", "gauge", "Processes that cannot be sampled now: why.");
    for (i = CPY_OK + 1; i < FINDER_REASONS; i++)
        labelled(out, "pystrobe_targets_left_out", "reason", finder_reason_label(i),
                 (double)s->supervisor.left_out[i]);
    one(out, "pystrobe_targets_attached_total", "counter", "Processes sampled so far.",
        (double)s->engine.attached);
    one(out, "pystrobe_samples_total", "counter", "Samples of processes.",
        (double)s->engine.samples);
    add_sample_times(&s->engine.times, out);
    one(out, "pystrobe_ticks_missed_total", "counter", "Ticks that were over before their turn.",
        (double)s->engine.missed);
    head(out, "pystrobe_samples_failed_total", "counter", "Samples that gave nothing.");
    for (unsigned rc = CPY_OK + 1; rc < ENGINE_OUTCOMES; rc++)
        labelled(out, "pystrobe_samples_failed_total", "reason", cpy_rc_label((enum cpy_rc)rc),
                 (double)s->engine.failed[rc]);
    head(out, "pystrobe_cpu_seconds_total", "counter",
         "CPU time of processes in profiles, by what is known of it.");
    for (enum cpu_class class = CPU_STACKS; class < CPU_CLASS_COUNT; class ++)
        labelled(out, "pystrobe_cpu_seconds_total", "kind", cpu_class_label(class),
                 (double)s->engine.cpu.ns[class] / (double)NS_PER_S);
    one(out, "pystrobe_stacks_torn_total", "counter", "Stacks dropped as they did not hold still.",
        (double)s->unwinder.torn);
    head(out, "pystrobe_stacks_torn_reasons_total", "counter", "The same by what was seen.");
    for (i = 0; (row = stats_row(i)); i++)
        if (strncmp(row->label, "torn_", 5) == 0)
            labelled(out, "pystrobe_stacks_torn_reasons_total", "reason", row->label + 5,
                     (double)stats_value(&s->unwinder, row));
    one(out, "pystrobe_stacks_overflow_total", "counter", "Stacks that a profile had no room for.",
        (double)s->engine.overflow);
    one(out, "pystrobe_profiles_built_total", "counter", "Profiles encoded.", (double)s->profiles);
}

/* Those that are not watched for it never hang. */
static void add_hangs(const struct state *s, struct buf *out)
{
    size_t i, hanging = 0;

    for (i = 0; i < s->target_count; i++)
        hanging += s->targets[i].hang != NULL;
    head(out, "pystrobe_hangs_total", "counter", "Processes that were seen to hang, by how.");
    labelled(out, "pystrobe_hangs_total", "kind", hang_name(HANG_STUCK),
             (double)s->supervisor.hangs[HANG_STUCK]);
    labelled(out, "pystrobe_hangs_total", "kind", hang_name(HANG_DEADLOCK),
             (double)s->supervisor.hangs[HANG_DEADLOCK]);
    one(out, "pystrobe_targets_hanging", "gauge", "Processes that hang now.", (double)hanging);
}

static void add_samplers(const struct state *s, struct buf *out)
{
    one(out, "pystrobe_samplers", "gauge", "Processes that read targets.",
        (double)s->supervisor.samplers);
    one(out, "pystrobe_samplers_started_total", "counter", "Samplers started.",
        (double)s->supervisor.started);
    head(out, "pystrobe_samplers_lost_total", "counter", "Samplers that were lost.");
    labelled(out, "pystrobe_samplers_lost_total", "reason", "blocked",
             (double)s->supervisor.blocked);
    labelled(out, "pystrobe_samplers_lost_total", "reason", "crashed",
             (double)s->supervisor.crashed);
    labelled(out, "pystrobe_samplers_lost_total", "reason", "silent", (double)s->supervisor.silent);
    one(out, "pystrobe_unkillable_processes", "gauge",
        "Processes of pystrobe's own that were killed and do not end.", (double)s->unkillable);
}

/* One number of each exporter. */
static void each_exporter(const struct state *s, struct buf *out, const char *name,
                          const char *type, const char *help,
                          double (*number)(const struct state_exporter *))
{
    head(out, name, type, help);
    for (size_t i = 0; i < s->exporter_count; i++)
        labelled(out, name, "exporter", s->exporters[i].name, number(&s->exporters[i]));
}

/* A function that takes a number out of an exporter. */
#define NUMBER_OF(name, number)                        \
    static double name(const struct state_exporter *e) \
    {                                                  \
        return (number);                               \
    }

NUMBER_OF(sent, (double)e->delivery.sent)
NUMBER_OF(sent_bytes, (double)e->delivery.sent_bytes)
NUMBER_OF(retried, (double)e->delivery.retried)
NUMBER_OF(queued, (double)e->delivery.queued)
NUMBER_OF(queued_bytes, (double)e->delivery.queued_bytes)
NUMBER_OF(oldest, (double)e->delivery.oldest_ns / 1e9)
NUMBER_OF(behind, e->delivery.behind ? 1 : 0)
NUMBER_OF(last_ok, (double)e->delivery.pushes.last_ok_ns / 1e9)
#undef NUMBER_OF

static void add_drops(const struct state *s, struct buf *out)
{
    static const char name[] = "pystrobe_profiles_dropped_total";

    head(out, name, "counter", "Profiles that an exporter did not get through.");
    for (size_t i = 0; i < s->exporter_count; i++) {
        const struct state_exporter *e = &s->exporters[i];

        labelled_twice(out, name, "exporter", e->name, "reason", "refused",
                       (double)e->delivery.refused);
        labelled_twice(out, name, "exporter", e->name, "reason", "full",
                       (double)e->delivery.dropped_full);
        labelled_twice(out, name, "exporter", e->name, "reason", "old",
                       (double)e->delivery.dropped_old);
        labelled_twice(out, name, "exporter", e->name, "reason", "stop",
                       (double)e->delivery.dropped_stop);
    }
}

static void add_durations(const struct state *s, struct buf *out)
{
    static const uint64_t bounds_ms[PUSH_BOUNDS] = PUSH_BOUNDS_MS;
    static const char name[] = "pystrobe_push_duration_seconds";
    uint64_t sum;
    size_t i, k;

    head(out, name, "histogram", "How long a push took, whatever came of it.");
    for (i = 0; i < s->exporter_count; i++) {
        const struct push_counts *p = &s->exporters[i].delivery.pushes;

        for (k = 0, sum = 0; k < PUSH_BUCKETS; k++) {
            sum += p->buckets[k];
            buf_add_fmt(out, "%s_bucket{exporter=", name);
            add_label_value(out, s->exporters[i].name);
            if (k < PUSH_BOUNDS)
                buf_add_fmt(out, ",le=\"%g\"} %" PRIu64 "\n", (double)bounds_ms[k] / 1e3, sum);
            else
                buf_add_fmt(out, ",le=\"+Inf\"} %" PRIu64 "\n", sum);
        }
        buf_add_fmt(out, "%s_sum{exporter=", name);
        add_label_value(out, s->exporters[i].name);
        buf_add_fmt(out, "} %.9g\n%s_count{exporter=", (double)p->duration_ns / 1e9, name);
        add_label_value(out, s->exporters[i].name);
        buf_add_fmt(out, "} %" PRIu64 "\n", sum);
    }
}

/* The answers of servers. */
static void add_codes(const struct state *s, struct buf *out)
{
    static const char name[] = "pystrobe_push_responses_total";
    const struct state_exporter *e;
    char code[24];
    size_t i, k;

    head(out, name, "counter",
         "Pushes by the status of the server's answer; none: it gave no answer.");
    for (i = 0; i < s->exporter_count; i++) {
        e = &s->exporters[i];
        if (e->type && !e->type->needs_url)
            continue;
        for (k = 0; k < e->delivery.pushes.code_count; k++) {
            (void)snprintf(code, sizeof(code), "%ld", e->delivery.pushes.codes[k].code);
            labelled_twice(out, name, "exporter", e->name, "code",
                           e->delivery.pushes.codes[k].code == PUSH_CODE_NONE    ? "none"
                           : e->delivery.pushes.codes[k].code == PUSH_CODE_OTHER ? "other"
                                                                                 : code,
                           (double)e->delivery.pushes.codes[k].count);
        }
    }
}

static void add_exporter_metrics(const struct state *s, struct buf *out)
{
    static const char pushes[] = "pystrobe_push_requests_total";
    size_t i, k;

    each_exporter(s, out, "pystrobe_profiles_sent_total", "counter", "Profiles taken.", sent);
    each_exporter(s, out, "pystrobe_sent_bytes_total", "counter", "Bytes of those.", sent_bytes);
    add_drops(s, out);
    each_exporter(s, out, "pystrobe_push_retries_total", "counter",
                  "Pushes that failed and are tried again.", retried);
    head(out, pushes, "counter", "Pushes by what came of them.");
    for (i = 0; i < s->exporter_count; i++)
        for (k = 0; k < PUSH_OUTCOMES; k++)
            labelled_twice(out, pushes, "exporter", s->exporters[i].name, "outcome",
                           push_outcome_name((enum push_outcome)k),
                           (double)s->exporters[i].delivery.pushes.pushes[k]);
    add_codes(s, out);
    add_durations(s, out);
    each_exporter(s, out, "pystrobe_queue_profiles", "gauge", "Profiles that wait.", queued);
    each_exporter(s, out, "pystrobe_queue_bytes", "gauge", "Bytes of those.", queued_bytes);
    each_exporter(s, out, "pystrobe_queue_oldest_seconds", "gauge",
                  "For how long the oldest of those has waited.", oldest);
    each_exporter(s, out, "pystrobe_exporter_behind", "gauge",
                  "Whether more profiles come than the exporter takes, though it works.", behind);
    each_exporter(s, out, "pystrobe_last_push_success_timestamp_seconds", "gauge",
                  "When a push last went through; 0: none has.", last_ok);
}

static void add_spool(const struct state *s, struct buf *out)
{
    static const char dropped[] = "pystrobe_spool_dropped_total";
    const struct delivery_spool_stats *p = &s->spool;

    if (!p->on)
        return;
    one(out, "pystrobe_spool_profiles", "gauge", "Profiles on disk.", (double)p->entries);
    one(out, "pystrobe_spool_bytes", "gauge", "Bytes of those.", (double)p->bytes);
    one(out, "pystrobe_spool_limit_bytes", "gauge", "What those may take (spool_max_size).",
        (double)p->max_bytes);
    one(out, "pystrobe_spool_failing", "gauge", "Whether the disk takes no profiles now.",
        p->failing);
    one(out, "pystrobe_spool_written_total", "counter", "Profiles written to disk.",
        (double)p->written);
    one(out, "pystrobe_spool_corrupt_total", "counter", "Files set aside.", (double)p->bad);
    one(out, "pystrobe_spool_unreadable_files", "gauge", "Files left for the next run.",
        (double)p->unreadable);
    head(out, dropped, "counter", "Profiles that the spool gave up.");
    labelled(out, dropped, "reason", "size", (double)p->dropped_size);
    labelled(out, dropped, "reason", "age", (double)p->dropped_age);
    labelled(out, dropped, "reason", "free", (double)p->dropped_free);
    labelled(out, dropped, "reason", "unknown", (double)p->dropped_unknown);
}

static int by_service_and_rate(const void *left, const void *right)
{
    const struct state_target *a = *(const struct state_target *const *)left;
    const struct state_target *b = *(const struct state_target *const *)right;
    const int order = strcmp(a->service, b->service);

    return order != 0 ? order : (a->rate_hz > b->rate_hz) - (a->rate_hz < b->rate_hz);
}

/* Gives the slowest process of each service; owned by the caller. NULL: out of memory. */
static const struct state_target **find_slowest(const struct state *s, size_t *count)
{
    const struct state_target **found = calloc(s->target_count + 1, sizeof(*found));
    size_t sampled = 0;

    *count = 0;
    for (size_t i = 0; found && i < s->target_count; i++)
        if (strcmp(s->targets[i].doing, "sampled") == 0)
            found[sampled++] = &s->targets[i];
    if (sampled > 0)
        qsort(found, sampled, sizeof(*found), by_service_and_rate);
    for (size_t i = 0; i < sampled; i++)
        if (*count == 0 || strcmp(found[*count - 1]->service, found[i]->service) != 0)
            found[(*count)++] = found[i];
    return found;
}

static void add_service_rates(const struct state *s, struct buf *out)
{
    static const char now[] = "pystrobe_service_rate_hertz";
    static const char asked[] = "pystrobe_service_rate_asked_hertz";
    size_t count;
    const struct state_target **slowest = find_slowest(s, &count);

    head(out, now, "gauge", "Samples a second of the process of a service that has the fewest.");
    for (size_t i = 0; i < count; i++)
        labelled(out, now, "service", slowest[i]->service, slowest[i]->rate_hz);
    head(out, asked, "gauge", "Samples a second that are asked for of that process.");
    for (size_t i = 0; i < count; i++)
        labelled(out, asked, "service", slowest[i]->service, slowest[i]->wanted_hz);
    free(slowest);
}

static void add_budget(const struct state *s, struct buf *out)
{
    const struct budget_state *b = &s->budget;

    one(out, "pystrobe_budget_cpu_cores", "gauge", "Promised share of a core; 0: none was.",
        b->promised.cpu);
    one(out, "pystrobe_used_cpu_cores", "gauge",
        "Used share of a core, mean of the last minute, without opening processes.", b->used_cpu);
    one(out, "pystrobe_budget_memory_bytes", "gauge", "Promised memory; 0: none was.",
        (double)b->promised.memory_bytes);
    one(out, "pystrobe_used_memory_bytes", "gauge", "Used memory.", (double)b->used_memory_bytes);
    one(out, "pystrobe_used_opening_cpu_cores", "gauge",
        "Share of a core used to open processes, mean of the last minute.", b->used_opening_cpu);
    one(out, "pystrobe_targets_slowed", "gauge",
        "Targets sampled less often than asked for, to keep to max_cpu.", (double)b->slowed);
    one(out, "pystrobe_slowest_rate_hertz", "gauge",
        "The least rate of those that are slowed; 0: none is.", b->slowest_hz);
    one(out, "pystrobe_wanted_cpu_cores", "gauge",
        "Share of a core that it would take to slow none.", b->wanted_cpu);
    one(out, "pystrobe_budget_left_out_total", "counter", "Targets left out for the budget.",
        (double)b->left_out);
}

static void add_agent(const struct state *s, struct buf *out)
{
    const struct state_config *c = &s->config;

    head(out, "pystrobe_build_info", "gauge", "Which pystrobe this is.");
    labelled_twice(out, "pystrobe_build_info", "version", version_number, "revision",
                   version_revision, 1);
    one(out, "pystrobe_config_last_reload_successful", "gauge",
        "Whether the settings were last read well.", c->good ? 1 : 0);
    one(out, "pystrobe_config_last_reload_success_timestamp_seconds", "gauge",
        "Since when the settings are in effect.", (double)c->loaded_ns / 1e9);
    head(out, "pystrobe_config_reloads_total", "counter", "Times the settings were read anew.");
    labelled(out, "pystrobe_config_reloads_total", "outcome", "good", (double)c->reloads);
    labelled(out, "pystrobe_config_reloads_total", "outcome", "failed", (double)c->failures);
    one(out, "pystrobe_log_lines_left_out_total", "counter", "Lines of the log left out.",
        (double)s->log_left_out);
    one(out, "process_cpu_seconds_total", "counter", "CPU time of all of pystrobe.",
        (double)s->cpu_ns / 1e9);
    one(out, "pystrobe_http_cpu_seconds_total", "counter",
        "CPU time of it for answers over HTTP, with the processes that they start.",
        (double)s->http_cpu_ns / 1e9);
    one(out, "process_resident_memory_bytes", "gauge", "Resident memory of the agent.",
        (double)s->memory_bytes);
    one(out, "process_open_fds", "gauge", "Open file descriptors.", (double)s->fds);
    one(out, "process_max_fds", "gauge", "How many there may be.", (double)s->fds_max);
    one(out, "process_start_time_seconds", "gauge", "When the agent was started.",
        (double)s->started_ns / 1e9);
}

void metrics_text(const struct state *state, struct buf *out)
{
    add_agent(state, out);
    add_budget(state, out);
    add_service_rates(state, out);
    add_sampling(state, out);
    add_hangs(state, out);
    add_samplers(state, out);
    add_exporter_metrics(state, out);
    add_spool(state, out);
}

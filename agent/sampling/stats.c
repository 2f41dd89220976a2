/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c - see stats.h. */
#include "agent/sampling/stats.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/time_units.h"

static const struct stats_row rows[] = {
#define ROW(field, label, text) {label, text, offsetof(struct cpy_stats, field)},
    CPY_STATS(ROW)
#undef ROW
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

const struct stats_row *stats_row(size_t index)
{
    return index < ROWS ? &rows[index] : NULL;
}

uint64_t stats_value(const struct cpy_stats *stats, const struct stats_row *row)
{
    return *(const uint64_t *)(const void *)((const char *)stats + row->offset);
}

void stats_add(struct cpy_stats *sum, const struct cpy_stats *more)
{
#define ADD(field, label, text) sum->field += more->field;
    CPY_STATS(ADD)
#undef ADD
}

/* Appends one reason with its count, unless nothing was lost for it. */
static void add_reason(struct buf *out, uint64_t count, const char *one, const char *more)
{
    if (count == 0)
        return;
    buf_add_str(out, out->size ? ", " : "dropped: ");
    buf_add_fmt(out, "%" PRIu64 " %s", count, count == 1 ? one : more);
}

/* Appends why stacks were torn: the rows whose label begins so count parts of `torn`. */
static void add_torn_reasons(struct buf *out, const struct cpy_stats *unwinder)
{
    static const char prefix[] = "torn_";
    const char *before = " (";
    uint64_t value;

    for (size_t i = 0; i < ROWS; i++) {
        value = stats_value(unwinder, &rows[i]);
        if (value == 0 || strncmp(rows[i].label, prefix, sizeof(prefix) - 1) != 0)
            continue;
        buf_add_fmt(out, "%s%" PRIu64 " %s", before, value, rows[i].label + sizeof(prefix) - 1);
        before = ", ";
    }
    buf_add_str(out, before[0] == ',' ? ")" : "");
}

/* Why most torn stacks were torn. */
static const char *find_main_reason(const struct cpy_stats *stats)
{
    const struct {
        uint64_t count;
        const char *text;
    } reasons[] = {{stats->torn_moved, "the threads moved on"},
                   {stats->torn_chain, "their frames make no stack that is known"},
                   {stats->torn_code, "frames have no code, or not their own"},
                   {stats->torn_unmapped, "memory that they name is not there"}};
    size_t most = 0;

    for (size_t i = 1; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        most = reasons[i].count > reasons[most].count ? i : most;
    return reasons[most].text;
}

const char *stats_refused(struct stats_refusals *refusals, const struct cpy_stats *target)
{
    const uint64_t all_torn = target->torn - target->torn_tasks;
    const uint64_t whole = target->threads - refusals->whole, torn = all_torn - refusals->torn;

    if (refusals->told || whole + torn < STATS_REFUSALS_WINDOW)
        return NULL;
    refusals->whole = target->threads;
    refusals->torn = all_torn;
    refusals->told = torn > whole;
    return refusals->told ? find_main_reason(target) : NULL;
}

bool stats_no_stack(const struct cpy_stats *unwinder, bool ended, struct buf *out)
{
    const uint64_t refused = unwinder->torn - unwinder->torn_tasks;

    if (refused == 0)
        return false;
    buf_add_fmt(out, "its stacks could not be read (%" PRIu64 " tried), because %s%s", refused,
                find_main_reason(unwinder), ended ? "; it has ended" : "");
    return true;
}

/* That a process has ended is no loss: there was nothing to sample any more. */
static bool is_loss(enum cpy_rc rc)
{
    return rc != CPY_OK && rc != CPY_GONE;
}

void stats_took(struct engine_times *times, uint64_t took_ns)
{
    static const uint64_t bounds_us[ENGINE_BOUNDS] = ENGINE_BOUNDS_US;
    size_t i = 0;

    while (i < ENGINE_BOUNDS && took_ns > bounds_us[i] * NS_PER_US)
        i++;
    times->counts[i]++;
    times->sum_ns += took_ns;
}

void stats_add_times(struct engine_times *sum, const struct engine_times *more)
{
    for (size_t i = 0; i <= ENGINE_BOUNDS; i++)
        sum->counts[i] += more->counts[i];
    sum->sum_ns += more->sum_ns;
}

void stats_dropped(const struct engine_stats *engine, const struct cpy_stats *unwinder,
                   struct buf *out)
{
    struct buf reasons;

    buf_init(&reasons, out->max);
    add_reason(&reasons, engine->missed, "tick missed", "ticks missed");
    for (unsigned rc = 0; rc < ENGINE_OUTCOMES; rc++)
        if (engine->failed[rc] > 0 && is_loss((enum cpy_rc)rc)) {
            add_reason(&reasons, engine->failed[rc], "sample", "samples");
            buf_add_fmt(&reasons, " (%s)", cpy_rc_text((enum cpy_rc)rc));
        }
    add_reason(&reasons, unwinder->torn, "stack torn", "stacks torn");
    add_torn_reasons(&reasons, unwinder);
    add_reason(&reasons, engine->overflow, "stack without room", "stacks without room");
    if (reasons.size > 0)
        buf_add(out, reasons.data, reasons.size);
    else
        buf_add_str(out, "nothing dropped");
    buf_finish(&reasons);
}

void stats_cpu(const struct cpu_by_class *cpu, struct buf *out)
{
    const double all_ns = (double)cpu_by_class_total(cpu);
    double percent;

    buf_add_fmt(out, "%.1f%% of it %s",
                all_ns > 0 ? 100 * (double)cpu->ns[CPU_STACKS] / all_ns : 100.0,
                cpu_class_text(CPU_STACKS));
    for (enum cpu_class i = CPU_STACKS + 1; i < CPU_CLASS_COUNT; i++) {
        percent = all_ns > 0 ? 100 * (double)cpu->ns[i] / all_ns : 0;
        if (percent >= 0.05)
            buf_add_fmt(out, ", %.1f%% %s", percent, cpu_class_text(i));
    }
}

void stats_text(uint64_t samples, const struct cpy_stats *unwinder, struct buf *out)
{
    uint64_t value;

    buf_add_fmt(out, "%14s %12s\n", "total", "a sample");
    for (size_t i = 0; i < ROWS; i++) {
        value = stats_value(unwinder, &rows[i]);
        buf_add_fmt(out, "%14" PRIu64 " %12.2f  %-18s %s\n", value,
                    samples ? (double)value / (double)samples : 0.0, rows[i].label, rows[i].text);
    }
}

void stats_json(const struct engine_stats *engine, const struct cpy_stats *unwinder,
                struct buf *out)
{
    buf_add_fmt(out,
                "{\"samples\": %" PRIu64 ", \"processes\": %" PRIu64 ", \"missed\": %" PRIu64
                ", \"overflow\": %" PRIu64 ", \"failed\": {",
                engine->samples, engine->attached, engine->missed, engine->overflow);
    for (unsigned rc = CPY_OK + 1; rc < ENGINE_OUTCOMES; rc++)
        buf_add_fmt(out, "%s\"%s\": %" PRIu64, rc == CPY_OK + 1 ? "" : ", ",
                    cpy_rc_label((enum cpy_rc)rc), engine->failed[rc]);
    buf_add_str(out, "}, \"cpu_ns\": {");
    for (enum cpu_class i = CPU_STACKS; i < CPU_CLASS_COUNT; i++)
        buf_add_fmt(out, "%s\"%s\": %" PRIu64, i ? ", " : "", cpu_class_label(i),
                    engine->cpu.ns[i]);
    buf_add_str(out, "}, \"unwinder\": {");
    for (size_t i = 0; i < ROWS; i++)
        buf_add_fmt(out, "%s\"%s\": %" PRIu64, i ? ", " : "", rows[i].label,
                    stats_value(unwinder, &rows[i]));
    buf_add_str(out, "}}\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gecko.c - JSON for profiler.firefox.com: its processed format, which it loads as it is.
 *
 * Source:  docs-developer/CHANGELOG-formats.md and src/types/profile.ts of
 *          github.com/firefox-devtools/profiler. Version 61 is written, which all later ones
 *          bring up to date: the tables of frames and stacks are shared by all threads.
 *
 * Where a profile has a time line, its threads have the samples of that: with their times, with
 * their part of the value of their stack as the weight, and with the CPU time that the kernel
 * counted for the thread since the sample before, which the viewer draws. What no sample had a
 * share of is in a thread of its own, at the time 0.
 *
 * Without one there are sums only: each stack is one sample with its value as the weight, and a
 * thread's samples follow each other on the time line as if they had been taken so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "formats/gecko_tables.h"
#include "formats/text.h"
#include "formats/tree.h"
#include "formats/writers.h"

enum { GECKO_VERSION = 31, PROCESSED_VERSION = 61 };

static const char untimed_name[] = "sums without times";

/* What is written. */
struct gecko {
    const struct format_view *view;
    struct tree *tree; /* owned */
    struct timed_row
        *timed; /* owned: by their numbers in the profile; NULL: there is no time line */
    struct thread *threads; /* owned: rows of the sums, by thread */
    size_t thread_count;
    double unit; /* ms, of a value; 0: it is no time */
};

/* A row of the profile as the time line needs it. */
struct timed_row {
    uint32_t node; /* of the tree: where its stack ends */
    double value;  /* of the row */
    uint64_t kept; /* the weight of its samples that are written */
};

/* A thread of a process; of a row, as far as its labels tell. */
struct thread {
    const char *pid, *tid, *name; /* texts; "" if there is none */
    int64_t pid_number, tid_number;
    uint32_t row;
};

/* The names are those of pystrobe's profiles, of what a Pyroscope is sent, and of other tools. */
static bool is_one_of(const char *key, const char *a, const char *b, const char *c)
{
    return strcmp(key, a) == 0 || strcmp(key, b) == 0 || strcmp(key, c) == 0;
}

static void take_label(struct thread *thread, const struct pprof_label *label)
{
    const char *text = label->str ? label->str : "";

    if (is_one_of(label->key, "pid", "process_pid", "process.pid")) {
        thread->pid = text;
        thread->pid_number = label->num;
    } else if (is_one_of(label->key, "thread id", "thread_id", "tid")) {
        thread->tid = text;
        thread->tid_number = label->num;
    } else if (is_one_of(label->key, "thread name", "thread_name", "thread")) {
        thread->name = text;
    }
}

static struct thread make_row_thread(const struct pprof_stacks_row *row, size_t number)
{
    struct thread thread = {"", "", "", 0, 0, (uint32_t)number};

    for (size_t i = 0; i < row->label_count; i++)
        take_label(&thread, &row->labels[i]);
    return thread;
}

static int compare_threads(const struct thread *a, const struct thread *b)
{
    int order = strcmp(a->pid, b->pid);

    if (order == 0)
        order = (a->pid_number > b->pid_number) - (a->pid_number < b->pid_number);
    if (order == 0)
        order = strcmp(a->tid, b->tid);
    if (order == 0)
        order = (a->tid_number > b->tid_number) - (a->tid_number < b->tid_number);
    return order ? order : strcmp(a->name, b->name);
}

static int compare_thread_rows(const void *x, const void *y)
{
    const struct thread *a = x, *b = y;
    int order = compare_threads(a, b);

    return order ? order : (a->row > b->row) - (a->row < b->row);
}

static void add_time_entry(struct buf *out, const char *before, const char *label)
{
    json_html_member(out, before, label);
    buf_add_str(out, ",\"format\":\"string\",\"value\":\"");
}

/* Says which samples of the time line are not there. */
static void add_left_out_note(const struct pprof_timeline *timeline, struct buf *out)
{
    if (timeline->left_out == 0)
        return;
    add_time_entry(out, "\"},{\"label\":", "Left out");
    buf_add_fmt(out, "%" PRIu64 " %s", timeline->left_out,
                text_plural(timeline->left_out, "sample", "samples"));
    if (timeline->full_ns > 0)
        buf_add_fmt(out, ", all from %.3f s on: there is room for %zu",
                    (double)timeline->full_ns / 1e9, timeline->max);
}

/* Says what times and weights are. The viewer shows it in the profile's panel, "Show more". */
static void add_time_note(const struct gecko *g, double untimed, struct buf *out)
{
    const struct format_view *view = g->view;

    buf_add_str(out, ",\"extra\":[{\"label\":\"Time line\",\"entries\":[");
    add_time_entry(out, "{\"label\":", "Time");
    if (view->timeline) {
        buf_add_str(out, "samples with their times; the weight of each is its part of the ");
        json_html_part(out, view->stacks->types[view->type].type);
        buf_add_str(out, " time of its stack");
        add_left_out_note(view->timeline, out);
        if (untimed > 0) {
            add_time_entry(out, "\"},{\"label\":", "Without times");
            text_value(out, (int64_t)untimed, view->stacks->types[view->type].unit, text_markup);
            buf_add_fmt(out, ", in the thread \\u0022%s\\u0022", untimed_name);
        }
    } else {
        buf_add_str(out, "no times: each stack is one sample, with its sum as the weight; their "
                         "order on the time line means nothing");
    }
    buf_add_str(out, "\"}]}]");
}

static void add_meta(const struct gecko *g, double untimed, struct buf *out)
{
    const struct format_view *view = g->view;

    buf_add_fmt(out,
                "{\"meta\":{\"interval\":%.6f,\"startTime\":%.3f,\"processType\":0,"
                "\"stackwalk\":0,\"debug\":false,\"version\":%d,"
                "\"preprocessedProfileVersion\":%d,\"symbolicated\":true,"
                "\"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,"
                "\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],",
                view->period > 0 ? (double)view->period / 1e6 : 1.0, (double)view->time_ns / 1e6,
                GECKO_VERSION, PROCESSED_VERSION);
    if (view->timeline)
        buf_add_fmt(out,
                    "\"profilingStartTime\":0,\"profilingEndTime\":%.6f,\"sampleUnits\":"
                    "{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},",
                    (double)view->duration_ns / 1e6);
    buf_add_str(
        out,
        "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Program\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Library\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Runtime\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}],"
        "\"product\":");
    json_html_string(out, view->title);
    add_time_note(g, untimed, out);
    json_html_member(out, ",\"importedFrom\":", view->made_by);
    buf_add_str(out, "},\n\"libs\":[],\"pages\":[],\n");
}

/* A number or a text as JSON text. */
static void add_id(struct buf *out, const char *text, int64_t number)
{
    if (text[0])
        json_html_string(out, text);
    else
        buf_add_fmt(out, "\"%" PRId64 "\"", number);
}

/* The samples of a thread, as columns. */
struct sample_columns {
    struct buf stack, time, weight, cpu; /* owned */
    size_t count;
    bool timed; /* the CPU time is written, too */
};

static void begin_samples(struct sample_columns *samples, bool timed, size_t max)
{
    *samples = (struct sample_columns){.timed = timed};
    buf_init(&samples->stack, max);
    buf_init(&samples->time, max);
    buf_init(&samples->weight, max);
    buf_init(&samples->cpu, max);
}

/* Adds a sample. `weight`: a value, in its own unit. */
static void add_sample(const struct gecko *g, struct sample_columns *samples, uint32_t node,
                       double time_ms, double weight, uint64_t cpu_ns)
{
    const char *between = samples->count++ ? "," : "";

    if (node)
        buf_add_fmt(&samples->stack, "%s%" PRIu32, between, node - 1);
    else
        buf_add_fmt(&samples->stack, "%snull", between);
    buf_add_fmt(&samples->time, "%s%.6f", between, time_ms);
    if (g->unit > 0)
        buf_add_fmt(&samples->weight, "%s%.6f", between, weight * g->unit);
    else
        buf_add_fmt(&samples->weight, "%s%.0f", between, weight);
    if (samples->timed)
        buf_add_fmt(&samples->cpu, "%s%" PRIu64, between, cpu_ns);
}

static void add_sample_column(struct buf *out, const char *name, struct buf *column)
{
    buf_add_fmt(out, "\"%s\":[", name);
    buf_add(out, column->data, column->size);
    buf_add_str(out, "],");
    out->failed = out->failed || column->failed;
    buf_finish(column);
}

/* Writes them, and frees what they own. */
static void end_samples(const struct gecko *g, struct sample_columns *samples, struct buf *out)
{
    buf_add_str(out, "\"samples\":{");
    add_sample_column(out, "stack", &samples->stack);
    add_sample_column(out, "time", &samples->time);
    add_sample_column(out, "weight", &samples->weight);
    if (samples->timed)
        add_sample_column(out, "threadCPUDelta", &samples->cpu);
    buf_add_fmt(out, "\"weightType\":\"%s\",\"length\":%zu}",
                g->unit > 0 ? "tracing-ms" : "samples", samples->count);
}

/* What no sample of the time line has of a row's value; without one, all of it. */
static double untimed_value(const struct gecko *g, const struct pprof_stacks_row *row)
{
    const double value = (double)row->values[g->view->type];
    uint64_t weight = 0;

    if (g->timed)
        weight = pprof_timeline_weight(g->view->timeline, row->number);
    return weight > 0 ? value * (1 - (double)g->timed[row->number].kept / (double)weight) : value;
}

/* The sums of the rows from `thread` on to `end`; gives when the last of them ends. */
static double add_sums(const struct gecko *g, const struct thread *thread, const struct thread *end,
                       struct buf *out)
{
    struct sample_columns samples;
    double now_ms = 0, value;

    begin_samples(&samples, g->timed, out->max);
    for (; thread < end; thread++) {
        value = untimed_value(g, &g->view->stacks->rows[thread->row]);
        add_sample(g, &samples, g->tree->ends[thread->row], now_ms, value, 0);
        if (!g->timed && value > 0)
            now_ms += g->unit > 0 ? value * g->unit : value;
    }
    end_samples(g, &samples, out);
    return now_ms;
}

/* The samples of a track. */
static void add_track_samples(const struct gecko *g, const struct pprof_timeline_track *track,
                              struct buf *out)
{
    const struct pprof_timeline_sample *sample = track->samples;
    const struct timed_row *row;
    struct sample_columns samples;
    uint64_t weight;

    begin_samples(&samples, true, out->max);
    for (; sample < track->samples + track->count; sample++) {
        row = &g->timed[sample->row];
        weight = pprof_timeline_weight(g->view->timeline, sample->row);
        add_sample(g, &samples, row->node, (double)sample->time_ns / 1e6,
                   weight > 0 ? row->value * (double)sample->weight / (double)weight : 0,
                   sample->cpu_ns);
    }
    end_samples(g, &samples, out);
}

static void begin_thread(const struct gecko *g, const struct thread *thread, bool main,
                         double begin_ms, struct buf *out)
{
    buf_add_fmt(out,
                "{\"processType\":\"default\",\"processStartupTime\":0,"
                "\"processShutdownTime\":null,\"registerTime\":%.6f,\"pausedRanges\":[],"
                "\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],"
                "\"endTime\":[],\"phase\":[],\"category\":[]},\"processName\":",
                begin_ms);
    json_html_string(out, g->view->title);
    json_html_member(out, ",\"name\":", thread->name[0] ? thread->name : "all threads");
    buf_add_fmt(out, ",\"isMainThread\":%s,\"pid\":", json_bool(main));
    add_id(out, thread->pid, thread->pid_number);
    buf_add_str(out, ",\"tid\":");
    add_id(out, thread->tid, thread->tid_number);
    buf_add_str(out, ",\n");
}

static void end_thread_object(double end_ms, struct buf *out)
{
    buf_add_fmt(out, ",\"unregisterTime\":%.6f}", end_ms);
}

/* The threads of the sums; `between`: what stands before the first. */
static void add_sum_threads(const struct gecko *g, const char *between, struct buf *out)
{
    const struct thread *at = g->threads, *last = at + g->thread_count, *end;
    bool only, main;

    for (; at < last; at = end, between = ",\n") {
        for (end = at + 1; end < last && compare_threads(at, end) == 0;)
            end++;
        only = !g->timed && at == g->threads && end == last;
        main = only || strcmp(at->name, "MainThread") == 0;
        buf_add_str(out, between);
        begin_thread(g, at, main, 0, out);
        end_thread_object(add_sums(g, at, end, out), out);
    }
}

/* The threads of the time line. Gives what stands before the next thread. */
static const char *add_tracks(const struct gecko *g, struct buf *out)
{
    const struct pprof_timeline *timeline = g->view->timeline;
    const struct pprof_timeline_track *track;
    const char *between = "\n";
    struct thread thread;
    char unnamed[32];

    for (size_t i = 0; timeline && i < timeline->track_count; i++) {
        track = &timeline->tracks[i];
        if (track->count == 0)
            continue;
        (void)snprintf(unnamed, sizeof(unnamed), track->main ? "MainThread" : "thread %" PRId64,
                       track->tid);
        thread = (struct thread){"",         "",         track->name[0] ? track->name : unnamed,
                                 track->pid, track->tid, 0};
        buf_add_str(out, between);
        begin_thread(g, &thread, track->main, (double)track->samples[0].time_ns / 1e6, out);
        add_track_samples(g, track, out);
        end_thread_object((double)track->samples[track->count - 1].time_ns / 1e6, out);
        between = ",\n";
    }
    return between;
}

/* Which rows the samples of the time line are of, and what of them it has. */
static bool find_timed_rows(struct gecko *g)
{
    const struct format_view *view = g->view;
    const struct pprof_timeline *timeline = view->timeline;
    const struct pprof_timeline_track *track;
    const struct pprof_stacks_row *row;

    if (!timeline)
        return true;
    g->timed = calloc(pprof_row_count(view->profile) + 1, sizeof(*g->timed));
    if (!g->timed)
        return false;
    for (size_t i = 0; i < view->stacks->row_count; i++) {
        row = &view->stacks->rows[i];
        g->timed[row->number].node = g->tree->ends[i];
        g->timed[row->number].value = (double)row->values[view->type];
    }
    for (size_t i = 0; i < timeline->track_count; i++) {
        track = &timeline->tracks[i];
        for (size_t j = 0; j < track->count; j++)
            g->timed[track->samples[j].row].kept += track->samples[j].weight;
    }
    return true;
}

/* Finds the sums that are written, and their threads. Gives the values of all of them. */
static double find_sums(struct gecko *g)
{
    const struct pprof_stacks *stacks = g->view->stacks;
    const struct thread untimed = {"", "", untimed_name, 0, 0, 0};
    double value, total = 0;
    struct thread *thread;

    for (size_t i = 0; i < stacks->row_count; i++) {
        value = untimed_value(g, &stacks->rows[i]);
        if (value == 0)
            continue;
        thread = &g->threads[g->thread_count++];
        *thread = g->timed ? untimed : make_row_thread(&stacks->rows[i], i);
        thread->row = (uint32_t)i;
        total += value;
    }
    if (g->thread_count)
        qsort(g->threads, g->thread_count, sizeof(*g->threads), compare_thread_rows);
    return total;
}

static enum pprof_rc write_gecko_file(struct gecko *g, struct buf *out)
{
    const struct pprof_stacks *stacks = g->view->stacks;
    enum pprof_rc rc = tree_new(stacks, true, &g->tree);

    if (rc != PPROF_OK)
        return rc;
    g->threads = malloc((stacks->row_count + 1) * sizeof(*g->threads));
    if (!g->threads || !find_timed_rows(g))
        return PPROF_NOMEM;
    add_meta(g, find_sums(g), out);
    gecko_tables(stacks, g->tree, out);
    buf_add_str(out, ",\n\"threads\":[");
    add_sum_threads(g, add_tracks(g, out), out);
    buf_add_str(out, "]}\n");
    return buf_failed(out) ? PPROF_FULL : PPROF_OK;
}

enum pprof_rc write_gecko(const struct format_view *view, struct buf *out)
{
    struct gecko g = {.view = view,
                      .unit = text_seconds(view->stacks->types[view->type].unit) * 1e3};
    enum pprof_rc rc = write_gecko_file(&g, out);

    tree_free(g.tree);
    free(g.timed);
    free(g.threads);
    return rc;
}

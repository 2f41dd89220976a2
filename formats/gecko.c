/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gecko.c - JSON for profiler.firefox.com: its processed format, which it loads as it is.
 *
 * Source:  docs-developer/CHANGELOG-formats.md and src/types/profile.ts of
 *          github.com/firefox-devtools/profiler. Version 61 is written, which all later ones
 *          bring up to date: the tables of frames and stacks are shared by all threads.
 *
 * A profile has sums, not moments: each stack is one sample with its value as the weight, and a
 * thread's samples follow each other on the time line as if they had been taken so.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/text.h"
#include "formats/tree.h"
#include "formats/writers.h"

enum { GECKO_VERSION = 31, PROCESSED_VERSION = 61 };

/* Which thread of which process a row is of, as far as its labels tell. */
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

static void add_node_frame(struct buf *out, const void *tree, size_t i)
{
    buf_add_fmt(out, "%" PRIu32, ((const struct tree *)tree)->nodes[i].what - 1);
}

static void add_node_prefix(struct buf *out, const void *tree, size_t i)
{
    uint32_t parent = ((const struct tree *)tree)->nodes[i].parent;

    if (parent)
        buf_add_fmt(out, "%" PRIu32, parent - 1);
    else
        buf_add_str(out, "null");
}

static void add_frame_function(struct buf *out, const void *stacks, size_t i)
{
    buf_add_fmt(out, "%" PRIu32, ((const struct pprof_stacks *)stacks)->lines[i].function - 1);
}

static void add_frame_line(struct buf *out, const void *stacks, size_t i)
{
    json_count(out, "", ((const struct pprof_stacks *)stacks)->lines[i].line);
}

static void add_frame_column(struct buf *out, const void *stacks, size_t i)
{
    json_count(out, "", ((const struct pprof_stacks *)stacks)->lines[i].column);
}

/* The place in the categories below: behind "Other" they are as in enum text_kind. */
static void add_frame_category(struct buf *out, const void *of, size_t i)
{
    const struct pprof_stacks *stacks = of;

    buf_add_fmt(out, "%d",
                1 + (int)text_kind_of(stacks->functions[stacks->lines[i].function].file));
}

/* Function i has the texts 2i and 2i + 1: its name and its file; so has source i. */
static void add_function_name(struct buf *out, const void *of, size_t i)
{
    (void)of;
    buf_add_fmt(out, "%zu", 2 * (i - 1));
}

static void add_function_file(struct buf *out, const void *of, size_t i)
{
    (void)of;
    buf_add_fmt(out, "%zu", 2 * (i - 1) + 1);
}

static void add_function_source(struct buf *out, const void *of, size_t i)
{
    const struct pprof_stacks *stacks = of;

    if (stacks->functions[i].file[0])
        buf_add_fmt(out, "%zu", i - 1);
    else
        buf_add_str(out, "null");
}

static void add_function_line(struct buf *out, const void *stacks, size_t i)
{
    json_count(out, "", ((const struct pprof_stacks *)stacks)->functions[i].start_line);
}

static void add_function_texts(struct buf *out, const void *of, size_t i)
{
    const struct pprof_stacks *stacks = of;

    json_html_string(out, stacks->functions[i].name);
    json_html_member(out, ",", stacks->functions[i].file);
}

/* A column of one of the tables that all threads share. */
struct column {
    const char *table; /* NULL: as the one before */
    const char *name;
    enum { OF_NODES, OF_LINES, OF_FUNCTIONS, OF_NOTHING } of;
    void (*add)(struct buf *out, const void *of, size_t i);
    const char *all; /* without `add`: the value in all rows */
};

static const struct column texts = {NULL, "stringArray", OF_FUNCTIONS, add_function_texts, NULL};

static const struct column columns[] = {
    {"stackTable", "frame", OF_NODES, add_node_frame, NULL},
    {NULL, "prefix", OF_NODES, add_node_prefix, NULL},
    {"frameTable", "address", OF_LINES, NULL, "-1"},
    {NULL, "inlineDepth", OF_LINES, NULL, "0"},
    {NULL, "category", OF_LINES, add_frame_category, NULL},
    {NULL, "subcategory", OF_LINES, NULL, "0"},
    {NULL, "func", OF_LINES, add_frame_function, NULL},
    {NULL, "nativeSymbol", OF_LINES, NULL, "null"},
    {NULL, "innerWindowID", OF_LINES, NULL, "null"},
    {NULL, "line", OF_LINES, add_frame_line, NULL},
    {NULL, "column", OF_LINES, add_frame_column, NULL},
    {"funcTable", "name", OF_FUNCTIONS, add_function_name, NULL},
    {NULL, "isJS", OF_FUNCTIONS, NULL, "false"},
    {NULL, "relevantForJS", OF_FUNCTIONS, NULL, "false"},
    {NULL, "resource", OF_FUNCTIONS, NULL, "-1"},
    {NULL, "source", OF_FUNCTIONS, add_function_source, NULL},
    {NULL, "lineNumber", OF_FUNCTIONS, add_function_line, NULL},
    {NULL, "columnNumber", OF_FUNCTIONS, NULL, "null"},
    {"resourceTable", "lib", OF_NOTHING, NULL, "null"},
    {NULL, "name", OF_NOTHING, NULL, "null"},
    {NULL, "host", OF_NOTHING, NULL, "null"},
    {NULL, "type", OF_NOTHING, NULL, "null"},
    {"nativeSymbols", "libIndex", OF_NOTHING, NULL, "null"},
    {NULL, "address", OF_NOTHING, NULL, "null"},
    {NULL, "name", OF_NOTHING, NULL, "null"},
    {NULL, "functionSize", OF_NOTHING, NULL, "null"},
    {"sources", "id", OF_FUNCTIONS, NULL, "null"},
    {NULL, "filename", OF_FUNCTIONS, add_function_file, NULL},
    {NULL, "startLine", OF_FUNCTIONS, NULL, "1"},
    {NULL, "startColumn", OF_FUNCTIONS, NULL, "1"},
    {NULL, "sourceMapURL", OF_FUNCTIONS, NULL, "null"},
};

/* A column: the values of what is numbered from 1 to below `count`. */
static void add_table_column(struct buf *out, const struct column *column, const void *of,
                             size_t count)
{
    buf_add_fmt(out, "\"%s\":[", column->name);
    for (size_t i = 1; i < count; i++) {
        buf_add_str(out, i > 1 ? "," : "");
        if (column->add)
            column->add(out, of, i);
        else
            buf_add_str(out, column->all);
    }
    buf_add_str(out, "]");
}

static void add_shared(const struct pprof_stacks *stacks, const struct tree *tree, struct buf *out)
{
    const size_t counts[] = {tree->count, stacks->line_count, stacks->function_count, 1};

    buf_add_str(out, "\"shared\":{");
    add_table_column(out, &texts, stacks, stacks->function_count);
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        if (columns[i].table)
            buf_add_fmt(out, "%s,\n\"%s\":{\"length\":%zu", i ? "}" : "", columns[i].table,
                        counts[columns[i].of] - 1);
        buf_add_str(out, ",");
        add_table_column(out, &columns[i],
                         columns[i].of == OF_NODES ? (const void *)tree : (const void *)stacks,
                         counts[columns[i].of]);
    }
    buf_add_str(out, "}}");
}

static void add_meta(const struct format_view *view, struct buf *out)
{
    buf_add_fmt(out,
                "{\"meta\":{\"interval\":%.6f,\"startTime\":%.3f,\"processType\":0,"
                "\"stackwalk\":0,\"debug\":false,\"version\":%d,"
                "\"preprocessedProfileVersion\":%d,\"symbolicated\":true,"
                "\"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,"
                "\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],",
                view->period > 0 ? (double)view->period / 1e6 : 1.0, (double)view->time_ns / 1e6,
                GECKO_VERSION, PROCESSED_VERSION);
    buf_add_str(
        out,
        "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Program\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Library\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Runtime\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}],"
        "\"product\":");
    json_html_string(out, view->title);
    /* The viewer shows it in the panel of the profile, under "Show more". */
    buf_add_str(out, ",\"extra\":[{\"label\":\"Time line\",\"entries\":[{\"label\":\"Time\","
                     "\"format\":\"string\",\"value\":\"no times: each stack is one sample, with "
                     "its sum as the weight; their order on the time line means nothing\"}]}]");
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

/* The samples of the rows from `thread` on to `end`; gives when the last of them ends. */
static double add_samples(const struct format_view *view, const struct tree *tree,
                          const struct thread *thread, const struct thread *end, struct buf *out)
{
    const char *unit = view->stacks->types[view->type].unit, *between = "";
    double seconds = text_seconds(unit), now = 0, weight;
    const struct thread *at;
    struct buf times, weights;
    size_t count = 0;
    uint32_t node;

    buf_init(&times, out->max);
    buf_init(&weights, out->max);
    buf_add_str(out, "\"samples\":{\"stack\":[");
    for (at = thread; at < end; at++, count++, between = ",") {
        weight = (double)view->stacks->rows[at->row].values[view->type];
        weight = seconds > 0 ? weight * seconds * 1e3 : weight;
        node = tree->ends[at->row];
        buf_add_str(out, between);
        if (node)
            buf_add_fmt(out, "%" PRIu32, node - 1);
        else
            buf_add_str(out, "null");
        buf_add_fmt(&times, "%s%.6f", between, now);
        buf_add_fmt(&weights, seconds > 0 ? "%s%.6f" : "%s%.0f", between, weight);
        now += weight > 0 ? weight : 0;
    }
    buf_add_str(out, "],\"time\":[");
    buf_add(out, times.data, times.size);
    buf_add_str(out, "],\"weight\":[");
    buf_add(out, weights.data, weights.size);
    buf_add_fmt(out, "],\"weightType\":\"%s\",\"length\":%zu}",
                seconds > 0 ? "tracing-ms" : "samples", count);
    out->failed = out->failed || times.failed || weights.failed;
    buf_finish(&times);
    buf_finish(&weights);
    return now;
}

static void add_gecko_thread(const struct format_view *view, const struct tree *tree,
                             const struct thread *thread, const struct thread *end, bool only,
                             struct buf *out)
{
    bool main = only || strcmp(thread->name, "MainThread") == 0;
    double until;

    buf_add_str(out, "{\"processType\":\"default\",\"processStartupTime\":0,"
                     "\"processShutdownTime\":null,\"registerTime\":0,\"pausedRanges\":[],"
                     "\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],"
                     "\"endTime\":[],\"phase\":[],\"category\":[]},\"processName\":");
    json_html_string(out, view->title);
    json_html_member(out, ",\"name\":", thread->name[0] ? thread->name : "all threads");
    buf_add_fmt(out, ",\"isMainThread\":%s,\"pid\":", json_bool(main));
    add_id(out, thread->pid, thread->pid_number);
    buf_add_str(out, ",\"tid\":");
    add_id(out, thread->tid, thread->tid_number);
    buf_add_str(out, ",\n");
    until = add_samples(view, tree, thread, end, out);
    buf_add_fmt(out, ",\"unregisterTime\":%.6f}", until);
}

static void add_gecko_threads(const struct format_view *view, const struct tree *tree,
                              const struct thread *threads, size_t count, struct buf *out)
{
    const struct thread *at = threads, *last = threads + count, *end;

    buf_add_str(out, ",\n\"threads\":[");
    for (; at < last; at = end) {
        for (end = at + 1; end < last && compare_threads(at, end) == 0;)
            end++;
        buf_add_str(out, at > threads ? ",\n" : "\n");
        add_gecko_thread(view, tree, at, end, at == threads && end == last, out);
    }
    buf_add_str(out, "]}\n");
}

enum pprof_rc write_gecko(const struct format_view *view, struct buf *out)
{
    const struct pprof_stacks *stacks = view->stacks;
    struct thread *threads = malloc((stacks->row_count + 1) * sizeof(*threads));
    size_t i, count = 0;
    struct tree *tree;
    enum pprof_rc rc = threads ? tree_new(stacks, true, &tree) : PPROF_NOMEM;

    if (rc == PPROF_OK) {
        for (i = 0; i < stacks->row_count; i++)
            if (stacks->rows[i].values[view->type] != 0)
                threads[count++] = make_row_thread(&stacks->rows[i], i);
        if (count)
            qsort(threads, count, sizeof(*threads), compare_thread_rows);
        add_meta(view, out);
        add_shared(stacks, tree, out);
        add_gecko_threads(view, tree, threads, count, out);
        tree_free(tree);
        rc = buf_failed(out) ? PPROF_FULL : PPROF_OK;
    }
    free(threads);
    return rc;
}

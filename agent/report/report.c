/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - see report.h. */
#include "agent/report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/report/cells.h"
#include "base/json.h"
#include "base/time_units.h"
#include "base/utf8.h"

/* Columns: 9 + 7 + 9 + 7 for numbers with a blank before each, the rest for text: 100 in all. */
enum { NAME_WIDTH = 34, LOCATION_WIDTH = 27, CELL_SIZE = 32 };

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

/* The character at `text`: gives its size. What is no UTF-8 counts byte by byte, as NULs. */
static size_t decode_report_char(const char *text, uint32_t *out)
{
    size_t size = utf8_decode(text, UTF8_CHAR_MAX, out);

    if (size == 0)
        *out = 0;
    return size > 0 ? size : 1;
}

static size_t char_count(const char *text)
{
    size_t count = 0;
    uint32_t c;

    for (; *text; text += decode_report_char(text, &c))
        count++;
    return count;
}

/* Adds `count` characters of a text; what a terminal would obey instead of showing becomes '?'. */
static void add_chars(struct buf *out, const char *text, size_t count)
{
    size_t size;
    uint32_t c;

    for (; count && *text; text += size, count--) {
        size = decode_report_char(text, &c);
        if (utf8_is_control(c) || utf8_is_bidi_control(c))
            buf_add_str(out, "?");
        else
            buf_add(out, text, size);
    }
}

/* Adds a text cut to `width`: a name loses its end, a path its beginning. */
static void add_cut(struct buf *out, const char *text, size_t width, bool keep_end)
{
    size_t count = char_count(text), skip;
    uint32_t c;

    if (count <= width) {
        add_chars(out, text, count);
        return;
    }
    if (!keep_end) {
        add_chars(out, text, width - 1);
        buf_add_str(out, "…");
        return;
    }
    buf_add_str(out, "…");
    for (skip = count - (width - 1); skip; skip--)
        text += decode_report_char(text, &c);
    add_chars(out, text, width - 1);
}

void report_text(const char *text, struct buf *out)
{
    add_cut(out, text, NAME_WIDTH, false);
}

static void add_blanks(struct buf *out, const char *text, size_t width)
{
    size_t count = char_count(text);

    for (; count < width; count++)
        buf_add_str(out, " ");
}

static const struct value_unit {
    double least, size;
    const char *name;
    int digits; /* behind the point */
} time_units[] = {{1e4 * 3600e9, 3600e9, "h", 0},
                  {3600e9, 3600e9, "h", 2},
                  {60e9, 60e9, "min", 2},
                  {1e9, 1e9, "s", 2},
                  {1e6, 1e6, "ms", 2},
                  {1e3, 1e3, "us", 2},
                  {1, 1, "ns", 0},
                  {0, 1, "", 0}};

/* A value for people, in 9 columns: a time in the unit that leaves few digits, else a number. */
static void format_value(int64_t value, const char *unit, char out[CELL_SIZE])
{
    double exact = (double)value, size = exact < 0 ? -exact : exact;
    const struct value_unit *at = time_units;

    if (strcmp(unit, "nanoseconds") != 0) {
        (void)snprintf(out, CELL_SIZE, size < 1e8 ? "%.0f" : "%.2e", exact);
        return;
    }
    while (size < at->least)
        at++;
    (void)snprintf(out, CELL_SIZE, "%.*f%s", at->digits, exact / at->size, at->name);
}

static double compute_share_percent(int64_t value, int64_t total)
{
    return total ? 100.0 * (double)value / (double)total : 0.0;
}

/* "file:line", or the file if the line is not known. */
static void add_report_location(struct buf *out, const struct pprof_top *top)
{
    struct buf location;

    buf_init(&location, 1 << 20);
    buf_add_str(&location, top->file);
    if (top->start_line > 0)
        buf_add_fmt(&location, ":%" PRId32, top->start_line);
    if (!buf_failed(&location))
        add_cut(out, buf_text(&location), LOCATION_WIDTH, true);
    buf_finish(&location);
}

void report_cell(int64_t value, const char *unit, struct buf *out)
{
    char text[CELL_SIZE];

    format_value(value, unit, text);
    buf_add_fmt(out, " %9s", text);
}

void report_cell_change(int64_t after, int64_t before, const char *unit, struct buf *out)
{
    char text[CELL_SIZE], sign[CELL_SIZE + 1];
    int64_t change;

    if (__builtin_sub_overflow(after, before, &change))
        change = after > before ? INT64_MAX : INT64_MIN;
    format_value(change, unit, text);
    (void)snprintf(sign, sizeof(sign), "%s%s", change > 0 ? "+" : "", text);
    buf_add_fmt(out, " %9s", sign);
}

void report_cell_function(const struct pprof_top *top, struct buf *out)
{
    buf_add_str(out, "  ");
    add_cut(out, top->name, NAME_WIDTH, false);
    add_blanks(out, top->name, NAME_WIDTH);
    buf_add_str(out, " ");
    add_report_location(out, top);
    buf_add_str(out, "\n");
}

static void add_report_row(const struct report *report, const struct pprof_top *top,
                           struct buf *out)
{
    char own[CELL_SIZE], all[CELL_SIZE];

    format_value(top->flat, report->type.unit, own);
    format_value(top->cum, report->type.unit, all);
    buf_add_fmt(out, " %9s %6.1f%% %9s %6.1f%%  ", own,
                compute_share_percent(top->flat, report->total), all,
                compute_share_percent(top->cum, report->total));
    if (report->bold)
        buf_add_str(out, BOLD);
    add_cut(out, top->name, NAME_WIDTH, false);
    if (report->bold)
        buf_add_str(out, PLAIN);
    add_blanks(out, top->name, NAME_WIDTH);
    buf_add_str(out, " ");
    add_report_location(out, top);
    buf_add_str(out, "\n");
}

static void add_time(struct buf *out, int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / (int64_t)NS_PER_S);
    struct tm tm;
    char text[64];

    if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) > 0)
        buf_add_str(out, text);
}

static void add_report_head(const struct report *report, struct buf *out)
{
    char total[CELL_SIZE], duration[CELL_SIZE];

    format_value(report->total, report->type.unit, total);
    format_value(report->duration_ns, "nanoseconds", duration);
    buf_add_fmt(out, "%zu profile%s", report->file_count, report->file_count == 1 ? "" : "s");
    if (report->first_ns > 0) {
        buf_add_str(out, ", ");
        add_time(out, report->first_ns);
        buf_add_str(out, " to ");
        add_time(out, report->last_ns);
        buf_add_str(out, " UTC");
    }
    if (report->duration_ns > 0)
        buf_add_fmt(out, ", %s", duration);
    buf_add_fmt(out, ": %s ", total);
    add_cut(out, report->type.type, NAME_WIDTH / 2, false);
    buf_add_str(out, "\n");
}

static size_t shown(const struct report *report)
{
    return report->top_count < report->top_max ? report->top_count : report->top_max;
}

void report_table(const struct report *report, struct buf *out)
{
    size_t i, count = shown(report);

    add_report_head(report, out);
    if (report->top_count == 0) {
        buf_add_str(out, "No function has any of it; --type chooses another value.\n");
        return;
    }
    if (report->bold)
        buf_add_str(out, BOLD);
    buf_add_fmt(out, "\n %9s %7s %9s %7s  %-*s %s\n", "own", "own %", "total", "total %",
                NAME_WIDTH, "function", "file:line");
    if (report->bold)
        buf_add_str(out, PLAIN);
    for (i = 0; i < count; i++)
        add_report_row(report, &report->tops[i], out);
    if (count < report->top_count)
        buf_add_fmt(out, " and %zu more; --top N shows more\n", report->top_count - count);
}

static void add_json_top(const struct pprof_top *top, struct buf *out)
{
    json_member(out, "{\"func\": ", top->name);
    json_member(out, ", \"file\": ", top->file);
    json_count(out, ", \"line\": ", top->start_line);
    buf_add_fmt(out, ", \"own\": %" PRId64 ", \"total\": %" PRId64 "}", top->flat, top->cum);
}

void report_json(const struct report *report, struct buf *out)
{
    size_t i, count = shown(report);

    buf_add_fmt(out, "{\"files\": %zu, \"start_unix_ns\": %" PRId64 ", \"end_unix_ns\": %" PRId64,
                report->file_count, report->first_ns, report->last_ns);
    buf_add_fmt(out, ", \"duration_ns\": %" PRId64 ", \"type\": ", report->duration_ns);
    json_string(out, report->type.type);
    json_member(out, ", \"unit\": ", report->type.unit);
    buf_add_fmt(out, ", \"total\": %" PRId64 ", \"functions\": [", report->total);
    for (i = 0; i < count; i++) {
        buf_add_str(out, i ? ", " : "");
        add_json_top(&report->tops[i], out);
    }
    buf_add_str(out, "]}\n");
}

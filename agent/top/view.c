/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - see view.h. */
#include "agent/top/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/top/rows.h"
#include "base/time_units.h"

enum {
    HEAD_ROWS = 3,       /* over the names of the columns */
    HEAD_HEIGHT_MIN = 8, /* lower screens have no head, */
    FOOT_HEIGHT_MIN = 6, /* and still lower ones no line of keys */
    LINE_MAX_BYTES = 256
};

static size_t head_rows(size_t height)
{
    return height >= HEAD_HEIGHT_MIN ? HEAD_ROWS : 0;
}

static size_t foot_rows(const struct top_summary *info, size_t height)
{
    return !info->plain && height >= FOOT_HEIGHT_MIN;
}

size_t top_view_page(const struct top_summary *info, size_t height)
{
    size_t taken = head_rows(height) + 1 + foot_rows(info, height);

    return height > taken ? height - taken : 0;
}

/* A row of the screen that is written from the left. */
struct line {
    struct top_cells *cells;
    size_t x, y;
};

static void add_styled_text(struct line *line, enum top_style style, const char *text)
{
    const struct top_box box = {line->x, line->y, line->cells->width};

    line->x += top_cells_put(line->cells, box, style, text);
}

static double compute_percent_of(uint64_t part, uint64_t of)
{
    return of ? 100 * (double)part / (double)of : 0;
}

/* Puts text at the right end of the first row. */
static void put_at_right_edge(struct top_cells *cells, enum top_style style, const char *text)
{
    size_t size = strlen(text);

    if (size < cells->width)
        (void)top_cells_put(cells, (struct top_box){cells->width - size, 0, size}, style, text);
}

static void put_title_line(const struct top_state *state, const struct top_summary *info,
                           struct top_cells *cells)
{
    struct line line = {cells, 0, 0};
    char text[LINE_MAX_BYTES];
    uint64_t seconds = info->elapsed_ns / NS_PER_S;

    line.x = top_cells_put(cells, (struct top_box){0, 0, cells->width / 2}, TOP_STRONG, info->name);
    if (info->pid)
        (void)snprintf(text, sizeof(text), "  process %d", (int)info->pid);
    else
        (void)snprintf(text, sizeof(text), "  %zu process%s", info->processes,
                       info->processes == 1 ? "" : "es");
    add_styled_text(&line, TOP_PLAIN, text);
    if (info->python[0]) {
        add_styled_text(&line, TOP_PLAIN, "  Python ");
        add_styled_text(&line, TOP_PLAIN, info->python);
    }
    (void)snprintf(text, sizeof(text), "  %s %" PRIu64 ":%02" PRIu64,
                   info->ended     ? "ENDED"
                   : state->paused ? "PAUSED"
                                   : "",
                   seconds / 60, seconds % 60);
    put_at_right_edge(cells, info->ended || state->paused ? TOP_ALERT : TOP_PLAIN, text);
}

static size_t live_threads(const struct top_model *model)
{
    const struct top_items *threads = &model->tables[TOP_THREADS];
    size_t i, count = 0;

    for (i = 1; i < threads->count; i++)
        count += top_model_is_live(model, &threads->items[i]);
    return count;
}

/* A rate as it is shown: whole from 10 Hz on. */
static double shown_rate(double rate_hz)
{
    return rate_hz >= 10 ? (double)(uint64_t)(rate_hz + 0.5) : rate_hz;
}

/* What it costs, and how good it is. */
static void put_figures(const struct top_model *model, const struct top_summary *info,
                        struct top_cells *cells)
{
    const struct top_counts *counts = &model->recent.counts;
    struct line line = {cells, 0, 1};
    uint64_t ticks = counts->samples + counts->missed;
    double rate_hz = ticks ? info->rate_hz * (double)counts->samples / (double)ticks : 0;
    size_t threads = live_threads(model);
    char text[LINE_MAX_BYTES];

    (void)snprintf(
        text, sizeof(text),
        "CPU %.1f%%  pystrobe %.1f%%  %.5g of %.5g Hz  torn %.1f%%  %zu thread%s",
        compute_percent_of((uint64_t)model->recent.values[VALUE_CPU], counts->duration_ns),
        compute_percent_of(counts->own_cpu_ns, counts->duration_ns), shown_rate(rate_hz),
        shown_rate(info->rate_hz), compute_percent_of(counts->torn, counts->torn + counts->stacks),
        threads, threads == 1 ? "" : "s");
    add_styled_text(&line, TOP_PLAIN, text);
    (void)snprintf(text, sizeof(text), "  %zu unreadable", info->refused);
    if (info->refused > 0)
        add_styled_text(&line, TOP_ALERT, text);
}

static const char *const kinds[TOP_KINDS] = {
    [TOP_FUNCTIONS] = "functions", [TOP_LINES] = "lines", [TOP_THREADS] = "threads"};
static const char *const values[VALUES] = {
    [VALUE_CPU] = "cpu", [VALUE_WALL] = "wall", [VALUE_GIL] = "gil"};
static const char *const sorts[TOP_SORTS] = {
    [TOP_SORT_OWN] = "own", [TOP_SORT_TOTAL] = "total", [TOP_SORT_NAME] = "name"};

/* What the list is of, as a sentence. */
static void put_choice(const struct top_model *model, const struct top_state *state,
                       struct top_cells *cells)
{
    struct line line = {cells, 0, 2};
    char text[LINE_MAX_BYTES];

    add_styled_text(&line, TOP_STRONG, kinds[state->kind]);
    if (state->kind == TOP_LINES && state->function) {
        add_styled_text(&line, TOP_PLAIN, " of ");
        add_styled_text(&line, TOP_PLAIN,
                        model->tables[TOP_FUNCTIONS].items[state->function].key.name);
    }
    add_styled_text(&line, TOP_PLAIN, " by ");
    /* A thread's own time is its total. */
    if (state->kind != TOP_THREADS || state->sort == TOP_SORT_NAME) {
        add_styled_text(&line, TOP_STRONG, sorts[state->sort]);
        add_styled_text(&line, TOP_PLAIN, state->sort == TOP_SORT_NAME ? ", " : " ");
    }
    add_styled_text(&line, TOP_STRONG, values[state->value]);
    (void)snprintf(text, sizeof(text), " time, %% of %s%.1f s", state->whole ? "all " : "the last ",
                   (double)(state->whole ? model->whole : model->recent).counts.duration_ns /
                       (double)NS_PER_S);
    add_styled_text(&line, TOP_PLAIN, text);
    if (state->filter[0]) {
        add_styled_text(&line, TOP_PLAIN, ", filter: ");
        add_styled_text(&line, TOP_STRONG, state->filter);
    }
}

static const char long_foot[] =
    "q quit  ? help  c/w/g cpu/wall/gil  o/t sort  f/l/T list  / filter  space pause";
static const char short_foot[] = "q quit  ? help  c/w/g  o/t  f/l/T  / filter  space pause";

/* The keys, or the filter while it is typed. */
static void put_foot(const struct top_state *state, struct top_cells *cells)
{
    struct line line = {cells, 0, cells->height - 1};

    if (!state->editing) {
        add_styled_text(&line, TOP_FAINT,
                        cells->width < strlen(long_foot) ? short_foot : long_foot);
        return;
    }
    add_styled_text(&line, TOP_STRONG, "filter: ");
    add_styled_text(&line, TOP_PLAIN, state->filter);
    add_styled_text(&line, TOP_CURSOR, " ");
}

static const struct {
    const char *keys, *text;
} help[] = {
    {"c w g, Tab", "CPU, wall or GIL time"},
    {"o t n", "sort by own time, total time or name"},
    {"f l T", "functions, lines, threads"},
    {"Enter", "lines of the marked function; Esc: back"},
    {"/", "filter by name or file; Esc clears it"},
    {"a", "% of all time, or of the last seconds"},
    {"space", "pause: it is sampled on, and not shown"},
    {"arrows PgUp PgDn", "move the mark; also j k Home End"},
    {"q", "leave"},
    {"", ""},
    {"own", "in itself; total: also in what it called"},
    {"100%", "one CPU, thread or the GIL all the time"},
};

static void put_help(struct top_cells *cells)
{
    enum { KEYS_WIDTH = 19 };
    size_t i, y, rows = sizeof(help) / sizeof(help[0]);

    for (i = 0; i <= rows; i++) {
        y = i + (cells->height > rows + 1);
        if (i == 0) {
            (void)top_cells_put(cells, (struct top_box){1, y, cells->width}, TOP_STRONG,
                                "pystrobe top: the keys (any key goes on)");
            continue;
        }
        (void)top_cells_put(cells, (struct top_box){1, y, KEYS_WIDTH - 1}, TOP_STRONG,
                            help[i - 1].keys);
        (void)top_cells_put(cells, (struct top_box){KEYS_WIDTH, y, cells->width}, TOP_PLAIN,
                            help[i - 1].text);
    }
}

void top_view(const struct top_model *model, const struct top_list *list,
              const struct top_state *state, const struct top_summary *info,
              struct top_cells *cells)
{
    size_t head = head_rows(cells->height), page = top_view_page(info, cells->height), i;

    if (cells->width == 0 || cells->height == 0)
        return;
    if (state->help) {
        put_help(cells);
        return;
    }
    if (head > 0) {
        put_figures(model, info, cells);
        put_choice(model, state, cells);
        put_title_line(state, info, cells);
    }
    top_rows_head(state, cells, head);
    for (i = 0; i < page && state->first + i < list->count; i++) {
        top_rows_item(model, state, list->items[state->first + i], cells, head + 1 + i);
        if (!info->plain && state->first + i == state->cursor)
            top_cells_paint(cells, head + 1 + i, TOP_CURSOR);
    }
    if (list->count == 0)
        (void)top_cells_put(cells, (struct top_box){1, head + 1, cells->width}, TOP_FAINT,
                            state->filter[0] ? "nothing matches the filter"
                                             : "nothing has had any of it yet");
    if (foot_rows(info, cells->height) || state->editing)
        put_foot(state, cells);
}

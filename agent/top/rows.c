/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - see rows.h. */
#include "agent/top/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/report/cells.h"

enum {
    SHARE_WIDTH = 7, /* with the blank before it */
    TIME_WIDTH = 10,
    TIMES_WIDTH_MIN = 56,    /* narrower screens have no times, */
    LOCATION_WIDTH_MIN = 72, /* and places only behind names */
    TID_WIDTH = 8,
    STATUS_WIDTH = 9,
    TEXT_MAX = 64
};

#define HOT_SHARE  50.0
#define WARM_SHARE 10.0

/* Where the columns of functions and lines begin. */
struct columns {
    bool times;
    size_t name, name_width, location, location_width; /* location_width 0: there is none */
};

static struct columns columns_of(size_t width)
{
    struct columns c = {.times = width >= TIMES_WIDTH_MIN};
    size_t left;

    c.name = 2 * SHARE_WIDTH + (c.times ? 2 * TIME_WIDTH : 0) + 2;
    left = width > c.name ? width - c.name : 0;
    c.location_width = width >= LOCATION_WIDTH_MIN ? left * 2 / 5 : 0;
    c.name_width = left - c.location_width - (c.location_width > 0);
    c.location = c.name + c.name_width + 1;
    return c;
}

/* Puts text at the right end of a column. */
static void put_right_aligned(struct top_cells *cells, struct top_box box, enum top_style style,
                              const char *text)
{
    size_t size = strlen(text), skip = size < box.width ? box.width - size : 0;

    (void)top_cells_put(cells, (struct top_box){box.x + skip, box.y, box.width - skip}, style,
                        text);
}

static void head_of_threads(struct top_cells *cells, size_t y)
{
    static const char *const shares[] = {"CPU%", "GIL%", "WAIT%"};
    size_t i, x = TID_WIDTH + STATUS_WIDTH + 1;

    put_right_aligned(cells, (struct top_box){0, y, TID_WIDTH}, TOP_HEAD, "TID");
    (void)top_cells_put(cells, (struct top_box){TID_WIDTH + 1, y, STATUS_WIDTH}, TOP_HEAD,
                        "STATUS");
    for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++, x += SHARE_WIDTH)
        put_right_aligned(cells, (struct top_box){x, y, SHARE_WIDTH}, TOP_HEAD, shares[i]);
    (void)top_cells_put(cells, (struct top_box){x + 2, y, cells->width}, TOP_HEAD,
                        "THREAD: WHAT IT DOES");
}

void top_rows_head(const struct top_state *state, struct top_cells *cells, size_t y)
{
    struct columns c = columns_of(cells->width);
    size_t x = 2 * SHARE_WIDTH;

    if (state->kind == TOP_THREADS) {
        head_of_threads(cells, y);
        top_cells_paint(cells, y, TOP_HEAD);
        return;
    }
    put_right_aligned(cells, (struct top_box){0, y, SHARE_WIDTH}, TOP_HEAD, "OWN%");
    put_right_aligned(cells, (struct top_box){SHARE_WIDTH, y, SHARE_WIDTH}, TOP_HEAD, "TOTAL%");
    if (c.times) {
        put_right_aligned(cells, (struct top_box){x, y, TIME_WIDTH}, TOP_HEAD, "OWN");
        put_right_aligned(cells, (struct top_box){x + TIME_WIDTH, y, TIME_WIDTH}, TOP_HEAD,
                          "TOTAL");
    }
    (void)top_cells_put(cells, (struct top_box){c.name, y, c.name_width}, TOP_HEAD, "FUNCTION");
    if (c.location_width > 0)
        (void)top_cells_put(cells, (struct top_box){c.location, y, c.location_width}, TOP_HEAD,
                            "FILE:LINE");
    top_cells_paint(cells, y, TOP_HEAD);
}

/* Puts a share of real time: 100 % is one CPU, one thread or the GIL all the time. */
static void put_share(const struct top_model *model, const struct top_state *state, int64_t value,
                      struct top_cells *cells, struct top_box box)
{
    uint64_t of = (state->whole ? model->whole : model->recent).counts.duration_ns;
    double share = of ? 100 * (double)value / (double)of : 0;
    char text[TEXT_MAX];

    (void)snprintf(text, sizeof(text), share < 10000 ? "%.1f" : "%.0f", share);
    put_right_aligned(cells, box,
                      share >= HOT_SHARE    ? TOP_HOT
                      : share >= WARM_SHARE ? TOP_WARM
                                            : TOP_PLAIN,
                      text);
}

/* Puts a time since the start. */
static void put_time(int64_t value, struct top_cells *cells, struct top_box box)
{
    struct buf text;

    buf_init(&text, TEXT_MAX);
    report_cell(value, "nanoseconds", &text);
    if (!buf_failed(&text))
        put_right_aligned(cells, box, TOP_PLAIN, buf_text(&text));
    buf_finish(&text);
}

/* Puts "file:line", or with `name` "name:line". */
static void put_row_location(const char *text, int32_t line, struct top_cells *cells,
                             struct top_box box, enum top_style style)
{
    size_t size = strlen(text) + TEXT_MAX;
    char *location = malloc(size);

    if (!location)
        return; /* the row has a hole */
    (void)snprintf(location, size, line > 0 ? "%s:%" PRId32 : "%s", text, line);
    (void)top_cells_put_end(cells, box, style, location);
    free(location);
}

static void put_names(const struct top_key *names, int32_t line, bool with_line,
                      struct top_cells *cells, size_t y)
{
    struct columns c = columns_of(cells->width);
    const struct top_box box = {c.name, y, c.name_width};

    if (c.location_width == 0 && with_line)
        put_row_location(names->name, line, cells, box, TOP_STRONG);
    else
        (void)top_cells_put(cells, box, TOP_STRONG, names->name);
    if (c.location_width > 0)
        put_row_location(names->file, line, cells,
                         (struct top_box){c.location, y, c.location_width}, TOP_FAINT);
}

static const char *get_thread_state_text(const struct top_model *model,
                                         const struct top_item *thread)
{
    if (thread->key.tid == 0)
        return "";
    if (!top_model_is_live(model, thread))
        return "ended";
    switch (thread->state) {
    case 'R':
        return "runs";
    case 'S':
    case 'I':
        return "sleeps";
    case 'D':
        return "disk";
    case 'T':
    case 't':
        return "stopped";
    default:
        return "?";
    }
}

static void put_thread(const struct top_model *model, const struct top_state *state,
                       const struct top_item *thread, struct top_cells *cells, size_t y)
{
    static const enum service_value shares[] = {VALUE_CPU, VALUE_GIL, VALUE_WAIT};
    const struct top_sum *sum = top_sum_of(state, thread);
    size_t i, x = TID_WIDTH + STATUS_WIDTH + 1;
    char text[TEXT_MAX];

    (void)snprintf(text, sizeof(text), "%d", (int)thread->key.tid);
    put_right_aligned(cells, (struct top_box){0, y, TID_WIDTH}, TOP_PLAIN,
                      thread->key.tid ? text : "");
    (void)top_cells_put(cells, (struct top_box){TID_WIDTH + 1, y, STATUS_WIDTH - 1}, TOP_PLAIN,
                        get_thread_state_text(model, thread));
    for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++, x += SHARE_WIDTH)
        put_share(model, state, sum->total[shares[i]], cells, (struct top_box){x, y, SHARE_WIDTH});
    x += 2;
    x += top_cells_put(cells, (struct top_box){x, y, cells->width}, TOP_STRONG,
                       thread->key.tid ? thread->key.name : cpu_class_frame(CPU_BETWEEN));
    if (!top_model_is_live(model, thread))
        return;
    x += top_cells_put(cells, (struct top_box){x, y, cells->width}, TOP_PLAIN, ": ");
    (void)top_cells_put(cells, (struct top_box){x, y, cells->width}, TOP_FAINT,
                        model->tables[TOP_FUNCTIONS].items[thread->doing].key.name);
}

void top_rows_item(const struct top_model *model, const struct top_state *state, uint32_t index,
                   struct top_cells *cells, size_t y)
{
    const struct top_item *item = &model->tables[state->kind].items[index];
    const struct top_sum *sum = top_sum_of(state, item);
    size_t x = 2 * SHARE_WIDTH;

    if (state->kind == TOP_THREADS) {
        put_thread(model, state, item, cells, y);
        return;
    }
    put_share(model, state, sum->own[state->value], cells, (struct top_box){0, y, SHARE_WIDTH});
    put_share(model, state, sum->total[state->value], cells,
              (struct top_box){SHARE_WIDTH, y, SHARE_WIDTH});
    if (columns_of(cells->width).times) {
        put_time(item->whole.own[state->value], cells, (struct top_box){x, y, TIME_WIDTH});
        put_time(item->whole.total[state->value], cells,
                 (struct top_box){x + TIME_WIDTH, y, TIME_WIDTH});
    }
    put_names(top_names_of(model, state->kind, item), item->key.line, state->kind == TOP_LINES,
              cells, y);
}

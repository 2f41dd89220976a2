/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c - see cells.h. */
#include "agent/top/cells.h"

#include <stdlib.h>
#include <string.h>

#include "agent/host/escape.h"
#include "base/utf8.h"

static const struct top_cell blank = {.text = " ", .size = 1, .width = 1};

bool top_cells_init(struct top_cells *cells, size_t width, size_t height, bool ascii)
{
    width = width < TOP_SIDE_MAX ? width : TOP_SIDE_MAX;
    height = height < TOP_SIDE_MAX ? height : TOP_SIDE_MAX;
    *cells = (struct top_cells){.width = width, .height = height, .ascii = ascii};
    cells->cells = malloc((width * height + 1) * sizeof(*cells->cells));
    for (size_t i = 0; cells->cells && i < width * height; i++)
        cells->cells[i] = blank;
    return cells->cells != NULL;
}

void top_cells_finish(struct top_cells *cells)
{
    free(cells->cells);
    *cells = (struct top_cells){0};
}

/* The next character as these cells can show it. */
static struct escape_char next_cell_char(const struct top_cells *cells, const char *text)
{
    struct escape_char next = escape_next(text, strnlen(text, UTF8_CHAR_MAX));

    if (cells->ascii && (unsigned char)next.text[0] >= 0x80) {
        next.text[0] = '?';
        next.size = 1; /* its width stays, if there is any: columns keep their places */
    }
    return next;
}

static size_t measure_cell_text(const struct top_cells *cells, const char *text)
{
    struct escape_char next;
    size_t width = 0;

    for (; *text; text += next.taken) {
        next = next_cell_char(cells, text);
        width += next.width;
    }
    return width;
}

/* Puts a character of one or two columns into its cells. */
static void set_cell(struct top_cell *cell, const char *text, size_t size, size_t width)
{
    memcpy(cell->text, text, size);
    cell->size = (uint8_t)size;
    cell->width = (uint8_t)width;
}

/* Puts one character, or its escape, at `cell`. */
static void put_char(struct top_cell *cell, const struct escape_char *next, enum top_style style)
{
    bool wide = next->width == 2 && (unsigned char)next->text[0] >= 0x80;

    for (size_t i = 0; i < next->width; i++)
        cell[i].style = (uint8_t)style;
    if (wide) {
        set_cell(cell, next->text, next->size, 2);
        cell[1].size = cell[1].width = 0;
        return;
    }
    for (size_t i = 0; i < next->width; i++)
        set_cell(&cell[i], next->size == next->width ? &next->text[i] : next->text,
                 next->size == next->width ? 1 : next->size, 1);
}

/* Adds what joins the character before it, if there is room in its cell. */
static void join_char(struct top_cell *cell, const struct escape_char *next)
{
    if (cell->size > 0 && cell->size + next->size <= TOP_CELL_BYTES && cell->text[0] != ' ') {
        memcpy(cell->text + cell->size, next->text, next->size);
        cell->size = (uint8_t)(cell->size + next->size);
    }
}

/* Blanks the other half of a character of two columns that was at one end of what is written. */
static void blank_halves(struct top_cell *begin, size_t used, const struct top_cells *cells,
                         size_t x)
{
    if (x > 0 && begin[-1].width == 2)
        begin[-1] = blank;
    if (x + used < cells->width && begin[used].size == 0)
        begin[used] = blank;
}

/* Puts what fits of a text that is not cut. */
static size_t put_cell_text(struct top_cells *cells, struct top_box box, enum top_style style,
                            const char *text)
{
    struct top_cell *row = &cells->cells[box.y * cells->width + box.x], *last = NULL;
    struct escape_char next;
    size_t used = 0;

    for (; *text; text += next.taken) {
        next = next_cell_char(cells, text);
        if (next.width == 0) {
            if (last && !cells->ascii)
                join_char(last, &next);
            continue;
        }
        if (used + next.width > box.width)
            break;
        put_char(&row[used], &next, style);
        last = &row[used];
        used += next.width;
    }
    if (used > 0)
        blank_halves(row, used, cells, box.x);
    return used;
}

/* Cuts a box to the cells that there are. False: none are left. */
static bool cut_box(const struct top_cells *cells, struct top_box *box)
{
    if (box->y >= cells->height || box->x >= cells->width)
        return false;
    if (box->width > cells->width - box->x)
        box->width = cells->width - box->x;
    return box->width > 0;
}

static const char *ellipsis(const struct top_cells *cells)
{
    return cells->ascii ? "~" : "…";
}

size_t top_cells_put(struct top_cells *cells, struct top_box box, enum top_style style,
                     const char *text)
{
    size_t used;

    if (!cut_box(cells, &box))
        return 0;
    if (measure_cell_text(cells, text) <= box.width)
        return put_cell_text(cells, box, style, text);
    box.width--;
    used = put_cell_text(cells, box, style, text);
    box.x += used;
    box.width = 1;
    return used + put_cell_text(cells, box, style, ellipsis(cells));
}

size_t top_cells_put_end(struct top_cells *cells, struct top_box box, enum top_style style,
                         const char *text)
{
    struct escape_char next;
    size_t width = measure_cell_text(cells, text);

    if (!cut_box(cells, &box))
        return 0;
    if (width <= box.width)
        return put_cell_text(cells, box, style, text);
    for (; *text && width > box.width - 1; text += next.taken) {
        next = next_cell_char(cells, text);
        width -= next.width;
    }
    (void)put_cell_text(cells, (struct top_box){box.x, box.y, 1}, style, ellipsis(cells));
    box.x++;
    box.width--;
    return 1 + (box.width > 0 ? put_cell_text(cells, box, style, text) : 0);
}

void top_cells_paint(struct top_cells *cells, size_t y, enum top_style style)
{
    for (size_t x = 0; y < cells->height && x < cells->width; x++)
        cells->cells[y * cells->width + x].style = (uint8_t)style;
}

void top_cells_text(const struct top_cells *cells, struct buf *out)
{
    const struct top_cell *row;
    size_t x, y, end;

    for (y = 0; y < cells->height; y++) {
        row = &cells->cells[y * cells->width];
        end = cells->width;
        while (end > 0 && row[end - 1].size == 1 && row[end - 1].text[0] == ' ')
            end--;
        for (x = 0; x < end; x++)
            buf_add(out, row[x].text, row[x].size);
        buf_add_str(out, "\n");
    }
}

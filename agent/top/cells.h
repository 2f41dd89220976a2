/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h - a screen of pystrobe top as rows of cells, before it goes to any terminal.
 *
 * Foreign text is put into cells as escape.h shows it: one character a cell, with what joins
 * it; one that takes two columns leaves the cell behind it empty.
 *
 * Shape:   top_cells_init, put texts, read the cells or top_cells_text, top_cells_finish.
 */
#ifndef AGENT_TOP_CELLS_H
#define AGENT_TOP_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    TOP_CELL_BYTES = 16,
    TOP_SIDE_MAX = 1024 /* rows, columns; of a larger terminal the rest stays empty */
};

/* How a cell looks: what it is, the screen knows the colours. */
enum top_style {
    TOP_PLAIN,
    TOP_STRONG, /* names in the head, what is chosen */
    TOP_HEAD,   /* over the columns */
    TOP_HOT,
    TOP_WARM,
    TOP_FAINT,
    TOP_ALERT,
    TOP_CURSOR,
    TOP_STYLES
};

struct top_cell {
    char text[TOP_CELL_BYTES]; /* UTF-8, no NUL behind it if it is full */
    uint8_t size;              /* 0: the right half of the cell before */
    uint8_t width;             /* columns */
    uint8_t style;             /* enum top_style */
};

struct top_cells {
    struct top_cell *cells; /* owned: rows of `width` cells */
    size_t width, height;
    bool ascii; /* the terminal shows no other characters */
};

/* A place for text: `width` cells from column `x` on. */
struct top_box {
    size_t x, y, width;
};

/* Makes blank cells; sides are cut at TOP_SIDE_MAX. False: out of memory. */
MUST_CHECK bool top_cells_init(struct top_cells *cells, size_t width, size_t height, bool ascii);

/* Puts text into a box; of one that is too long the end is left out, or with `keep_end` its
 * beginning, which an ellipsis says. Gives the columns used. */
size_t top_cells_put(struct top_cells *cells, struct top_box box, enum top_style style,
                     const char *text);
size_t top_cells_put_end(struct top_cells *cells, struct top_box box, enum top_style style,
                         const char *text);

/* Gives a whole row another style. */
void top_cells_paint(struct top_cells *cells, size_t y, enum top_style style);

/* Appends the rows as text, without the blanks at their ends. */
void top_cells_text(const struct top_cells *cells, struct buf *out);

void top_cells_finish(struct top_cells *cells);

#endif

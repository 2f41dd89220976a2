/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h - a screen of pystrobe top as rows of cells, independent of any terminal.
 *
 * Foreign text is escaped as escape.h says. A cell has one character with its combining marks; a
 * character of two columns leaves the next cell empty.
 *
 * Shape:   top_cells_init; top_cells_put and the like; read the cells or top_cells_text;
 *          top_cells_finish.
 */
#ifndef AGENT_TOP_CELLS_H
#define AGENT_TOP_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    TOP_CELL_BYTES = 16,
    TOP_SIDE_MAX = 1024 /* most rows, and most columns; the rest of a larger terminal stays empty */
};

/* Meaning of a cell; screen.c has the colours. */
enum top_style {
    TOP_PLAIN,
    TOP_STRONG, /* names, and what the user has chosen */
    TOP_HEAD,   /* names of columns */
    TOP_HOT,    /* a large share */
    TOP_WARM,   /* a middle share */
    TOP_FAINT,  /* less important text */
    TOP_ALERT,  /* a state that the user should notice */
    TOP_CURSOR, /* the marked row */
    TOP_STYLES
};

struct top_cell {
    char text[TOP_CELL_BYTES]; /* UTF-8, without a NUL */
    uint8_t size;              /* bytes of `text`; 0: the right half of the cell before */
    uint8_t width;             /* columns: 1 or 2; 0: the right half of the cell before */
    uint8_t style;             /* enum top_style */
};

struct top_cells {
    struct top_cell *cells; /* owned: `height` rows of `width` cells */
    size_t width, height;
    bool ascii; /* the terminal shows ASCII only: other characters become '?' */
};

/* A place for text: `width` cells from column `x` on. */
struct top_box {
    size_t x, y, width;
};

/* Makes blank cells; sides are cut at TOP_SIDE_MAX. False: out of memory. */
MUST_CHECK bool top_cells_init(struct top_cells *cells, size_t width, size_t height, bool ascii);

/* Put text into a box, as far as the box is on the screen. An ellipsis replaces the end of a text
 * that is too long; in top_cells_put_end, its beginning. Give the columns used. */
size_t top_cells_put(struct top_cells *cells, struct top_box box, enum top_style style,
                     const char *text);
size_t top_cells_put_end(struct top_cells *cells, struct top_box box, enum top_style style,
                         const char *text);

/* Sets the style of a whole row. */
void top_cells_paint(struct top_cells *cells, size_t y, enum top_style style);

/* Appends the rows as text, a line each, without the blanks at their ends. */
void top_cells_text(const struct top_cells *cells, struct buf *out);

void top_cells_finish(struct top_cells *cells);

#endif

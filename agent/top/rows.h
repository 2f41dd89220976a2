/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - lays out the table of pystrobe top: the names of its columns, and a row an item. */
#ifndef AGENT_TOP_ROWS_H
#define AGENT_TOP_ROWS_H

#include "agent/top/cells.h"
#include "agent/top/list.h"

/* Puts the names of the columns into row `y`. */
void top_rows_head(const struct top_state *state, struct top_cells *cells, size_t y);

/* Puts the item with this index in the table of state->kind into row `y`. */
void top_rows_item(const struct top_model *model, const struct top_state *state, uint32_t index,
                   struct top_cells *cells, size_t y);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cells.h - table cells of a report, shared by report.c and changes.c. */
#ifndef AGENT_REPORT_CELLS_H
#define AGENT_REPORT_CELLS_H

#include "base/buf.h"
#include "pprof/pprof.h"

/* Appends a value with its unit, right-aligned in 10 columns. */
void report_cell(int64_t value, const char *unit, struct buf *out);

/* Appends `after` - `before` in the same form, with its sign. */
void report_cell_change(int64_t after, int64_t before, const char *unit, struct buf *out);

/* Appends a function's name and location, and ends the line. */
void report_cell_function(const struct pprof_top *top, struct buf *out);

#endif

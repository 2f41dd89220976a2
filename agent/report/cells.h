/* SPDX-License-Identifier: Apache-2.0 */
/* cells.h - the cells that report.c's tables are made of. */
#ifndef AGENT_REPORT_CELLS_H
#define AGENT_REPORT_CELLS_H

#include "base/buf.h"
#include "pprof/pprof.h"

/* Appends a value in 10 columns. */
void report_cell(int64_t value, const char *unit, struct buf *out);

/* Appends by how much a value has changed in 10 columns, with its sign. */
void report_cell_change(int64_t after, int64_t before, const char *unit, struct buf *out);

/* Appends a function and its place, and ends the line. */
void report_cell_function(const struct pprof_top *top, struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* gecko_tables.h - writes the tables that all threads of a profiler.firefox.com file share. */
#ifndef FORMATS_GECKO_TABLES_H
#define FORMATS_GECKO_TABLES_H

#include "base/buf.h"
#include "formats/tree.h"

/*
 * Appends the member "shared": texts, functions, lines, and stacks. `tree` must be by line; its
 * node n becomes stack n - 1. Errors: a failure sets out->failed.
 */
void gecko_tables(const struct pprof_stacks *stacks, const struct tree *tree, struct buf *out);

#endif

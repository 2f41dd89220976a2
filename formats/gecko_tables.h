/* SPDX-License-Identifier: Apache-2.0 */
/* gecko_tables.h - the part of a file for profiler.firefox.com that all of its threads share. */
#ifndef FORMATS_GECKO_TABLES_H
#define FORMATS_GECKO_TABLES_H

#include "base/buf.h"
#include "formats/tree.h"

/*
 * Appends the member "shared": texts, functions, lines, and the stacks of `tree`, which is by line.
 * Node n of the tree has the number n - 1 there.
 *
 * Errors: `out` remembers them.
 */
void gecko_tables(const struct pprof_stacks *stacks, const struct tree *tree, struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linetable.h - which source line an instruction belongs to.
 *
 * A code object of CPython 3.11 and later carries a location table: a stream of
 * entries, each for 1 to 8 code units in turn. The first byte of an entry has bit 7
 * set, a kind in bits 3 to 6 and its length less one in bits 0 to 2; what follows
 * depends on the kind, and all further bytes have bit 7 clear. An entry moves the
 * line by a difference; kind 15 means "no line" and leaves it where it was.
 * Source: CPython's InternalDocs/code_objects.md.
 */
#ifndef UNWIND_LINETABLE_H
#define UNWIND_LINETABLE_H

#include <stddef.h>
#include <stdint.h>

enum linetable_format { LINES_LNOTAB, LINES_3_10, LINES_3_11 };

/*
 * The line of code unit `index` of a code object that begins at `first_line`.
 *
 * Gives: `first_line` for an index before the first unit (not started yet); 0 where
 *        the instruction has no line, past the table, or in a corrupt table.
 */
int32_t linetable_line(const unsigned char *table, size_t size, int32_t first_line, int32_t index);

#endif

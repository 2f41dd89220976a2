/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linetable.h - which place in the source an instruction belongs to.
 *
 * A code object has its instructions as code units of two bytes, and a table of bytes
 * that says where they come from. CPython has had three formats for it since 3.6; all of
 * them are streams that can only be read from the start, and in all of them a line is
 * what the line before it was, plus a difference that may be negative.
 *
 * lnotab (3.6 to 3.9): pairs of bytes, [bytes of code to skip, 0 to 255] [line difference,
 * -128 to 127]. The line of an instruction is that of the last pair whose place is not
 * beyond it. What does not fit one pair takes several, with 0 for the other number. Each
 * instruction has a line. CPython: Objects/lnotab_notes.txt, PyCode_Addr2Line.
 *
 * PEP 626 (3.10): pairs too, [bytes of code in this range, 0 to 254] [line difference,
 * -127 to 127, or -128]. Here the difference is applied before the range: it is the
 * range's own line that it leads to. -128 says that the range has no line, and leaves the
 * line where it was for the next. An empty range only moves the line. CPython:
 * Objects/lnotab_notes.txt of 3.10.
 *
 * Locations (3.11 and later, PEP 657): entries of one to many bytes, each for 1 to 8 code
 * units in turn. Only the first byte of an entry has bit 7 set; it has a kind in bits 3 to
 * 6 and the number of units less one in bits 0 to 2. The kind says what follows:
 *
 *     0 to 9    same line; one byte completes the columns, which lie close together
 *     10 to 12  line + kind - 10; two bytes, the columns
 *     13        line + a signed number; no columns
 *     14        line + a signed number; numbers for the end line less the line, and for
 *               both columns plus 1 (0 is none)
 *     15        no line: leaves the line where it was for the next
 *
 * A number has 6 bits a byte, lowest first, bit 6 saying that more follow; a signed one
 * has its sign in bit 0. CPython: InternalDocs/code_objects.md.
 *
 * Whatever the bytes are, nothing outside of the table is read. In a table that breaks
 * the rules, the units behind the break have no line.
 */
#ifndef UNWIND_LAYOUTS_LINETABLE_H
#define UNWIND_LAYOUTS_LINETABLE_H

#include <stddef.h>
#include <stdint.h>

enum linetable_format {
    LINES_LNOTAB, /* co_lnotab of 3.6 to 3.9 */
    LINES_3_10,   /* co_linetable of 3.10 */
    LINES_3_11    /* co_linetable of 3.11 and later */
};

/* Where an instruction comes from. Lines and columns count from 1; 0: not known. */
struct linetable_position {
    int32_t line, end_line;     /* end_line: 3.11 and later */
    int32_t column, end_column; /* bytes of the lines' UTF-8; end_column is the first beyond */
};

/*
 * Finds the line of code unit `unit` of a code object that begins at `first_line`.
 *
 * Gives: `first_line` for a unit before the first (the frame has not started); 0 where
 *        the instruction has no line, past the table, or in a corrupt table.
 * Cost:  one pass over the table up to the unit.
 */
int32_t linetable_line(enum linetable_format format, const unsigned char *table, size_t size,
                       int32_t first_line, int32_t unit);

/*
 * The same, but of an instruction without a line gives that of the last one before it that has one,
 * in the order of the table. Compilers put such instructions around the handlers of exceptions, for
 * what no source says: a frame that stands there is in the midst of a statement all the same.
 */
int32_t linetable_line_around(enum linetable_format format, const unsigned char *table, size_t size,
                              int32_t first_line, int32_t unit);

/* The same with the end and the columns, as far as the table tells them. */
struct linetable_position linetable_position(enum linetable_format format,
                                             const unsigned char *table, size_t size,
                                             int32_t first_line, int32_t unit);

#endif

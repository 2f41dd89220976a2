/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linetable.h - the place in the source that an instruction belongs to.
 *
 * A code object has instructions, in code units of two bytes, and a table of bytes that
 * gives their places. CPython has had three formats for it since 3.6. All of them can only
 * be read from the start, because each line is stored as its difference from the line
 * before, which may be negative.
 *
 * lnotab (3.6 to 3.9): pairs of bytes, [bytes of code to skip, 0 to 255] [line difference,
 * -128 to 127]. The line of an instruction is that of the last pair whose place is not
 * beyond it. A number that does not fit takes several pairs, with 0 for the other number.
 * Each instruction has a line. CPython: Objects/lnotab_notes.txt, PyCode_Addr2Line.
 *
 * PEP 626 (3.10): pairs too, [bytes of code in this range, 0 to 254] [line difference,
 * -127 to 127, or -128]. The difference leads from the line before to the line of this
 * range. -128: the range has no line, and the next range counts from the line before. An
 * empty range only moves the line. CPython: Objects/lnotab_notes.txt of 3.10.
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
 *     15        no line; the next entry counts from the line before
 *
 * A number has 6 bits a byte, lowest first; bit 6 is set if more follow. The sign of a
 * signed number is in bit 0. CPython: InternalDocs/code_objects.md.
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
 * Gives: `first_line` for a negative unit (the frame has not started). 0: the instruction has
 *        no line, or the table ends or is corrupt before it. Past an lnotab: its last line.
 * Cost:  one pass over the table up to the unit.
 */
int32_t linetable_line(enum linetable_format format, const unsigned char *table, size_t size,
                       int32_t first_line, int32_t unit);

/*
 * The same, but an instruction without a line gets the line of the last one before it in the table
 * that has one. Compilers generate such instructions around exception handlers; a frame at one of
 * them is nevertheless in the middle of a statement.
 */
int32_t linetable_line_around(enum linetable_format format, const unsigned char *table, size_t size,
                              int32_t first_line, int32_t unit);

/* As linetable_line, with the end and the columns if the table has them (3.11 and later). */
struct linetable_position linetable_position(enum linetable_format format,
                                             const unsigned char *table, size_t size,
                                             int32_t first_line, int32_t unit);

#endif

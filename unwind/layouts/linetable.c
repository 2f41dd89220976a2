/* SPDX-License-Identifier: Apache-2.0 */
/* linetable.c - see linetable.h, which explains the formats. */
#include "unwind/layouts/linetable.h"

#include <stdbool.h>

enum { UNIT_BYTES = 2, NO_LINE = -128 };

/* Lines are summed up in 64 bits, where no table can overflow them. */
static int32_t known(int64_t number)
{
    return number < 1 || number > INT32_MAX ? 0 : (int32_t)number;
}

static int signed_byte(unsigned char byte)
{
    return byte < 128 ? byte : byte - 256;
}

static int64_t line_in_lnotab(const unsigned char *table, size_t size, int32_t first_line,
                              int32_t unit)
{
    int64_t line = first_line, left = (int64_t)unit * UNIT_BYTES;

    for (size_t i = 0; i + 1 < size; i += 2) {
        left -= table[i];
        if (left < 0)
            break;
        line += signed_byte(table[i + 1]);
    }
    return line;
}

/* `around`: of an instruction without a line that of the one before. */
static int64_t line_in_3_10(const unsigned char *table, size_t size, int32_t first_line,
                            int32_t unit, bool around)
{
    int64_t line = first_line, left = (int64_t)unit * UNIT_BYTES;
    int delta;

    for (size_t i = 0; i + 1 < size; i += 2) {
        delta = signed_byte(table[i + 1]);
        if (delta != NO_LINE)
            line += delta;
        left -= table[i];
        if (left < 0)
            return delta == NO_LINE && !around ? 0 : line;
    }
    return 0;
}

/* Kinds of a 3.11 entry; the last of those that share a form. */
enum {
    KIND_SAME_LINE = 9,
    KIND_NEAR_LINE = 12,
    KIND_NO_COLUMNS = 13,
    KIND_LONG = 14,
    KIND_NONE = 15,
    KIND_MISSING = 16 /* the table has no entry for that */
};

enum { NUMBER_SHIFT_MAX = 30 }; /* CPython writes no number of more than 32 bits */

/* A position in the table; reading past an entry's end or a malformed number makes it bad. */
struct cursor {
    const unsigned char *at, *end;
    bool bad;
};

/* The next byte of an entry after its first. */
static int read_byte(struct cursor *cursor)
{
    if (cursor->at == cursor->end || *cursor->at & 0x80) {
        cursor->bad = true;
        return 0;
    }
    return *cursor->at++;
}

static int64_t read_linetable_varint(struct cursor *cursor)
{
    int64_t value = 0;
    int shift, byte;

    for (shift = 0; shift <= NUMBER_SHIFT_MAX; shift += 6) {
        byte = read_byte(cursor);
        value |= (int64_t)(byte & 0x3F) << shift;
        if (!(byte & 0x40))
            return value;
    }
    cursor->bad = true;
    return 0;
}

static int64_t read_signed_number(struct cursor *cursor)
{
    int64_t value = read_linetable_varint(cursor);

    return value & 1 ? -(value >> 1) : value >> 1;
}

/* By how much an entry moves the line. */
static int64_t read_line_delta(struct cursor *cursor, int kind)
{
    if (kind <= KIND_SAME_LINE || kind == KIND_NONE)
        return 0;
    if (kind <= KIND_NEAR_LINE)
        return kind - (KIND_SAME_LINE + 1);
    return read_signed_number(cursor);
}

/*
 * Goes to the entry that covers `unit`: the cursor is then behind what moves the line.
 *
 * Gives: the entry's kind; KIND_MISSING where there is no such entry. Of one of KIND_NONE the line
 * is that of the last one before it that has one.
 */
static int find_linetable_entry(struct cursor *cursor, int32_t unit, int64_t *line)
{
    int64_t left = unit;
    int head, kind;

    while (cursor->at != cursor->end && *cursor->at & 0x80) {
        head = *cursor->at++;
        kind = head >> 3 & 15;
        *line += read_line_delta(cursor, kind);
        if (cursor->bad)
            break;
        left -= (head & 7) + 1;
        if (left < 0)
            return kind;
        while (cursor->at != cursor->end && !(*cursor->at & 0x80)) /* columns: not wanted */
            cursor->at++;
    }
    return KIND_MISSING;
}

static int64_t line_in_3_11(const unsigned char *table, size_t size, int32_t first_line,
                            int32_t unit, bool around)
{
    struct cursor cursor = {table, table + size, false};
    int64_t line = first_line;

    return find_linetable_entry(&cursor, unit, &line) >= KIND_NONE + around ? 0 : line;
}

/* Reads what follows an entry's line. */
static struct linetable_position read_columns(struct cursor *cursor, int kind, int64_t line)
{
    int64_t end_line = line, column = 0, end_column = 0;
    int byte;

    if (kind <= KIND_SAME_LINE) {
        byte = read_byte(cursor);
        column = kind * 8 + (byte >> 4) + 1;
        end_column = column + (byte & 15);
    } else if (kind <= KIND_NEAR_LINE) {
        column = read_byte(cursor) + 1;
        end_column = read_byte(cursor) + 1;
    } else if (kind == KIND_LONG) {
        end_line = line + read_linetable_varint(cursor);
        column = read_linetable_varint(cursor);
        end_column = read_linetable_varint(cursor);
    }
    if (cursor->bad) /* the table ends in the middle of the entry */
        return (struct linetable_position){.line = known(line)};
    return (struct linetable_position){known(line), known(end_line), known(column),
                                       known(end_column)};
}

static struct linetable_position position_in_3_11(const unsigned char *table, size_t size,
                                                  int32_t first_line, int32_t unit)
{
    struct cursor cursor = {table, table + size, false};
    int64_t line = first_line;
    int kind = find_linetable_entry(&cursor, unit, &line);

    if (kind >= KIND_NONE)
        return (struct linetable_position){0};
    return read_columns(&cursor, kind, line);
}

static int32_t find_line(enum linetable_format format, const unsigned char *table, size_t size,
                         int32_t first_line, int32_t unit, bool around)
{
    int64_t line = first_line;

    if (unit < 0)
        return known(line);
    switch (format) {
    case LINES_LNOTAB:
        line = line_in_lnotab(table, size, first_line, unit);
        break;
    case LINES_3_10:
        line = line_in_3_10(table, size, first_line, unit, around);
        break;
    case LINES_3_11:
        line = size == 0 ? 0 : line_in_3_11(table, size, first_line, unit, around);
        break;
    }
    return known(line);
}

int32_t linetable_line(enum linetable_format format, const unsigned char *table, size_t size,
                       int32_t first_line, int32_t unit)
{
    return find_line(format, table, size, first_line, unit, false);
}

int32_t linetable_line_around(enum linetable_format format, const unsigned char *table, size_t size,
                              int32_t first_line, int32_t unit)
{
    return find_line(format, table, size, first_line, unit, true);
}

struct linetable_position linetable_position(enum linetable_format format,
                                             const unsigned char *table, size_t size,
                                             int32_t first_line, int32_t unit)
{
    if (unit >= 0 && format == LINES_3_11 && size > 0)
        return position_in_3_11(table, size, first_line, unit);
    return (struct linetable_position){.line =
                                           linetable_line(format, table, size, first_line, unit)};
}

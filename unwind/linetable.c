/* SPDX-License-Identifier: Apache-2.0 */
/* linetable.c - see linetable.h, which explains the format. */
#include "unwind/linetable.h"

#include <stdbool.h>

enum {
    KIND_COLUMNS_LAST = 9,
    KIND_LINE_0 = 10,
    KIND_LINE_2 = 12,
    KIND_NO_COLUMNS = 13,
    KIND_LONG = 14,
    KIND_NONE = 15
};

/* A position in the table; reading past the end or a malformed number makes it bad. */
struct cursor {
    const unsigned char *at, *end;
    bool bad;
};

/* 6 bits a byte, least significant first, bit 6: more follows. */
static uint32_t read_varint(struct cursor *cursor)
{
    uint32_t value = 0, shift = 0, byte;

    do {
        if (cursor->at == cursor->end || shift > 30 || *cursor->at & 0x80) {
            cursor->bad = true;
            return 0;
        }
        byte = *cursor->at++;
        value |= (byte & 0x3F) << shift;
        shift += 6;
    } while (byte & 0x40);
    return value;
}

/* The sign is bit 0. */
static int64_t read_svarint(struct cursor *cursor)
{
    uint32_t value = read_varint(cursor);

    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Reads what follows an entry's first byte; gives by how much it moves the line. */
static int64_t read_line_delta(struct cursor *cursor, int kind)
{
    if (kind >= KIND_LINE_0 && kind <= KIND_LINE_2)
        return kind - KIND_LINE_0;
    if (kind == KIND_NO_COLUMNS || kind == KIND_LONG)
        return read_svarint(cursor);
    return 0;
}

int32_t linetable_line(const unsigned char *table, size_t size, int32_t first_line, int32_t index)
{
    struct cursor cursor = {table, table + size, false};
    int64_t line = first_line, unit = 0;
    int kind, length;

    if (index < 0)
        return first_line;
    while (cursor.at < cursor.end && (*cursor.at & 0x80)) {
        kind = *cursor.at >> 3 & 15;
        length = (*cursor.at++ & 7) + 1;
        line += read_line_delta(&cursor, kind);
        if (cursor.bad)
            return 0;
        if (index < unit + length)
            return kind == KIND_NONE || line < 0 || line > INT32_MAX ? 0 : (int32_t)line;
        unit += length;
        while (cursor.at < cursor.end && !(*cursor.at & 0x80)) /* columns: not wanted */
            cursor.at++;
    }
    return 0;
}

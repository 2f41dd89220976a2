/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_unwind_lines.c - any bytes as a line table of any format: no read outside of it, lines
 * and columns that can be, and the same line from both functions.
 *
 * Input: a byte for the format, four for the first line, four for a unit, then the table.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/layouts/linetable.h"

enum { HEAD = 9, FORMATS = 3, UNITS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Makes a failed promise a crash. */
static void must(bool held)
{
    if (!held)
        abort();
}

static void check(enum linetable_format format, const unsigned char *table, size_t size,
                  int32_t first_line, int32_t unit)
{
    int32_t line = linetable_line(format, table, size, first_line, unit);
    int32_t around = linetable_line_around(format, table, size, first_line, unit);
    struct linetable_position p = linetable_position(format, table, size, first_line, unit);

    must(line >= 0 && p.line == line);
    must(line == 0 ? around >= 0 : around == line);
    must(p.end_line >= 0 && p.column >= 0 && p.end_column >= 0);
    must(p.line == 0 || p.end_line == 0 || p.end_line >= p.line);
    must(unit >= 0 || line == (first_line > 0 ? first_line : 0));
    must(format == LINES_3_11 || (p.end_line | p.column | p.end_column) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum linetable_format format;
    int32_t first_line, unit, i;
    unsigned char *table;

    if (size <= HEAD)
        return 0;
    format = (enum linetable_format)(data[0] % FORMATS);
    memcpy(&first_line, data + 1, 4);
    memcpy(&unit, data + 5, 4);
    size -= HEAD;
    table = malloc(size); /* exact, so that a sanitizer sees one byte too many */
    must(table != NULL);
    memcpy(table, data + HEAD, size);
    check(format, table, size, first_line, unit);
    for (i = -1; i < UNITS; i++)
        check(format, table, size, first_line, i);
    free(table);
    return 0;
}

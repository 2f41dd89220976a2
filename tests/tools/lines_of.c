/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines_of.c - prints what the unwinder makes of line tables, for tests to compare.
 *
 * Reads records from standard input: a line "FORMAT FIRST_LINE UNITS SIZE", where FORMAT is
 * a number of enum linetable_format, and SIZE bytes of table. Prints for each code unit
 * "line end_line column end_column". Ends with 1 where linetable_line and linetable_position
 * do not say the same.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "unwind/layouts/linetable.h"

enum { TABLE_MAX = 1 << 30 };

struct record {
    int format;
    int32_t first_line, units;
    size_t size;
    unsigned char *table; /* owned */
};

/* Reads the numbers of a record's line; false if it has others than four. */
static bool parse_head(char *line, struct record *out)
{
    long long numbers[4];
    char *end = line;
    size_t i;

    for (i = 0; i < 4; i++) {
        line = end;
        numbers[i] = strtoll(line, &end, 10);
        if (end == line)
            return false;
    }
    out->format = (int)numbers[0];
    out->first_line = (int32_t)numbers[1];
    out->units = (int32_t)numbers[2];
    out->size = (size_t)numbers[3];
    return *end == '\n' && out->size <= TABLE_MAX;
}

/* Gives 1 for a record, 0 at the end of the input, -1 for one that is malformed. */
static int read_record(struct record *out)
{
    char line[128];

    if (!fgets(line, sizeof(line), stdin))
        return feof(stdin) ? 0 : -1;
    if (!parse_head(line, out))
        return -1;
    out->table = malloc(out->size + 1);
    return out->table && fread(out->table, 1, out->size, stdin) == out->size ? 1 : -1;
}

static int print_record(const struct record *r)
{
    enum linetable_format format = (enum linetable_format)r->format;
    struct linetable_position p;
    int32_t unit, line;

    for (unit = 0; unit < r->units; unit++) {
        p = linetable_position(format, r->table, r->size, r->first_line, unit);
        line = linetable_line(format, r->table, r->size, r->first_line, unit);
        if (line != p.line) {
            (void)fprintf(stderr,
                          "unit %" PRId32 ": line %" PRId32 ", position's line %" PRId32 "\n", unit,
                          line, p.line);
            return -1;
        }
        (void)printf("%" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 "\n", p.line, p.end_line,
                     p.column, p.end_column);
    }
    return 0;
}

int main(void)
{
    int rc = 1;

    while (rc == 1) {
        struct record r = {0};

        rc = read_record(&r);
        if (rc == 1 && print_record(&r) != 0)
            rc = -1;
        free(r.table);
    }
    if (rc != 0 || fflush(stdout) != 0)
        (void)fprintf(stderr, "lines_of: stopped early\n");
    return rc != 0;
}

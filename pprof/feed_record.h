/* SPDX-License-Identifier: Apache-2.0 */
/* feed_record.h - the kinds of records in a piece, and the numbers that follow each. */
#ifndef PPROF_FEED_RECORD_H
#define PPROF_FEED_RECORD_H

enum feed_record {
    FEED_TEXT = 1,     /* size, bytes */
    FEED_FUNCTION = 2, /* name, file: texts; first line, signed */
    FEED_LOCATION = 3, /* function; line, column: signed */
    FEED_STACK = 4,    /* depth, locations */
    FEED_ROW = 5,    /* stack, count of labels; of each: key, text + 1, unit + 1, number, signed */
    FEED_VALUES = 6, /* row, what each of its values grew by, signed */
    FEED_BINARY = 7  /* its file and its build id: of each size, bytes */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* feed_record.h - kinds of records in a piece of feed.h, and their content: the kind is one byte,
 * numbers are LEB128, signed ones zigzag-coded. Texts, functions and so on are given by number. */
#ifndef PPROF_FEED_RECORD_H
#define PPROF_FEED_RECORD_H

enum feed_record {
    FEED_TEXT = 1,     /* size, bytes */
    FEED_FUNCTION = 2, /* text of its name, text of its file, first line (signed) */
    FEED_LOCATION = 3, /* function, line (signed), column (signed) */
    FEED_STACK = 4,    /* depth, locations */
    FEED_ROW = 5,    /* stack, label count; for each label: key, text + 1 or 0 for none, unit + 1 or
                        0, number (signed) */
    FEED_VALUES = 6, /* row, increase of each of its values (signed) */
    FEED_BINARY = 7  /* size and bytes of its path, size and bytes of its build id */
};

#endif

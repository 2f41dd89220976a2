/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - finds the lines of the target's source files.
 *
 * Shape:  source_open, source_line..., source_close.
 * Trust:  the target says which file and line, so it may name anything; source_reader.h decides
 *         what is opened.
 * Beware: a file may be newer than the code that runs. One that was changed after the process was
 *         started has no lines here, but a process that a fork made may run older code.
 */
#ifndef AGENT_DUMP_SOURCE_H
#define AGENT_DUMP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dump/source_reader.h"
#include "base/err.h"

enum {
    SOURCE_LINE_MAX = 4096,      /* bytes; a longer line is cut */
    SOURCE_FILES_MAX = 1024,     /* files that are remembered; others have no lines */
    SOURCE_BYTES_MAX = 128 << 20 /* of all of them */
};

/* A line without its end. Tabs and form feeds are blanks; no other byte is touched. */
struct source_line {
    const char *text; /* borrowed, no NUL behind it */
    size_t size;
};

/*
 * Cache: lines of source files
 * Key:   path, in the target's root
 * Ends:  with the dump; a file that is replaced meanwhile keeps its lines
 * Test:  tests/unit/dump/test_source.c: reads_a_file_once
 */
struct source;

/*
 * Takes over `reader`, which may be NULL: no file can be read. No lines are given of a file that
 * was changed after `started_ns`, in UTC; INT64_MAX: whenever it was changed.
 *
 * Gives: NULL: out of memory, or there is no reader.
 */
MUST_CHECK struct source *source_open(struct source_reader *reader, int64_t started_ns);

/* Ends it. NULL is fine. */
void source_close(struct source *source);

/* Says on the standard error if lines are missing because files did not come in time. NULL is fine.
 */
void source_explain(const struct source *source);

/*
 * Finds line `number` (1 is the first) of `file`, as a code object names it.
 *
 * Lends: *out, until source_close.
 * Gives: false if it is not there; "<string>" and the like have no lines.
 */
MUST_CHECK bool source_line(struct source *source, const char *file, int32_t number,
                            struct source_line *out);

/* True if source_line found none in `file` because it was changed after the process was started. */
MUST_CHECK bool source_is_newer(const struct source *source, const char *file);

#endif

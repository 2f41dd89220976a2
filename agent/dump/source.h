/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - gives lines of the target's source files.
 *
 * Shape:  source_open, source_line..., source_close.
 * Trust:  the target says which file and line, so it may name anything; source_reader.h decides
 *         what is opened.
 * Beware: a file may be newer than the code that runs. One that was changed after the process was
 *         started has no lines here, but a forked process may run code older than itself.
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
    SOURCE_FILES_MAX = 1024,     /* files that are kept; others have no lines */
    SOURCE_BYTES_MAX = 128 << 20 /* bytes of all of them */
};

/* A line without its end. Tabs and form feeds are blanks; no other byte is touched. */
struct source_line {
    const char *text; /* borrowed; no NUL follows */
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
 * Takes over `reader`, on failure too. A file that was changed after `started_ns` (UTC) has no
 * lines; INT64_MAX: each has.
 *
 * Gives: the source, ended with source_close; NULL: out of memory, or `reader` is NULL.
 */
MUST_CHECK struct source *source_open(struct source_reader *reader, int64_t started_ns);

/* Ends it. NULL is fine. */
void source_close(struct source *source);

/* As source_reader_explain. NULL is fine. */
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

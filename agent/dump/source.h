/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - gives lines of the target's source files.
 *
 * Shape:  source_open, source_line..., source_close.
 * Trust:  the target names file and line, so it may name any file; source_reader.h decides which
 *         ones are opened.
 * Beware: a file may be newer than the code that runs. A file that was changed after `started_ns`
 *         of source_open gives no lines. But a forked process may run code older than itself.
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

/* A line without its line end. Tabs and form feeds are replaced by blanks; no other byte is. */
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
 * Takes over `reader`, on failure too. `started_ns`: start of the process, UTC; INT64_MAX: also
 * files that were changed later give lines.
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
 * Gives: false if there is no such line, or the file gives none, as "<string>" and the like.
 */
MUST_CHECK bool source_line(struct source *source, const char *file, int32_t number,
                            struct source_line *out);

/* True if source_line has failed for `file` because it was changed after `started_ns`. */
MUST_CHECK bool source_is_newer(const struct source *source, const char *file);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - puts a result where the user wants it. */
#ifndef AGENT_CLI_OUTPUT_H
#define AGENT_CLI_OUTPUT_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * Writes all of it to a file, whole or not at all, or to the standard output if `path` is NULL or
 * "-". What is no regular file (a pipe, /dev/stdout) is written to as it is.
 *
 * Errors: false; `err` says why.
 */
MUST_CHECK bool output_write(const char *path, const struct buf *bytes, struct err *err);

/*
 * Tries whether output_write could write there, and leaves what is there as it is.
 *
 * Errors: false; `err` says why not.
 */
MUST_CHECK bool output_check(const char *path, struct err *err);

/* True if the output would go to a terminal. */
bool output_is_terminal(const char *path);

/*
 * Reads a source file for formats that show lines: a regular one of a few MiB whose name and whose
 * real name are those of Python sources, for a profile may name any file. A format_view's `source`.
 */
bool output_source(void *ctx, const char *file, struct buf *out);

#endif

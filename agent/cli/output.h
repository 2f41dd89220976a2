/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - puts a result where the user wants it. */
#ifndef AGENT_CLI_OUTPUT_H
#define AGENT_CLI_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#include "base/buf.h"

/* Who may read a file that is written. */
enum output_readers {
    OUTPUT_USUAL, /* as the umask has it */
    OUTPUT_OURS   /* mode 0600: it tells of other users' processes */
};

/*
 * Writes all of it to a file, whole or not at all, or to the standard output if `path` is NULL or
 * "-". What is no regular file (a pipe, /dev/stdout) is written to as it is.
 *
 * Errors: false; `err` says why.
 */
MUST_CHECK bool output_write(const char *path, const struct buf *bytes, enum output_readers readers,
                             struct err *err);

/* The name of a file that output_keep writes. */
struct output_kept {
    char path[PATH_MAX]; /* "": none */
};

/*
 * Writes a file PATH.NUMBER.pb.gz, which no other is called, with a recording that is yet to be
 * drawn into `path`. Nothing is written if `path` is no regular file.
 *
 * Errors: false; `err` says why.
 */
MUST_CHECK bool output_keep(const char *path, const struct buf *bytes, enum output_readers readers,
                            struct output_kept *out, struct err *err);

/*
 * Tries whether output_write could write there, and leaves what is there as it is.
 *
 * Errors: false; `err` says why not.
 */
MUST_CHECK bool output_check(const char *path, struct err *err);

/* True if it is or will be a regular file: not the standard output, a pipe or a device. */
bool output_is_file(const char *path);

/* True if the output would go to a terminal. */
bool output_is_terminal(const char *path);

#endif

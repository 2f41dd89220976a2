/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - puts a result where the user wants it. */
#ifndef AGENT_CLI_OUTPUT_H
#define AGENT_CLI_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"

/* Who may read a file that is written. */
enum output_readers {
    OUTPUT_USUAL, /* as the umask has it */
    OUTPUT_OURS   /* only we, mode 0600: it tells of other users' processes */
};

/*
 * Writes `bytes` to a file, all or nothing, or to the standard output if `path` is NULL or "-". A
 * pipe or device is opened and written to.
 *
 * Errors: false; `err` says why.
 */
MUST_CHECK bool output_write(const char *path, const struct buf *bytes, enum output_readers readers,
                             struct err *err);

/* An output that is written in parts. */
struct output {
    const char *path; /* borrowed */
    enum output_readers readers;
    FILE *file;           /* owned, unless it is stdout; NULL: nothing was written yet */
    char aside[PATH_MAX]; /* file that will replace `path` when it is whole; "": none */
    int error;            /* errno of the first failure; 0: none */
};

/* Makes it empty; opens nothing. */
void output_init(struct output *output, const char *path, enum output_readers readers);

/* Appends a part. False: it could not be written, as output_close will say. */
bool output_add(struct output *output, const struct buf *bytes);

/* output_add to a struct output, then empties `bytes`, on failure too. As format_view.drain. */
bool output_drain(void *output, struct buf *bytes);

/*
 * Ends it. Not `whole`: what was added is discarded, and a file stays as it was before. That alone
 * is no error. (What the standard output or a pipe has taken cannot be discarded.) If nothing was
 * added, no file is made.
 *
 * Errors: false; `err` says why a part could not be written.
 */
MUST_CHECK bool output_close(struct output *output, bool whole, struct err *err);

/* The file that output_keep wrote. */
struct output_kept {
    char path[PATH_MAX]; /* "": none */
};

/*
 * Saves a recording as PATH.RANDOM.pb.gz (16 hex digits) while the caller converts it to another
 * format; then the caller removes the file. Nothing is saved unless output_is_file(path).
 *
 * Errors: false; `err` says why.
 */
MUST_CHECK bool output_keep(const char *path, const struct buf *bytes, enum output_readers readers,
                            struct output_kept *out, struct err *err);

/*
 * Checks that output_write could write to `path`, and changes nothing there.
 *
 * Errors: false; `err` says why not.
 */
MUST_CHECK bool output_check(const char *path, struct err *err);

/* True if it is or will be a regular file: not the standard output, a pipe or a device. */
bool output_is_file(const char *path);

/* True if `path` is the standard output (NULL or "-"), and that is a terminal. */
bool output_is_terminal(const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - writes a result to the file, pipe, device or standard output that the user names. */
#ifndef AGENT_CLI_OUTPUT_H
#define AGENT_CLI_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"

/* Mode of a new file. A pipe or a device keeps its own. */
enum output_readers {
    OUTPUT_USUAL, /* mode 0666 without the bits of the umask */
    OUTPUT_OURS   /* mode 0600: only our user; the file may describe processes of other users */
};

/*
 * Writes `bytes` to `path`; to the standard output if `path` is NULL or "-". If `path` is a pipe or
 * a device, writes to it. Otherwise writes a temporary file and renames it to `path`. This replaces
 * a file or symbolic link of that name.
 *
 * Errors: false; `err` says why. A file that was at `path` before is unchanged.
 */
MUST_CHECK bool output_write(const char *path, const struct buf *bytes, enum output_readers readers,
                             struct err *err);

/* A result that is written in parts. Call output_init, output_add for each part, output_close. */
struct output {
    const char *path; /* borrowed until output_close; NULL or "-": the standard output */
    enum output_readers readers;
    FILE *file;           /* owned, unless it is stdout; NULL: nothing was written yet */
    char aside[PATH_MAX]; /* temporary file, which output_close renames to `path`; "": none */
    int error;            /* errno of the first failure; 0: none */
};

/* Initialises *output. Opens no file: the first output_add does. */
void output_init(struct output *output, const char *path, enum output_readers readers);

/* Appends a part. False: this part or an earlier one could not be written; output_close gives the
 * reason. */
bool output_add(struct output *output, const struct buf *bytes);

/* Calls output_add, empties `bytes`, and returns the result of output_add. `output` points to a
 * struct output. Can be used as format_view.drain. */
bool output_drain(void *output, struct buf *bytes);

/*
 * Ends the output. With `whole`, renames the temporary file to `path`. Without `whole`, removes the
 * temporary file; bytes that went to the standard output, a pipe or a device stay there. Makes no
 * file if output_add was never called.
 *
 * Errors: false: this call or an earlier output_add failed, whatever `whole` is; `err` says why. A
 *         file that was at `path` before is unchanged.
 */
MUST_CHECK bool output_close(struct output *output, bool whole, struct err *err);

/* The file that output_keep wrote. */
struct output_kept {
    char path[PATH_MAX]; /* "": no file was written */
};

/*
 * Saves a recording as PATH.RANDOM.pb.gz (RANDOM is 16 hex digits), so that the recording is not
 * lost if its conversion to another format fails. The caller then converts the recording, and
 * removes this file once the converted one is written.
 *
 * Gives:  out->path; "", and nothing is saved, if output_is_file(path) is false.
 * Errors: false; `err` says why, and out->path is "".
 */
MUST_CHECK bool output_keep(const char *path, const struct buf *bytes, enum output_readers readers,
                            struct output_kept *out, struct err *err);

/*
 * Checks whether output_write could write to `path`. For a file it makes a temporary file in the
 * same directory and removes it again.
 *
 * Errors: false: output_write could not; `err` says why.
 */
MUST_CHECK bool output_check(const char *path, struct err *err);

/* False for the standard output (NULL or "-"), a pipe, a device, a socket and a directory. True for
 * a regular file, and if stat(path) fails, for example because there is no such file. */
bool output_is_file(const char *path);

/* True if `path` is the standard output (NULL or "-"), and that is a terminal. */
bool output_is_terminal(const char *path);

#endif

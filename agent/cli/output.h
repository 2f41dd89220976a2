/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - writes a result to the file, pipe, device or standard output that the user names. */
#ifndef AGENT_CLI_OUTPUT_H
#define AGENT_CLI_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"

/* Who may read a file that is written. */
enum output_readers {
    OUTPUT_USUAL, /* those whom the umask allows: mode 0666 without the bits of the umask */
    OUTPUT_OURS   /* only our user: mode 0600, for content about other users' processes */
};

/*
 * Writes `bytes` to `path`. To a file this is atomic: a new file with the mode of `readers`
 * replaces it (or a symbolic link of that name). A pipe or a device is opened and written to. If
 * `path` is NULL or "-", writes to the standard output.
 *
 * Errors: false; `err` says why. A file that was there is unchanged then.
 */
MUST_CHECK bool output_write(const char *path, const struct buf *bytes, enum output_readers readers,
                             struct err *err);

/* The same for a result that is written in parts: output_init, output_add for each, output_close.
 */
struct output {
    const char *path; /* borrowed until output_close; NULL or "-": the standard output */
    enum output_readers readers;
    FILE *file;           /* owned, unless it is stdout; NULL: nothing was written yet */
    char aside[PATH_MAX]; /* path of the temporary file that output_close renames to `path`; "":
                             none */
    int error;            /* errno of the first failure; 0: none */
};

/* Initialises *output. Opens no file: the first output_add does. */
void output_init(struct output *output, const char *path, enum output_readers readers);

/* Appends a part. False: this part or an earlier one could not be written; output_close gives the
 * reason. */
bool output_add(struct output *output, const struct buf *bytes);

/* Calls output_add, then empties `bytes`, also on failure. Its type is that of format_view.drain;
 * `output` is a struct output. */
bool output_drain(void *output, struct buf *bytes);

/*
 * Ends the output. With `whole`, a file gets its name now, and replaces a file of the same name.
 * Without `whole`, discards what was added, and leaves a file of the same name unchanged; but what
 * the standard output, a pipe or a device has taken stays there. If output_add was never called,
 * makes no file in either case.
 *
 * Errors: false: an output_add or this call could not write; `err` says why, and what was added is
 *         discarded. That `whole` is false does not make the result false.
 */
MUST_CHECK bool output_close(struct output *output, bool whole, struct err *err);

/* The file that output_keep wrote. */
struct output_kept {
    char path[PATH_MAX]; /* "": no file was written */
};

/*
 * Saves a recording beside `path`, as PATH.RANDOM.pb.gz (RANDOM: 16 hex digits), before the caller
 * converts it to another format, so that a failed conversion does not lose it. The caller removes
 * the file after the conversion. Saves nothing unless output_is_file(path).
 *
 * Gives:  out->path.
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

/* True if `path` is a regular file or does not exist yet; false if it is the standard output (NULL
 * or
 * "-"), a pipe or a device. */
bool output_is_file(const char *path);

/* True if `path` is the standard output (NULL or "-"), and that is a terminal. */
bool output_is_terminal(const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - reads open files with a bound, and takes names out of paths.
 *
 * Threads: all functions may be called from any thread; they keep no state.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Reads the first `size` bytes of a regular file; neither uses nor moves the file position.
 *
 * Gives:  *out: bytes read, fewer than `size` only if the file is shorter.
 * Errors: false and errno; *out is untouched.
 */
MUST_CHECK bool file_read(int fd, void *into, size_t size, size_t *out);

/*
 * Appends all bytes from the file position to the end of the file, or until a pipe is closed.
 *
 * Errors: false and errno; EFBIG: more than `out` may hold; ENOMEM.
 */
MUST_CHECK bool file_read_all(int fd, struct buf *out);

/* Makes a stream of the open directory `fd`; closedir closes both. NULL and errno: it failed, and
 * `fd` is closed; -1 as `fd` fails too and keeps errno. */
DIR *file_open_dir(int fd);

/* Gives the part of `path` behind its last '/'; "" if it ends in one. Lends: a part of `path`. */
const char *file_base_name(const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - reads open files with a bound, and takes names out of paths.
 *
 * Threads: functions of their arguments alone.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Reads the first bytes of a regular file, wherever its position is.
 *
 * Gives:  *out: how many were read: `size`, or all if the file is shorter.
 * Errors: false and errno.
 */
MUST_CHECK bool file_read(int fd, void *into, size_t size, size_t *out);

/*
 * Appends what comes from a file's position to its end. Of a pipe too, until it is closed.
 *
 * Errors: false and errno; EFBIG: there is more than `out` may hold, ENOMEM.
 */
MUST_CHECK bool file_read_all(int fd, struct buf *out);

/* A stream over an open directory, which is closed with it. NULL and errno: `fd` is closed, or was
 * -1. */
DIR *file_open_dir(int fd);

/* The part of a path behind its last '/'; "" if it ends in one. Lends: a part of `path`. */
const char *file_base_name(const char *path);

#endif

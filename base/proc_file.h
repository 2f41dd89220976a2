/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file.h - reads the kernel's files below /proc.
 *
 * A failed read says whether the process is gone, whether it may not be read, or whether this
 * process is short of something: the latter says nothing of the process that was to be read.
 *
 * Threads: all functions may be called from any thread; they allocate nothing but
 *          proc_file_each_id, which opens a directory stream.
 * Trust:   none in lengths: buffers are the caller's, lines are cut at PROC_FILE_LINE_MAX.
 * Source:  Documentation/filesystems/proc.rst of the kernel.
 */
#ifndef BASE_PROC_FILE_H
#define BASE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Bytes of a line; a path has up to 4096. */
enum { PROC_FILE_LINE_MAX = 8192 };

enum proc_rc {
    PROC_OK,
    PROC_GONE,   /* there is no such process or thread (any more): ENOENT, ESRCH */
    PROC_DENIED, /* not allowed: EACCES, EPERM */
    PROC_FAILED  /* an error of our own: EMFILE, ENFILE, ENOMEM, ...: not known */
};

/* The result that an errno stands for. */
enum proc_rc proc_rc_of_errno(int cause);

/* True if it is for lack of descriptors or memory that a call failed. */
bool proc_is_short(int cause);

/* Opens the file with that path, below `dir_fd` if it is relative. Gives a descriptor; -1: errno
 * says why. */
MUST_CHECK int proc_file_open(int dir_fd, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * Reads the file with that path, up to `size` - 1 bytes, and puts a 0 behind them.
 *
 * Gives: *out_size (may be NULL), the number of bytes. On failure 0, and `out` is "".
 */
enum proc_rc proc_file_read(char *out, size_t size, size_t *out_size, const char *format, ...)
    PRINTF_LIKE(4, 5);

/* Reads a small file again from its start, up to `size` - 1 bytes, with a 0 behind them. -1 as
 * `fd`: PROC_FAILED. Cost: one system call. */
MUST_CHECK enum proc_rc proc_file_reread(int fd, char *out, size_t size);

/*
 * Calls `each` for each line of a file, without its newline, until it returns false. A line over
 * PROC_FILE_LINE_MAX is cut. On failure errno says why.
 *
 * Lends: the line, until `each` returns, which may change it.
 */
MUST_CHECK enum proc_rc proc_file_lines(int fd, bool (*each)(void *ctx, char *line), void *ctx);

/*
 * Calls `each` for each entry of a directory whose name is a number above 0 (a process in /proc, a
 * thread in task/), until it returns false. Takes over `fd`; -1: it could not be opened, and errno
 * says why. On failure errno is set.
 */
enum proc_rc proc_file_each_id(int fd, bool (*each)(void *ctx, pid_t id, uint64_t inode),
                               void *ctx);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file.h - reads the kernel's files below /proc.
 *
 * A failed read tells whether the process is gone, whether access is denied, or whether it failed
 * otherwise. The last case says nothing about the process.
 *
 * Threads: all functions may be called from any thread. Only proc_file_each_id allocates memory,
 *          for a directory stream.
 * Trust:   files may be of any length: the caller's buffer or PROC_FILE_LINE_MAX limits a read.
 * Source:  Documentation/filesystems/proc.rst of the kernel.
 */
#ifndef BASE_PROC_FILE_H
#define BASE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Bytes of a line that are kept; a path has up to 4096. */
enum { PROC_FILE_LINE_MAX = 8192 };

enum proc_rc {
    PROC_OK,
    PROC_GONE,   /* no such process or thread, or no such file: ENOENT, ESRCH */
    PROC_DENIED, /* access denied: EACCES, EPERM */
    PROC_FAILED  /* any other errno, e.g. EMFILE or ENOMEM: the process may be there or not */
};

/* Gives the result for an errno. */
enum proc_rc proc_rc_of_errno(int cause);

/* True if errno `cause` is EMFILE, ENFILE or ENOMEM: a lack of descriptors or memory. */
bool proc_is_short(int cause);

/* Opens a file to read. `format` makes its path, up to 127 bytes; a relative one is below `dir_fd`.
 * Gives a descriptor; -1 and errno. */
MUST_CHECK int proc_file_open(int dir_fd, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * Reads up to `size` - 1 bytes of the file whose path `format` makes, and puts a NUL behind them.
 *
 * Gives: *out_size (may be NULL): bytes read. On failure it is 0, and `out` is "".
 */
enum proc_rc proc_file_read(char *out, size_t size, size_t *out_size, const char *format, ...)
    PRINTF_LIKE(4, 5);

/* Reads up to `size` - 1 bytes from the start of an open file, and puts a NUL behind them. `fd` -1:
 * PROC_FAILED. On failure `out` is "". Cost: one system call. */
MUST_CHECK enum proc_rc proc_file_reread(int fd, char *out, size_t size);

/*
 * Calls `each` for each line of an open file, without its newline, until `each` returns false. A
 * line over PROC_FILE_LINE_MAX is cut. `fd` stays open. On failure errno is set.
 *
 * Lends: the line, until `each` returns; `each` may change it.
 */
MUST_CHECK enum proc_rc proc_file_lines(int fd, bool (*each)(void *ctx, char *line), void *ctx);

/*
 * Calls `each` for each entry of an open directory whose name is a number above 0 (a process in
 * /proc, a thread in task/), until `each` returns false. `inode` is that of the entry. Closes `fd`;
 * if `fd` is -1, the errno of its open gives the result. On failure errno is set.
 */
enum proc_rc proc_file_each_id(int fd, bool (*each)(void *ctx, pid_t id, uint64_t inode),
                               void *ctx);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* proc_file.c - see proc_file.h. */
#include "base/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { PATH_BYTES = 128 };

enum proc_rc proc_rc_of_errno(int cause)
{
    switch (cause) {
    case ENOENT:
    case ESRCH:
        return PROC_GONE;
    case EACCES:
    case EPERM:
        return PROC_DENIED;
    default:
        return PROC_FAILED;
    }
}

bool proc_is_short(int cause)
{
    return cause == EMFILE || cause == ENFILE || cause == ENOMEM;
}

static int open_formatted(int dir_fd, const char *format, va_list arguments)
{
    char path[PATH_BYTES];
    int size = vsnprintf(path, sizeof(path), format, arguments);

    if (size < 0 || (size_t)size >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
}

int proc_file_open(int dir_fd, const char *format, ...)
{
    va_list arguments;
    int fd;

    va_start(arguments, format);
    fd = open_formatted(dir_fd, format, arguments);
    va_end(arguments);
    return fd;
}

enum proc_rc proc_file_read(char *out, size_t size, size_t *out_size, const char *format, ...)
{
    enum proc_rc rc = PROC_OK;
    size_t used = 0;
    ssize_t got = 1;
    va_list arguments;
    int fd;

    va_start(arguments, format);
    fd = open_formatted(AT_FDCWD, format, arguments);
    va_end(arguments);
    if (fd < 0)
        rc = proc_rc_of_errno(errno);
    while (rc == PROC_OK && got != 0 && used < size - 1) {
        got = read(fd, out + used, size - 1 - used);
        if (got > 0)
            used += (size_t)got;
        else if (got < 0 && errno != EINTR)
            rc = proc_rc_of_errno(errno);
    }
    if (fd >= 0)
        (void)close(fd);
    used = rc == PROC_OK ? used : 0;
    out[used] = '\0';
    if (out_size)
        *out_size = used;
    return rc;
}

enum proc_rc proc_file_reread(int fd, char *out, size_t size)
{
    ssize_t got = pread(fd, out, size - 1, 0);

    out[got > 0 ? got : 0] = '\0';
    return got < 0 ? proc_rc_of_errno(errno) : PROC_OK;
}

/* Hands over the whole lines of text[0..*used] and keeps the rest; *cut: it continues a line that
 * was handed over. False: `each` wants no more. */
static bool take_lines(char *text, size_t *used, bool *cut, bool (*each)(void *ctx, char *line),
                       void *ctx)
{
    char *line = text, *end;
    bool more = true;

    while (more && (end = memchr(line, '\n', (size_t)(text + *used - line)))) {
        *end = '\0';
        more = *cut || each(ctx, line);
        *cut = false;
        line = end + 1;
    }
    *used -= (size_t)(line - text);
    memmove(text, line, *used);
    if (more && *used == PROC_FILE_LINE_MAX) {
        text[*used] = '\0';
        more = *cut || each(ctx, text);
        *cut = true;
        *used = 0;
    }
    return more;
}

enum proc_rc proc_file_lines(int fd, bool (*each)(void *ctx, char *line), void *ctx)
{
    char text[PROC_FILE_LINE_MAX + 1];
    size_t used = 0;
    bool cut = false;
    ssize_t got;

    for (;;) {
        got = read(fd, text + used, PROC_FILE_LINE_MAX - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return proc_rc_of_errno(errno);
        used += (size_t)got;
        if (got > 0 && !take_lines(text, &used, &cut, each, ctx))
            return PROC_OK;
        if (got == 0) {
            text[used] = '\0';
            if (used > 0 && !cut)
                (void)each(ctx, text);
            return PROC_OK;
        }
    }
}

enum proc_rc proc_file_each_id(int fd, bool (*each)(void *ctx, pid_t id, uint64_t inode), void *ctx)
{
    DIR *dir = file_open_dir(fd);
    const struct dirent *entry;
    bool more = true;
    int cause;
    long id;

    if (!dir)
        return proc_rc_of_errno(errno);
    for (errno = 0; more && (entry = readdir(dir)); errno = 0) {
        id = strtol(entry->d_name, NULL, 10);
        if (id > 0 && id <= INT32_MAX)
            more = each(ctx, (pid_t)id, entry->d_ino);
    }
    cause = errno;
    (void)closedir(dir);
    errno = cause;
    return cause ? proc_rc_of_errno(cause) : PROC_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. */
#include "agent/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

bool output_is_terminal(const char *path)
{
    return is_stdout(path) && isatty(STDOUT_FILENO) == 1;
}

static bool write_and_flush(FILE *file, const struct buf *bytes)
{
    bool good = bytes->size == 0 || fwrite(bytes->data, 1, bytes->size, file) == bytes->size;

    return fflush(file) == 0 && good;
}

static bool write_and_close(int fd, const struct buf *bytes)
{
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool good;

    if (!file)
        return false;
    good = write_and_flush(file, bytes);
    return fclose(file) == 0 && good;
}

/* Writes to the pipe or the device that is there: not to a file that has taken its place. */
static bool write_special(const char *path, const struct buf *bytes)
{
    int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    struct stat info;

    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        (void)close(fd);
        errno = EEXIST;
        return false;
    }
    return write_and_close(fd, bytes);
}

/*
 * Writes a file beside `path`, with a name that nobody can know before. It must not be there:
 * whoever may write to the directory could have put a link there.
 */
static bool write_beside(const char *path, const char *ending, const struct buf *bytes,
                         enum output_readers readers, char out[PATH_MAX])
{
    const mode_t mode = readers == OUTPUT_OURS ? S_IRUSR | S_IWUSR : 0666;
    uint64_t number;
    int saved;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return false;
    if (snprintf(out, PATH_MAX, "%s.%016" PRIx64 "%s", path, number, ending) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (write_and_close(open(out, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode),
                        bytes))
        return true;
    saved = errno;
    if (saved != EEXIST)
        (void)unlink(out);
    errno = saved;
    return false;
}

static bool write_aside(const char *path, const struct buf *bytes, enum output_readers readers)
{
    char aside[PATH_MAX];
    int saved;

    if (!write_beside(path, ".part", bytes, readers, aside))
        return false;
    if (rename(aside, path) == 0)
        return true;
    saved = errno;
    (void)unlink(aside);
    errno = saved;
    return false;
}

/* Something that is there, and no regular file: a pipe, a device. */
static bool is_special(const char *path)
{
    struct stat stat_of;

    return stat(path, &stat_of) == 0 && !S_ISREG(stat_of.st_mode);
}

bool output_is_file(const char *path)
{
    return !is_stdout(path) && !is_special(path);
}

static bool fail(const char *path, struct err *err)
{
    err_set(err, "%s: %s", is_stdout(path) ? "standard output" : path, strerror(errno));
    return false;
}

bool output_write(const char *path, const struct buf *bytes, enum output_readers readers,
                  struct err *err)
{
    bool good;

    if (is_stdout(path))
        good = write_and_flush(stdout, bytes);
    else
        good = is_special(path) ? write_special(path, bytes) : write_aside(path, bytes, readers);
    return good || fail(path, err);
}

bool output_keep(const char *path, const struct buf *bytes, enum output_readers readers,
                 struct output_kept *out, struct err *err)
{
    out->path[0] = '\0';
    if (is_stdout(path) || is_special(path) ||
        write_beside(path, ".pb.gz", bytes, readers, out->path))
        return true;
    out->path[0] = '\0';
    return fail(path, err);
}

bool output_check(const char *path, struct err *err)
{
    const struct buf nothing = {0};
    char aside[PATH_MAX];
    struct stat stat_of;

    if (is_stdout(path))
        return true;
    if (stat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode)) {
        errno = EISDIR;
        return fail(path, err);
    }
    if (is_special(path)) /* opening a pipe would wait for its reader */
        return access(path, W_OK) == 0 || fail(path, err);
    if (!write_beside(path, ".part", &nothing, OUTPUT_OURS, aside))
        return fail(path, err);
    (void)unlink(aside);
    return true;
}

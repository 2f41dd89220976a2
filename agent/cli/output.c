/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. */
#include "agent/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/report/files.h"

enum { SOURCE_MAX = 4 << 20 };

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

/* Writes to a path as it is. */
static bool write_output_path(const char *path, const struct buf *bytes)
{
    FILE *file = fopen(path, "we");
    bool good;

    if (!file)
        return false;
    good = write_and_flush(file, bytes);
    return fclose(file) == 0 && good;
}

/* The file beside `path` that becomes it once it is whole. */
static bool name_aside(const char *path, char out[PATH_MAX])
{
    if (snprintf(out, PATH_MAX, "%s.part", path) < PATH_MAX)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

static bool write_aside(const char *path, const struct buf *bytes)
{
    char aside[PATH_MAX];
    int saved;

    if (!name_aside(path, aside))
        return false;
    if (write_output_path(aside, bytes) && rename(aside, path) == 0)
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

static bool fail(const char *path, struct err *err)
{
    err_set(err, "%s: %s", is_stdout(path) ? "standard output" : path, strerror(errno));
    return false;
}

bool output_write(const char *path, const struct buf *bytes, struct err *err)
{
    bool good;

    if (is_stdout(path))
        good = write_and_flush(stdout, bytes);
    else
        good = is_special(path) ? write_output_path(path, bytes) : write_aside(path, bytes);
    return good || fail(path, err);
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
    if (!name_aside(path, aside) || !write_output_path(aside, &nothing))
        return fail(path, err);
    (void)unlink(aside);
    return true;
}

static bool is_python_source(const char *name)
{
    static const char *const endings[] = {".py", ".pyw", ".pyx", ".pyi"};
    size_t i, size = strlen(name);

    for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (size > strlen(endings[i]) && strcmp(name + size - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

bool output_source(void *ctx, const char *file, struct buf *out)
{
    char real[PATH_MAX];
    struct err err;
    struct buf text;
    bool good;

    (void)ctx;
    if (!is_python_source(file) || !realpath(file, real) || !is_python_source(real))
        return false;
    buf_init(&text, SOURCE_MAX);
    good = report_read(real, &text, &err);
    if (good)
        buf_add(out, text.data, text.size);
    buf_finish(&text);
    return good;
}

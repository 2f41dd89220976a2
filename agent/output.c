/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. */
#include "agent/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/report_files.h"

enum { SOURCE_MAX = 4 << 20 };

static bool is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

bool output_is_terminal(const char *path)
{
    return is_stdout(path) && isatty(STDOUT_FILENO) == 1;
}

static bool write_all(FILE *file, const struct buf *bytes)
{
    bool good = bytes->size == 0 || fwrite(bytes->data, 1, bytes->size, file) == bytes->size;

    return fflush(file) == 0 && good;
}

/* Writes to a path as it is. */
static bool write_file(const char *path, const struct buf *bytes)
{
    FILE *file = fopen(path, "we");
    bool good;

    if (!file)
        return false;
    good = write_all(file, bytes);
    return fclose(file) == 0 && good;
}

static bool write_aside(const char *path, const struct buf *bytes)
{
    char aside[PATH_MAX];
    int saved;

    if (snprintf(aside, sizeof(aside), "%s.part", path) >= (int)sizeof(aside)) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (write_file(aside, bytes) && rename(aside, path) == 0)
        return true;
    saved = errno;
    (void)unlink(aside);
    errno = saved;
    return false;
}

bool output_write(const char *path, const struct buf *bytes, struct err *err)
{
    struct stat stat_of;
    bool good;

    if (is_stdout(path))
        good = write_all(stdout, bytes);
    else if (stat(path, &stat_of) == 0 && !S_ISREG(stat_of.st_mode))
        good = write_file(path, bytes);
    else
        good = write_aside(path, bytes);
    if (!good)
        err_set(err, "%s: %s", is_stdout(path) ? "standard output" : path, strerror(errno));
    return good;
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

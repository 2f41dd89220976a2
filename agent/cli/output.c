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

#include "base/denied.h"

static bool is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

bool output_is_terminal(const char *path)
{
    return is_stdout(path) && isatty(STDOUT_FILENO) == 1;
}

static bool write_and_close(int fd, const struct buf *bytes)
{
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool good;

    if (!file)
        return false;
    good = bytes->size == 0 || fwrite(bytes->data, 1, bytes->size, file) == bytes->size;
    return fclose(file) == 0 && good;
}

/* Opens the pipe or the device that is there: not a file that has taken its place. */
static int open_special(const char *path)
{
    int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    struct stat info;

    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        (void)close(fd);
        errno = EEXIST;
        return -1;
    }
    return fd;
}

/*
 * Makes a file beside `path`, with a name that nobody can know before. It must not be there:
 * whoever may write to the directory could have put a link there.
 */
static int open_beside(const char *path, const char *ending, enum output_readers readers,
                       char out[PATH_MAX])
{
    const mode_t mode = readers == OUTPUT_OURS ? S_IRUSR | S_IWUSR : 0666;
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return -1;
    if (snprintf(out, PATH_MAX, "%s.%016" PRIx64 "%s", path, number, ending) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(out, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

static bool write_beside(const char *path, const char *ending, const struct buf *bytes,
                         enum output_readers readers, char out[PATH_MAX])
{
    int fd = open_beside(path, ending, readers, out), saved;

    if (fd < 0)
        return false;
    if (write_and_close(fd, bytes))
        return true;
    saved = errno;
    (void)unlink(out);
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
    char text[DENIED_TEXT_MAX];

    if (is_stdout(path))
        err_set(err, "standard output: %s", strerror(errno));
    else
        err_set(err, "%s: %s", path, denied_text(path, errno, text));
    return false;
}

void output_init(struct output *output, const char *path, enum output_readers readers)
{
    *output = (struct output){.path = path, .readers = readers};
}

static bool open_output(struct output *output)
{
    int fd;

    if (is_stdout(output->path)) {
        output->file = stdout;
        return true;
    }
    fd = is_special(output->path)
             ? open_special(output->path)
             : open_beside(output->path, ".part", output->readers, output->aside);
    if (fd < 0)
        output->aside[0] = '\0';
    output->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (fd >= 0 && !output->file)
        (void)close(fd);
    return output->file;
}

bool output_add(struct output *output, const struct buf *bytes)
{
    if (!output->error &&
        ((!output->file && !open_output(output)) ||
         (bytes->size && fwrite(bytes->data, 1, bytes->size, output->file) != bytes->size)))
        output->error = errno;
    return output->error == 0;
}

bool output_drain(void *output, struct buf *bytes)
{
    const bool good = output_add(output, bytes);

    buf_reset(bytes);
    return good;
}

bool output_close(struct output *output, bool whole, struct err *err)
{
    FILE *file = output->file;

    if (file && (file == stdout ? fflush(file) : fclose(file)) != 0 && !output->error)
        output->error = errno;
    output->file = NULL;
    if (output->aside[0] && whole && !output->error && rename(output->aside, output->path) != 0)
        output->error = errno;
    if (output->aside[0] && (!whole || output->error))
        (void)unlink(output->aside);
    errno = output->error;
    return !output->error || fail(output->path, err);
}

bool output_write(const char *path, const struct buf *bytes, enum output_readers readers,
                  struct err *err)
{
    struct output output;

    output_init(&output, path, readers);
    (void)output_add(&output, bytes);
    return output_close(&output, true, err);
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

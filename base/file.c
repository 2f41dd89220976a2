/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { STEP = 16 * 1024 };

bool file_read(int fd, void *into, size_t size, size_t *out)
{
    size_t used = 0;
    ssize_t got = 1;

    while (used < size && got != 0) {
        got = pread(fd, (unsigned char *)into + used, size - used, (off_t)used);
        if (got < 0 && errno != EINTR)
            return false;
        used += got > 0 ? (size_t)got : 0;
    }
    *out = used;
    return true;
}

bool file_read_all(int fd, struct buf *out)
{
    unsigned char step[STEP];
    ssize_t got = 1;

    while (got != 0) {
        got = read(fd, step, sizeof(step));
        if (got < 0 && errno != EINTR)
            return false;
        if (got > 0)
            buf_add(out, step, (size_t)got);
        if (buf_failed(out)) {
            errno = (size_t)got > out->max - out->size ? EFBIG : ENOMEM;
            return false;
        }
    }
    return true;
}

DIR *file_open_dir(int fd)
{
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const int cause = errno;

    if (fd >= 0 && !dir)
        (void)close(fd);
    errno = cause;
    return dir;
}

const char *file_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* store_write.c - knows the order of calls that a crash cannot break. */
#include "exporters/store_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

/* Some file systems cannot sync a directory, and say so; then the mount has to see to it. */
bool store_write_sync(int dir)
{
    return fsync(dir) == 0 || errno == EINVAL || errno == ENOTSUP;
}

static bool write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* The lock ends with the descriptor, so the new name is given while it is still open. */
static bool write_and_name(int dir, int fd, const char *aside, const char *name, const void *bytes,
                           size_t size)
{
    (void)flock(fd, LOCK_EX | LOCK_NB); /* without it, a scan elsewhere costs one more try */
    return write_all(fd, bytes, size) && fsync(fd) == 0 && renameat(dir, aside, dir, name) == 0 &&
           store_write_sync(dir);
}

bool store_write(int dir, const struct store_file *file, const void *bytes, size_t size)
{
    char aside[STORE_FILE_SIZE], name[STORE_FILE_SIZE];
    bool written;
    int fd, cause;

    store_name_file(file, true, aside);
    store_name_file(file, false, name);
    fd = openat(dir, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    written = write_and_name(dir, fd, aside, name, bytes, size);
    cause = errno;
    (void)close(fd);
    if (!written) {
        (void)unlinkat(dir, aside, 0);
        (void)unlinkat(dir, name, 0); /* not known to be durable: it will come again */
    }
    errno = cause;
    return written;
}

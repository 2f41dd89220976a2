/* SPDX-License-Identifier: Apache-2.0 */
/* durable.c - knows the order of calls that a crash cannot break. */
#include "base/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Some file systems cannot sync a directory, and say so; then the mount has to see to it. */
bool durable_sync(int dir)
{
    return fsync(dir) == 0 || errno == EINVAL || errno == ENOTSUP;
}

static bool write_all_to_fd(int fd, const unsigned char *bytes, size_t size)
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

/* See durable_give: `above` names the directory, seen from `at`. */
static void give_away(int fd, int at, const char *above)
{
    struct stat made, place;

    if (geteuid() != 0 || fstat(fd, &made) != 0 || fstatat(at, above, &place, 0) != 0 ||
        made.st_uid != 0 || (made.st_mode & 077) != 0 ||
        (place.st_uid == made.st_uid && place.st_gid == made.st_gid))
        return;
    if (fchown(fd, place.st_uid, place.st_gid) != 0)
        errno = 0; /* it can be used all the same, if by root alone */
}

/* What is in the directory of a group (mode 0750, as the service's) is for that group to read. */
static void open_to_group(int fd, int at, const char *above)
{
    struct stat made, place;

    if (fstat(fd, &made) == 0 && fstatat(at, above, &place, 0) == 0 &&
        (place.st_mode & 0777) == 0750 && made.st_gid == place.st_gid)
        (void)fchmod(fd, S_ISDIR(made.st_mode) ? 0750 : 0640); /* its owner can read it anyway */
}

void durable_give(int fd, int dir)
{
    give_away(fd, dir, ".");
}

/* The lock ends with the descriptor, so the new name is given while it is still open. */
static bool write_and_name(int dir, int fd, const char *aside, const char *name,
                           const struct durable_part *parts, size_t count)
{
    bool written = true;

    (void)flock(fd, LOCK_EX | LOCK_NB); /* without it, a scan elsewhere costs one more try */
    durable_give(fd, dir);
    open_to_group(fd, dir, ".");
    for (size_t i = 0; written && i < count; i++)
        written = write_all_to_fd(fd, parts[i].bytes, parts[i].size);
    return written && fsync(fd) == 0 && renameat(dir, aside, dir, name) == 0 && durable_sync(dir);
}

bool durable_write(int dir, const char *aside, const char *name, const struct durable_part *parts,
                   size_t count)
{
    bool written;
    int fd, cause;

    fd = openat(dir, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    written = write_and_name(dir, fd, aside, name, parts, count);
    cause = errno;
    (void)close(fd);
    if (!written) {
        (void)unlinkat(dir, aside, 0);
        (void)unlinkat(dir, name, 0); /* not known to be durable: it will come again */
    }
    errno = cause;
    return written;
}

void durable_remove_leftover(int dir, const char *aside)
{
    int fd = openat(dir, aside, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;

    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(dir, aside, 0);
    (void)close(fd);
}

bool durable_make_folder(int dir, const char *name)
{
    int fd;

    if (mkdirat(dir, name, 0700) != 0)
        return false;
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return true;
    give_away(fd, fd, "..");
    open_to_group(fd, fd, "..");
    (void)close(fd);
    return true;
}

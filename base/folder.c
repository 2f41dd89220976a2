/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c - walks a path part by part, because the kernel does not ask whose links it follows. */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/denied.h"
#include "base/durable.h"

enum {
    LINKS_MAX = 40, /* as the kernel has it */
    STEP_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
};

/* A path on the way. */
struct walk {
    int dir;             /* owned: where it has come to */
    char rest[PATH_MAX]; /* what is still ahead */
    unsigned links;      /* that were followed */
    unsigned flags;
    struct err why; /* set where errno alone does not say it */
};

static void close_keeping_errno(int fd)
{
    int cause = errno;

    if (fd >= 0)
        (void)close(fd);
    errno = cause;
}

static bool is_ours_or_roots(const struct stat *info)
{
    return info->st_uid == 0 || info->st_uid == geteuid();
}

/* Goes on from another open directory; false: it could not be opened. */
static bool move_to(struct walk *walk, int dir)
{
    if (dir < 0)
        return false;
    close_keeping_errno(walk->dir);
    walk->dir = dir;
    return true;
}

/* Takes the first part off the rest: false at the end of the path. */
static bool next_part(struct walk *walk, char out[PATH_MAX])
{
    const char *start = walk->rest + strspn(walk->rest, "/");
    size_t size = strcspn(start, "/");

    memcpy(out, start, size);
    out[size] = '\0';
    memmove(walk->rest, start + size, strlen(start + size) + 1);
    return size > 0;
}

/* Puts the target of a link in front of the rest. */
static bool enter_target(struct walk *walk, const char *target)
{
    char rest[2 * PATH_MAX];
    int size = snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest);

    if (size >= (int)sizeof(walk->rest)) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(walk->rest, rest, (size_t)size + 1);
    return target[0] != '/' || move_to(walk, open("/", STEP_FLAGS));
}

/* Follows an open link called `name`. What is no link is no directory either. */
static bool follow(struct walk *walk, int link, const char *name)
{
    char target[PATH_MAX];
    struct stat info;
    ssize_t size;

    if (fstat(link, &info) != 0)
        return false;
    if (!S_ISLNK(info.st_mode)) {
        err_set(&walk->why, "Not a directory: %s is a file; name another path", name);
        errno = ENOTDIR;
        return false;
    }
    errno = ELOOP;
    if (++walk->links > LINKS_MAX)
        return false;
    if (!is_ours_or_roots(&info)) {
        err_set(&walk->why,
                "%s is a symbolic link of user %u, who chooses where it leads: name "
                "the directory itself",
                name, (unsigned)info.st_uid);
        errno = EPERM;
        return false;
    }
    size = readlinkat(link, "", target, sizeof(target) - 1);
    if (size < 0)
        return false;
    target[size] = '\0';
    return enter_target(walk, target);
}

/* Goes on by one part of the path. */
static bool step(struct walk *walk, const char *name)
{
    int next = openat(walk->dir, name, STEP_FLAGS), link;
    bool good;

    if (next < 0 && errno == ENOENT && (walk->flags & FOLDER_MAKE) &&
        (durable_make_folder(walk->dir, name) || errno == EEXIST))
        next = openat(walk->dir, name, STEP_FLAGS);
    if (next >= 0 || errno != ENOTDIR)
        return move_to(walk, next);
    link = openat(walk->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    good = link >= 0 && follow(walk, link, name);
    close_keeping_errno(link);
    return good;
}

static bool is_owner_right(struct walk *walk, int fd)
{
    struct stat info;

    if (fstat(fd, &info) != 0)
        return false;
    if (!(walk->flags & FOLDER_OWN) || is_ours_or_roots(&info))
        return true;
    err_set(&walk->why,
            "belongs to user %u: chown it to root or to the user that pystrobe runs as, or name "
            "another directory",
            (unsigned)info.st_uid);
    errno = EPERM;
    return false;
}

/* Opens what the walk has come to. */
static int open_end(struct walk *walk)
{
    int fd = openat(walk->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0 && is_owner_right(walk, fd))
        return fd;
    close_keeping_errno(fd);
    return -1;
}

static int walk_path(struct walk *walk, const char *path)
{
    char part[PATH_MAX];
    size_t size = strlen(path);

    errno = size == 0 ? ENOENT : ENAMETOOLONG;
    if (size == 0 || size >= sizeof(walk->rest))
        return -1;
    memcpy(walk->rest, path, size + 1);
    if (!move_to(walk, open(path[0] == '/' ? "/" : ".", STEP_FLAGS)))
        return -1;
    while (next_part(walk, part))
        if (!step(walk, part))
            return -1;
    return open_end(walk);
}

static void set_walk_error(const struct walk *walk, const char *path, struct err *err)
{
    char text[DENIED_TEXT_MAX];

    err_set(err, "%.1024s: %s", path,
            walk->why.text[0] ? walk->why.text : denied_text(path, errno, text));
}

int folder_open(const char *path, unsigned flags, struct err *err)
{
    struct walk walk = {.dir = -1, .flags = flags};
    int fd = walk_path(&walk, path);

    close_keeping_errno(walk.dir);
    if (fd < 0)
        set_walk_error(&walk, path, err);
    return fd;
}

/* Why no file can be made in an open directory, whoever asks; NULL: nothing is against it. */
static const char *why_no_files(int dir)
{
    struct statfs info;

    if (dir < 0 || fstatfs(dir, &info) != 0)
        return NULL;
    switch ((unsigned long)info.f_type) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
        return "it is in a file system of the kernel, where no files can be made";
    default:
        return (unsigned long)info.f_flags & ST_RDONLY ? "its file system is mounted read-only"
                                                       : NULL;
    }
}

bool folder_can_be(const char *path, struct err *err)
{
    struct walk walk = {.dir = -1};
    int fd = walk_path(&walk, path);
    bool can_be = fd >= 0 || (errno != ENOTDIR && errno != ELOOP);
    const char *why = can_be ? why_no_files(walk.dir) : NULL;

    if (!can_be)
        set_walk_error(&walk, path, err);
    else if (why)
        err_set(err, "%.1024s: %s; name another path", path, why);
    close_keeping_errno(walk.dir);
    close_keeping_errno(fd);
    return can_be && !why;
}

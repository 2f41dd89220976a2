/* SPDX-License-Identifier: Apache-2.0 */
/* examine_folder.c - can profiles be kept where the settings say? See examine.h. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/commands/examine.h"
#include "agent/commands/places.h"

enum { PATH_BYTES = 4096 };

/* What is there of a path that is made when it is needed. */
static void nearest_folder(const char *path, char out[PATH_BYTES])
{
    char *slash;

    (void)snprintf(out, PATH_BYTES, "%s", path);
    while (access(out, F_OK) != 0 && errno == ENOENT && (slash = strrchr(out, '/')))
        slash[slash == out] = '\0';
}

/* Writes a file as profiles are written. Gives errno. */
static int try_profile_write(const char *folder)
{
    char path[PATH_BYTES + 64], bytes[4096] = {0};
    int fd, cause = 0;

    (void)snprintf(path, sizeof(path), "%s/.pystrobe-doctor-%d", folder, (int)getpid());
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    if (write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes) || fsync(fd) != 0)
        cause = errno;
    (void)close(fd);
    (void)unlink(path);
    return cause;
}

/* Finds the first file or folder below a directory that we cannot use, or that has another owner
 * than the directory. Gives an errno, EPERM for another owner, and its path; 0: all is fine. */
static int find_spoiled(const char *folder, char out[PATH_BYTES])
{
    char path[PATH_BYTES], *paths[] = {path, NULL};
    FTS *walk;
    const FTSENT *at;
    uid_t owner = 0;
    int cause = 0;

    (void)snprintf(path, sizeof(path), "%s", folder);
    walk = fts_open(paths, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    while (walk && cause == 0 && (at = fts_read(walk))) {
        bool is_folder = at->fts_info == FTS_D || at->fts_info == FTS_DNR;

        if (at->fts_level == FTS_ROOTLEVEL)
            owner = at->fts_info == FTS_D ? at->fts_statp->st_uid : owner;
        else if ((!is_folder && at->fts_info != FTS_F) || strcmp(at->fts_name, "lost+found") == 0)
            continue; /* or gone */
        else if (at->fts_statp->st_uid != owner)
            cause = EPERM;
        else if (faccessat(AT_FDCWD, at->fts_path, is_folder ? R_OK | W_OK | X_OK : R_OK,
                           AT_EACCESS) != 0 &&
                 errno != ENOENT)
            cause = errno;
        (void)snprintf(out, PATH_BYTES, "%s", at->fts_path);
    }
    if (walk)
        (void)fts_close(walk);
    return cause;
}

/* Tells of a file or folder that another user has left there, such as an older pystrobe as root. */
static void examine_entries(struct findings *out, const char *check, const char *folder)
{
    char entry[PATH_BYTES], cure[2 * PATH_BYTES + 64];
    int cause = find_spoiled(folder, entry);

    if (cause == EPERM)
        (void)snprintf(cure, sizeof(cure), "chown -R --reference=%s %s", folder, folder);
    else
        (void)snprintf(cure, sizeof(cure), "chmod -R u+rwX %s", folder);
    if (cause != 0)
        findings_add(out, FINDING_BAD, check, cure, "%s: %s", entry,
                     cause == EPERM ? "belongs to another user than the directory"
                                    : strerror(cause));
}

/* The one line that lets us write there. */
static void write_cure(int cause, const char *folder, char *out, size_t size)
{
    struct passwd *user = getpwuid(geteuid());

    switch (cause) {
    case EACCES:
    case EPERM:
        if (user)
            (void)snprintf(out, size,
                           "chown %s: %s, or run pystrobe as the user that it belongs to",
                           user->pw_name, folder);
        else
            (void)snprintf(out, size,
                           "chown %u: %s, or run pystrobe as the user that it belongs to",
                           (unsigned)geteuid(), folder);
        break;
    case ENOSPC:
    case EDQUOT:
        (void)snprintf(out, size, "make room on that disk, or name a directory on another");
        break;
    default:
        (void)snprintf(out, size, "name a directory that can be written");
    }
}

static void examine_folder(struct findings *out, const char *check, const char *path,
                           uint64_t min_free)
{
    char folder[PATH_BYTES], cure[PATH_BYTES + 128];
    struct statvfs disk;
    uint64_t left;
    int cause;

    nearest_folder(path, folder);
    cause = try_profile_write(folder);
    if (cause == 0 && statvfs(folder, &disk) != 0)
        cause = errno;
    write_cure(cause ? cause : ENOSPC, folder, cure, sizeof(cure));
    if (cause != 0) {
        findings_add(out, FINDING_BAD, check, cure, "%s: %s", folder, strerror(cause));
        return;
    }
    left = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (left < min_free)
        findings_add(out, FINDING_BAD, check, cure,
                     "%s: %llu MiB free, and spool_min_free is %llu MiB", folder,
                     (unsigned long long)left >> 20, (unsigned long long)min_free >> 20);
    else
        findings_add(out, FINDING_GOOD, check, "", "%s%s can be written, %llu MiB free", folder,
                     strcmp(folder, path) != 0 ? ", where it will be made," : "",
                     (unsigned long long)left >> 20);
    if (strcmp(folder, path) == 0)
        examine_entries(out, check, folder);
}

static void examine_place(void *ctx, const struct place *place)
{
    struct findings *out = ctx;
    struct err err = {""};

    if (!place_can_be(place, &err))
        findings_add(out, FINDING_BAD, place->name, EXAMINE_SETTING_CURE, "%s", err.text);
    else if (!place->can_be)
        examine_folder(out, place->name, place->path, place->min_free_bytes);
}

void examine_places(struct findings *out, const struct conf *conf)
{
    places_each(conf, examine_place, out);
}

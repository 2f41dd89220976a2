/* SPDX-License-Identifier: Apache-2.0 */
/* denied.c - see denied.h. */
#include "agent/host/denied.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path, or what of its start keeps us out: a directory that may not be searched. */
static bool find_shut(const char *path, char shut[PATH_MAX], struct stat *info)
{
    char *slash;

    if ((size_t)snprintf(shut, PATH_MAX, "%s", path) >= PATH_MAX)
        return false;
    while (stat(shut, info) != 0) {
        slash = strrchr(shut, '/');
        if (errno != EACCES || !slash || slash == shut)
            return false;
        *slash = '\0';
    }
    return true;
}

const char *denied_text(const char *path, int cause, char out[DENIED_TEXT_MAX])
{
    char shut[PATH_MAX];
    struct stat info;
    const struct passwd *user;
    const struct group *group;
    int used = snprintf(out, DENIED_TEXT_MAX, "%s", strerror(cause));

    if (cause != EACCES || !find_shut(path, shut, &info))
        return out;
    user = getpwuid(info.st_uid);
    group = (info.st_mode & S_IRGRP) && info.st_gid != 0 ? getgrgid(info.st_gid) : NULL;
    used +=
        snprintf(out + used, (size_t)(DENIED_TEXT_MAX - used), ", because %s belongs to %.32s%s",
                 strcmp(shut, path) == 0 ? "it" : "a directory above it",
                 user ? user->pw_name : "another user",
                 info.st_uid == 0 ? "; run this as root" : "; run this as root or as that user");
    if (group)
        (void)snprintf(out + used, (size_t)(DENIED_TEXT_MAX - used),
                       ", or join its group: usermod -aG %.32s USER, then log in again",
                       group->gr_name);
    return out;
}

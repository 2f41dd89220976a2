/* SPDX-License-Identifier: Apache-2.0 */
/* denied.c - see denied.h. */
#include "base/denied.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MAX = 4096 };

/* Cuts the last part off a path. False: there is none left. */
static bool cut_part(char path[PATH_MAX])
{
    char *slash = strrchr(path, '/');

    if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
        return false;
    if (!slash)
        (void)snprintf(path, PATH_MAX, ".");
    else if (slash == path)
        path[1] = '\0';
    else
        *slash = '\0';
    return true;
}

/* The path, or what of its start keeps us out: a directory that may not be searched, or in which
 * the rest cannot be made. */
static bool find_shut(const char *path, char shut[PATH_MAX], struct stat *info)
{
    if ((size_t)snprintf(shut, PATH_MAX, "%s", path) >= PATH_MAX)
        return false;
    while (stat(shut, info) != 0)
        if ((errno != EACCES && errno != ENOENT) || !cut_part(shut))
            return false;
    return true;
}

/* Adds who may read what keeps us out. */
static void add_cure(const struct stat *info, bool is_path, char *out, size_t size)
{
    char names[NAMES_MAX];
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    int used;

    (void)getpwuid_r(info->st_uid, &user, names, sizeof(names), &found_user);
    used = snprintf(
        out, size, ", because %s belongs to %.32s%s", is_path ? "it" : "a directory above it",
        found_user ? user.pw_name : "another user",
        info->st_uid == 0 ? "; run this as root" : "; run this as root or as that user");
    if (info->st_mode & S_IRGRP && info->st_gid != 0)
        (void)getgrgid_r(info->st_gid, &group, names, sizeof(names), &found_group);
    if (found_group && used > 0 && (size_t)used < size)
        (void)snprintf(out + used, size - (size_t)used,
                       ", or join its group: usermod -aG %.32s USER, then log in again",
                       group.gr_name);
}

const char *denied_text(const char *path, int cause, char out[DENIED_TEXT_MAX])
{
    char shut[PATH_MAX];
    struct stat info;
    const int used = snprintf(out, DENIED_TEXT_MAX, "%s", strerror(cause));

    if (cause == EACCES && find_shut(path, shut, &info))
        add_cure(&info, strcmp(shut, path) == 0, out + used, DENIED_TEXT_MAX - (size_t)used);
    return out;
}

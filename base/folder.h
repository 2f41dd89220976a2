/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - opens a directory that the settings name, and follows no other user's symbolic link.
 *
 * Links:   a symbolic link in any part of the path is followed only if it belongs to this process's
 *          user or to root, because the owner of a link chooses where it leads.
 * Threads: all functions may be called from any thread; they keep no state.
 */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include <stdbool.h>

#include "base/err.h"

enum folder_flag {
    FOLDER_MAKE = 1, /* make it and its parents if absent; durable.h tells owner and mode */
    FOLDER_OWN = 2,  /* refuse it unless it belongs to this process's user or to root */
};

/*
 * Opens a directory to list it and to work in it. `flags`: bits of enum folder_flag.
 *
 * Gives:  a descriptor, which the caller closes.
 * Errors: -1 and errno; `err` has the path, the cause and, for another owner, a remedy. EPERM: it
 *         or a link on the way belongs to another user.
 * Cost:   two system calls for each part of the path.
 */
MUST_CHECK int folder_open(const char *path, unsigned flags, struct err *err);

/* Checks, without making anything, whether the path can become a directory for files. False, and
 * `err`: a part of it is a file, its links form a loop, or its file system is read-only, proc,
 * sysfs or cgroup. Absent parts and missing rights do not count: they may change. */
MUST_CHECK bool folder_can_be(const char *path, struct err *err);

#endif

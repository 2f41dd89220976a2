/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - opens a directory that the settings name, as other users cannot have redirected it.
 *
 * Links:   a symbolic link on the way, in each part of the path, is followed only if it belongs to
 *          us or to root: whoever owns a link chooses where we write.
 * Threads: functions of their arguments alone.
 */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include <stdbool.h>

#include "base/err.h"

enum folder_flag {
    FOLDER_MAKE = 1, /* make it (0700) and those above it, as far as they are absent */
    FOLDER_OWN = 2,  /* refuse it unless it belongs to us or to root */
};

/*
 * Opens a directory to list it and to work in it. `flags`: of folder_flag.
 *
 * Gives:  a descriptor; -1 and errno. EPERM: it, or a link on the way, belongs to another user.
 * Errors: `err` names the path, the cause and, for another owner, what to do.
 * Cost:   two calls for each part of the path.
 */
MUST_CHECK int folder_open(const char *path, unsigned flags, struct err *err);

/* True unless a file stands where the path needs a directory, links lead round in a circle, or its
 * file system takes no files: /proc, /sys, one that is mounted read-only. What is absent can be
 * made, and rights depend on who asks. `err` is set if false. Makes nothing. */
MUST_CHECK bool folder_can_be(const char *path, struct err *err);

#endif

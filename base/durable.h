/* SPDX-License-Identifier: Apache-2.0 */
/*
 * durable.h - writes a file so that after a crash it is complete or absent.
 *
 * Owner:   what root makes gets the owner and group of its parent directory, so that root can share
 *          the parent with its owner. What exists already keeps its owner.
 * Mode:    0600, and 0700 for directories. If the parent has mode 0750 and the same group, the
 *          group may read: 0640, and 0750 for directories.
 * Threads: all functions may be called from any thread; they keep no state.
 */
#ifndef BASE_DURABLE_H
#define BASE_DURABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A part of a file's content: `size` bytes, borrowed. */
struct durable_part {
    const void *bytes;
    size_t size;
};

/*
 * Writes the parts into the new file `aside`, syncs it and renames it to `name`, which replaces a
 * file of that name. Both names are in the open directory `dir`. `aside` is locked (flock) until it
 * is renamed, so that an unlocked one is known to be left over from a crash.
 *
 * Errors: false and errno. If `aside` could be made, `aside` and `name` are both removed, even a
 *         `name` that was there before.
 */
MUST_CHECK bool durable_write(int dir, const char *aside, const char *name,
                              const struct durable_part *parts, size_t count);

/* Syncs the names in an open directory, if its file system can. False and errno on failure. */
MUST_CHECK bool durable_sync(int dir);

/* Removes `aside` if it is left over from a crash: a regular file that no process has locked. */
void durable_remove_leftover(int dir, const char *aside);

/*
 * As root, gives the open file `fd` the owner and group of `dir`, the directory it was made in. A
 * file that is not root's, or has any right for group or others, keeps its owner: another user may
 * have put it there. Without CAP_CHOWN the file stays root's.
 */
void durable_give(int fd, int dir);

/* Makes the directory `name` in the open directory `dir`. False and errno on failure. */
MUST_CHECK bool durable_make_folder(int dir, const char *name);

#endif

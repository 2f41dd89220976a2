/* SPDX-License-Identifier: Apache-2.0 */
/*
 * durable.h - brings a file into a directory whole, or not at all, whenever the machine stops.
 *
 * Owner:   what root makes gets the owner and group of the directory that it is in, so that root
 *          may share a directory with the user that it belongs to. What was there keeps its owner.
 * Mode:    closed to others. In a directory of mode 0750 its group may read what is made there with
 *          that group: 0640, and 0750 for directories.
 * Threads: functions of their arguments alone.
 */
#ifndef BASE_DURABLE_H
#define BASE_DURABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A piece of a file. Borrowed. */
struct durable_part {
    const void *bytes;
    size_t size;
};

/*
 * Writes the parts into the new file `aside` (mode as above), makes them durable and gives the file
 * its `name`, all in the open directory `dir`. While the file lies aside it is locked, so that
 * one that nobody has locked is left over from a crash.
 *
 * Errors: false and errno; nothing is left in the directory.
 */
MUST_CHECK bool durable_write(int dir, const char *aside, const char *name,
                              const struct durable_part *parts, size_t count);

/* Makes the names in a directory durable. False and errno on failure. */
MUST_CHECK bool durable_sync(int dir);

/* Removes a file that a crash has left aside: a regular one that nobody has locked. */
void durable_remove_leftover(int dir, const char *aside);

/*
 * Gives a new file the owner of the open directory that it was made in, if we are root. Only what
 * is root's and closed to others is given away: nobody gets another's by putting it in its place.
 * Where root may not do that (no CAP_CHOWN), it stays root's.
 */
void durable_give(int fd, int dir);

/* Makes a directory (mode as above) in an open one. False and errno. */
MUST_CHECK bool durable_make_folder(int dir, const char *name);

#endif

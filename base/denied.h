/* SPDX-License-Identifier: Apache-2.0 */
/* denied.h - says whose a file is that may not be opened, and what to do. */
#ifndef BASE_DENIED_H
#define BASE_DENIED_H

#include "base/err.h"

enum { DENIED_TEXT_MAX = 256 };

/*
 * Writes the text of errno `cause`, with which opening `path` failed. For EACCES it adds who owns
 * `path`, or the directory above it that may not be searched, and the remedy. Returns out.
 *
 * Threads: may be called from any thread.
 * Cost:    for EACCES it looks up a user and a group, which may ask a directory service.
 */
const char *denied_text(const char *path, int cause, char out[DENIED_TEXT_MAX]);

#endif

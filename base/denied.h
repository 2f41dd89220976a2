/* SPDX-License-Identifier: Apache-2.0 */
/* denied.h - explains why a file could not be opened: its owner, and a remedy. */
#ifndef BASE_DENIED_H
#define BASE_DENIED_H

#include "base/err.h"

enum { DENIED_TEXT_MAX = 256 };

/*
 * Writes the text of errno `cause`, the reason why opening `path` failed. For EACCES it adds the
 * owner of `path`, or of the directory above it that denies access, and a remedy. Returns `out`.
 *
 * Threads: any.
 * Cost:    for EACCES it looks up a user and a group; NSS may ask a directory server.
 */
const char *denied_text(const char *path, int cause, char out[DENIED_TEXT_MAX]);

#endif

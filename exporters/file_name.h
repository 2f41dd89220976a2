/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_name.h - turns the pattern of a `type = file` exporter into names of files.
 *
 * A pattern is an absolute path; in its last part {service}, {type} and {start} are replaced by
 * those of the profile. A second file of the same name gets "-2" before the first dot that follows
 * the last of them, the third "-3", and so on.
 *
 * Threads: all functions may be called from any thread; they keep no state.
 */
#ifndef EXPORTERS_FILE_NAME_H
#define EXPORTERS_FILE_NAME_H

#include <regex.h>

#include "exporters/exporter.h"

enum { FILE_NAME_SIZE = 256 }; /* bytes of the longest file name, with its NUL */

/* Gives NULL if the pattern can be used; else what is wrong with it. Static. */
const char *file_name_check(const char *pattern);

/* True if the pattern has {type}, so that each type gets a file of its own. */
bool file_name_has_type(const char *pattern);

/* Writes the name, without the directory, of the `number`th file of this name, from 1. False: it is
 * longer than 255 bytes, or out of memory. */
MUST_CHECK bool file_name_write(const char *pattern, const struct exporter_profile *profile,
                                unsigned number, char out[FILE_NAME_SIZE]);

/* Compiles a regular expression for all names of a pattern, for regfree. False: out of memory. */
MUST_CHECK bool file_name_matcher(const char *pattern, regex_t *out);

#endif

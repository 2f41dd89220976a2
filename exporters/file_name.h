/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_name.h - turns the pattern of a `type = file` exporter into names of files.
 *
 * A pattern is an absolute path in whose last part {service}, {type} and {start} stand
 * for those of the profile. Two files never get one name: the second has "-2" after
 * the last of them, and so on.
 *
 * Threads: functions of their arguments alone.
 */
#ifndef EXPORTERS_FILE_NAME_H
#define EXPORTERS_FILE_NAME_H

#include <regex.h>

#include "exporters/exporter.h"

enum { FILE_NAME_SIZE = 256 }; /* room for any name that a directory takes */

/* NULL when the pattern can be used; else what is wrong with it. */
const char *file_name_check(const char *pattern);

/* True if the files are one a type. */
bool file_name_has_type(const char *pattern);

/* Writes the name for the `number`th file (1: the first). False: it is longer than 255 bytes. */
MUST_CHECK bool file_name_write(const char *pattern, const struct exporter_profile *profile,
                                unsigned number, char out[FILE_NAME_SIZE]);

/* Makes what matches all the names of a pattern, for regfree to end. False: no memory. */
MUST_CHECK bool file_name_matcher(const char *pattern, regex_t *out);

#endif

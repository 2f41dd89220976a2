/* SPDX-License-Identifier: Apache-2.0 */
/* output_format.h - chooses the format in which `record` and `report` write. */
#ifndef AGENT_CLI_OUTPUT_FORMAT_H
#define AGENT_CLI_OUTPUT_FORMAT_H

#include <stdbool.h>

#include "base/err.h"
#include "formats/format.h"

/*
 * Chooses the format by its `name`, the argument of -f. If `name` is NULL, chooses by the output:
 * - For a file, the ending of `path` decides.
 * - If `path` is NULL or "-" (the standard output), or names a pipe, a device or a directory, the
 *   format is `usual`. If `usual` is NULL, *out is NULL, and that is no error.
 *
 * Gives:  *out, a static format; unchanged on failure.
 * Errors: false, with a message on stderr: no format has this name; `path` has the ending of no
 *         format; or the format is binary, and the output is a terminal (output_is_terminal).
 */
MUST_CHECK bool output_format_choose(const char *name, const char *path, const struct format *usual,
                                     const struct format **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* output_format.h - chooses the format in which `record` and `report` write. */
#ifndef AGENT_CLI_OUTPUT_FORMAT_H
#define AGENT_CLI_OUTPUT_FORMAT_H

#include <stdbool.h>

#include "base/err.h"
#include "formats/format.h"

/*
 * Chooses by `name` (of -f); if that is NULL, by the ending of `path`. For the standard output
 * (`path` NULL or "-"), a pipe and a device no ending counts: *out is `usual`, which may be NULL
 * (`report`: a table).
 *
 * Errors: false: the name or ending is not known, or the format is binary and the output a
 *         terminal; a message was printed.
 */
MUST_CHECK bool output_format_choose(const char *name, const char *path, const struct format *usual,
                                     const struct format **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* output_format.h - chooses the format of an output, of record and of report. */
#ifndef AGENT_CLI_OUTPUT_FORMAT_H
#define AGENT_CLI_OUTPUT_FORMAT_H

#include <stdbool.h>

#include "base/err.h"
#include "formats/format.h"

/*
 * Chooses by `name`, what -f says; without one by the ending of the file `path`. What is no file,
 * the standard output or a pipe, needs no ending: it gets `usual`, which is NULL for a table.
 *
 * Errors: false: no format is called so or ends so, or it is nothing for a terminal; it was said.
 */
MUST_CHECK bool output_format_choose(const char *name, const char *path, const struct format *usual,
                                     const struct format **out);

#endif

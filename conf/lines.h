/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - splits ini text into sections and pairs, with inih and checks that inih lacks.
 *
 * Shape:   conf_lines_each once for each text; it calls back in the order of the lines.
 */
#ifndef CONF_LINES_H
#define CONF_LINES_H

#include <stddef.h>

#include "conf/conf.h"

enum { CONF_LINE_MAX = 8192 }; /* bytes of a line; a label's name and value take up to 3072 */

/* Callbacks. `line` counts from 1. Strings are lent until the callback returns. */
struct conf_lines_to {
    /* A "[text]" line; blanks inside the brackets are trimmed. */
    void (*section)(void *ctx, unsigned line, const char *text);
    /* A "name = value" line; the value may be "". */
    void (*pair)(void *ctx, unsigned line, const char *name, const char *value);
    /* A line that is neither, or is not allowed; `why` follows "the line" in a message. */
    void (*bad)(void *ctx, unsigned line, const char *why);
};

/* Calls back for each line that is neither blank nor a comment. Errors: CONF_NOMEM. */
MUST_CHECK enum conf_rc conf_lines_each(const char *text, size_t size,
                                        const struct conf_lines_to *to, void *ctx);

#endif

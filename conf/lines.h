/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - ini text to sections and pairs: what inih does, and what it leaves out.
 *
 * Shape:   conf_lines_each once a text; it calls back in the order of the lines.
 */
#ifndef CONF_LINES_H
#define CONF_LINES_H

#include <stddef.h>

#include "conf/conf.h"

enum { CONF_LINE_MAX = 8192 }; /* bytes; a label's name and value are 3072 at most */

/* Who is told. Strings are lent until the call returns. */
struct conf_lines_to {
    /* A "[text]" line; blanks inside the brackets are trimmed. */
    void (*section)(void *ctx, unsigned line, const char *text);
    /* A "name = value" line; the value may be "". */
    void (*pair)(void *ctx, unsigned line, const char *name, const char *value);
    /* A line that is neither. */
    void (*bad)(void *ctx, unsigned line, const char *why);
};

/* Calls back for each line that is not blank or a comment. Errors: CONF_NOMEM. */
MUST_CHECK enum conf_rc conf_lines_each(const char *text, size_t size,
                                        const struct conf_lines_to *to, void *ctx);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errors.h - the mistakes of one ini text, kept until all are known.
 *
 * Shape:   conf_errors_init, conf_errors_add..., conf_errors_print.
 */
#ifndef CONF_ERRORS_H
#define CONF_ERRORS_H

#include "base/arena.h"
#include "conf/conf.h"

enum { CONF_ERRORS_MAX = 50 }; /* kept and printed; further ones are only counted */

struct conf_error {
    unsigned line;    /* a place, see settings.h; one without a line is a file as a whole */
    const char *text; /* in the arena */
};

struct conf_errors {
    struct arena *arena; /* borrowed: holds the texts */
    unsigned count;      /* all that were added */
    bool nomem;          /* a text could not be kept */
    struct conf_error kept[CONF_ERRORS_MAX];
};

void conf_errors_init(struct conf_errors *errors, struct arena *arena);

/* Adds a mistake at a place. */
void conf_errors_add(struct conf_errors *errors, unsigned line, const char *format, ...)
    PRINTF_LIKE(3, 4);

struct conf_origin; /* private: settings.h */

/* Sorts them by place, and appends "FILE:LINE: text\n" for each, then how many more there are. */
void conf_errors_print(struct conf_errors *errors, const struct conf_origin *origin,
                       struct buf *out);

#endif

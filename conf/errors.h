/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errors.h - collects the mistakes in all sources of settings, to print them sorted.
 *
 * Shape:   conf_errors_init, conf_errors_add..., conf_errors_print.
 */
#ifndef CONF_ERRORS_H
#define CONF_ERRORS_H

#include "base/arena.h"
#include "conf/conf.h"

enum { CONF_ERRORS_MAX = 50 }; /* mistakes that are kept; further ones are only counted */

struct conf_error {
    unsigned line;    /* place of the mistake, see settings.h; line 0 of a file: the whole file */
    const char *text; /* message without the place; owned by the arena */
};

struct conf_errors {
    struct arena *arena; /* borrowed: holds the texts */
    unsigned count;      /* mistakes added, those that were not kept included */
    bool nomem;          /* no memory for a text */
    struct conf_error kept[CONF_ERRORS_MAX];
};

/* Makes an empty list. */
void conf_errors_init(struct conf_errors *errors, struct arena *arena);

/* Adds a mistake; `line` is its place. */
void conf_errors_add(struct conf_errors *errors, unsigned line, const char *format, ...)
    PRINTF_LIKE(3, 4);

struct conf_origin; /* private: settings.h */

/* Sorts by place and appends "FILE:LINE: text\n" for each mistake kept, then how many others. */
void conf_errors_print(struct conf_errors *errors, const struct conf_origin *origin,
                       struct buf *out);

#endif

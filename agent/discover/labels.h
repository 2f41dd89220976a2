/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.h - the labels of one service: names with values, in the order of the names.
 *
 * They hold no pointer, so that they may be copied, compared and sent as they are.
 */
#ifndef AGENT_DISCOVER_LABELS_H
#define AGENT_DISCOVER_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { LABELS_MAX = 24, LABELS_TEXT_MAX = 3072, LABEL_VALUE_MAX = 512 }; /* labels; bytes; bytes */

struct labels {
    size_t count, size;         /* labels; bytes of `text` */
    char text[LABELS_TEXT_MAX]; /* NAME, 0, VALUE, 0 ... */
};

/*
 * Adds a label, unless there is one of that name already, there is no room, or the value is
 * empty. The value may hold any bytes: labels_clean escapes them, and cuts them to less than
 * LABEL_VALUE_MAX. The name is not checked.
 */
void labels_put(struct labels *labels, const char *name, const char *value);

/* The value of a label; NULL: there is none of that name. */
const char *labels_get(const struct labels *labels, const char *name);

/* Lends the next label; the caller sets *at to 0 before the first call. False: there is none. */
MUST_CHECK bool labels_next(const struct labels *labels, size_t *at, const char **name,
                            const char **value);

MUST_CHECK bool labels_equal(const struct labels *a, const struct labels *b);

/* Checks a struct that came from another process: true if `size`, `count` and `text` agree. */
MUST_CHECK bool labels_are_good(const struct labels *labels);

/* Writes any text as printable UTF-8 of less than `size` bytes; other bytes become \x1b and so on.
 * Without memory *out is "". */
void labels_clean(const char *text, char *out, size_t size);

/* The names of the labels that the agent can detect; ends with NULL. */
extern const char *const labels_found[];

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.h - converts the text of one value to its field, and back.
 */
#ifndef CONF_VALUES_H
#define CONF_VALUES_H

#include "base/arena.h"
#include "conf/options.h"

enum {
    CONF_ALLOWED_MAX = 128,     /* bytes of conf_value_allowed's text, with its NUL */
    CONF_VALUE_MAX = 1024,      /* bytes of a text, path, pattern, URL */
    CONF_LABEL_NAME_MAX = 1024, /* bytes: the limit of a Pyroscope server */
    CONF_LABEL_VALUE_MAX = 2048 /* bytes, likewise; also of the other free keys */
};

/*
 * Parses `text` into the field of `option` in `section`, the struct of the section's kind. A string
 * is copied to `arena`.
 *
 * Errors: CONF_BAD, `err` says what is wrong and what is allowed; CONF_NOMEM.
 */
MUST_CHECK enum conf_rc conf_value_read(const struct conf_option *option, const char *text,
                                        void *section, struct arena *arena, struct err *err);

/* Checks the NAME and the value of a free key. Errors: CONF_BAD, `err` as in conf_value_read. */
MUST_CHECK enum conf_rc conf_entry_check(const struct conf_option *option, const char *name,
                                         const char *value, struct err *err);

/* Appends the field's value as ini text. False: it is not set; nothing is appended. */
bool conf_value_print(const struct conf_option *option, const void *section, struct buf *out);

/* Writes which values the option allows, e.g. "0.1Hz to 1000Hz". Returns `out`. */
const char *conf_value_allowed(const struct conf_option *option, char out[CONF_ALLOWED_MAX]);

/* True for free keys that set HTTP headers. */
bool conf_is_header(const struct conf_option *option);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - checks the bytes of ini text, and quotes text for messages.
 */
#ifndef CONF_TEXT_H
#define CONF_TEXT_H

#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"

enum { CONF_QUOTE_MAX = 80 }; /* bytes of one quoted text, with its NUL */

/*
 * Checks that a line has no NUL byte, no control character but tab, and only valid UTF-8.
 *
 * Errors: CONF_BAD, `err` tells the first bad byte and its column, counted in bytes from 1.
 */
MUST_CHECK enum conf_rc conf_text_check(const char *bytes, size_t size, struct err *err);

/* Writes `text` in double quotes, cut if long; control characters and bytes that are not UTF-8
 * become \xNN. Returns `out`. */
const char *conf_quote(char out[CONF_QUOTE_MAX], const char *text);

/* Gives an ASCII letter in lower case, any other character unchanged. */
char conf_lower(char c);

#endif

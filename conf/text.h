/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - what may stand in text, and how it is shown in messages.
 */
#ifndef CONF_TEXT_H
#define CONF_TEXT_H

#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"

enum { CONF_QUOTE_MAX = 80 }; /* room for one quoted text */

/*
 * Looks for the first thing that a line of text may not hold: a NUL byte, a
 * control character other than tab, or bytes that are not UTF-8.
 *
 * Errors: CONF_BAD, `err` names the byte and its column.
 */
MUST_CHECK enum conf_rc conf_text_check(const char *bytes, size_t size, struct err *err);

/* Writes `text` in double quotes, cut when long, with control characters escaped. Returns out. */
const char *conf_quote(char out[CONF_QUOTE_MAX], const char *text);

/* A letter of ASCII in lower case; any other character as it is. */
char conf_lower(char c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - writes JSON values. Callers append braces, brackets, commas and colons themselves.
 *
 * Strings are UTF-8 and stay so, except control characters and marks of text direction, which
 * become \uXXXX because a terminal obeys them. The plain form escapes '"' and '\' by a backslash.
 * The form for HTML writes '"', '\' and '<' as \u0022, \u005c and \u003c, so that no string ends
 * the <script> element around the JSON.
 *
 * Errors: `out` remembers them, as base/buf.h says.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

/* Appends a string in quotes, null for NULL. */
void json_string(struct buf *out, const char *str);

/* Appends `before`, such as `, "name": `, and a string in quotes, null for NULL. */
void json_member(struct buf *out, const char *before, const char *str);

/* json_string and json_member in the form for HTML. */
void json_html_string(struct buf *out, const char *str);
void json_html_member(struct buf *out, const char *before, const char *str);

/* Appends text for the inside of a string, without quotes, in the form for HTML. */
void json_html_part(struct buf *out, const char *str);

/* Appends `before` and a number above 0; null for 0 and below, which stand for "not known". */
void json_count(struct buf *out, const char *before, int32_t number);

/* Gives "true" or "false". */
const char *json_bool(bool value);

#endif

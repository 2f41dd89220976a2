/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - writes JSON values. What is around them, callers append as it is.
 *
 * Texts are UTF-8, which stays as it is; control characters become \u001f. Two forms: the plain one
 * writes \" and \\; the one for HTML writes \u0022, \u005c and \u003c, so that no text ends the
 * <script> that the JSON is in.
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

/* The same in the form for HTML. */
void json_html_string(struct buf *out, const char *str);
void json_html_member(struct buf *out, const char *before, const char *str);

/* Appends a part of a string, without quotes, in the form for HTML. */
void json_html_part(struct buf *out, const char *str);

/* Appends `before` and a number that counts from 1; null for 0, which is one that is not known. */
void json_count(struct buf *out, const char *before, int32_t number);

/* Gives "true" or "false". */
const char *json_bool(bool value);

#endif

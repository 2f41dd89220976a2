/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - escapes untrusted text for HTML, XML, lines and terminals, and formats values. */
#ifndef FORMATS_TEXT_H
#define FORMATS_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "pprof/stacks.h"

/* Appends text escaped for elements and quoted attributes of HTML and XML; characters that XML does
 * not allow become U+FFFD. */
void text_markup(struct buf *out, const char *text);

/* Appends text for a part of a line: `separator` becomes ':', control characters and marks of text
 * direction become blanks. */
void text_line(struct buf *out, const char *text, char separator);

/* Appends text for a terminal: control characters and marks of text direction become '?'. */
void text_plain(struct buf *out, const char *text);

/* Gives the last part of a path; the whole path if it ends in '/'. Lends: a part of `path`. */
const char *text_base(const char *path);

/* Gives one `unit` in seconds: 1e-9 for "nanoseconds"; 0: no unit of time. */
double text_seconds(const char *unit);

/* Appends a value: a time in h, s, ms or us, else the number and the unit, which `add_text`
 * escapes: text_markup or text_plain. */
void text_value(struct buf *out, int64_t value, const char *unit,
                void (*add_text)(struct buf *out, const char *text));

/* Kind of code, for colours: the program's own, an installed library, no file ("<GC>"). */
enum text_kind { TEXT_APP, TEXT_LIBRARY, TEXT_RUNTIME };

/* Gives the kind of code in `file`; "": no file. */
enum text_kind text_kind_of(const char *file);

#endif

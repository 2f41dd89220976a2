/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - writes foreign text so that it stays text in HTML and XML, and on a line. */
#ifndef FORMATS_TEXT_H
#define FORMATS_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "pprof/stacks.h"

/* Appends text for elements and quoted attributes of HTML and XML; what XML has no place for
 * becomes U+FFFD. */
void text_markup(struct buf *out, const char *text);

/* Appends text for one line in which `separator` parts things: that becomes ':', and control
 * characters blanks. */
void text_line(struct buf *out, const char *text, char separator);

/* Appends text for a terminal: what it would obey instead of showing becomes '?'. */
void text_plain(struct buf *out, const char *text);

/* The last part of a path. */
const char *text_base(const char *path);

/* How long one `unit` is in seconds, 1e-9 for "nanoseconds"; 0: it is no unit of time. */
double text_seconds(const char *unit);

/* Appends a value for people: a time in the unit that leaves few digits, or a number. */
void text_value(struct buf *out, int64_t value, const char *unit);

/* What kind of code a file is, for colours. */
enum text_kind { TEXT_APP, TEXT_LIBRARY, TEXT_RUNTIME };

/* Tells a program's own files from those that are installed, and both from none ("<GC>"). */
enum text_kind text_kind_of(const char *file);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - makes any bytes a text that every pprof reader takes.
 *
 * A pprof text is valid UTF-8 (Pyroscope refuses the whole profile otherwise), and
 * here without NUL too, because it is handled as a C string.
 */
#ifndef PPROF_UTF8_H
#define PPROF_UTF8_H

#include <stddef.h>

#include "base/buf.h"

/* How many bytes from the start are good text: `size` if all are. */
size_t utf8_good(const void *bytes, size_t size);

/* Appends the text with U+FFFD for each byte that does not belong. */
void utf8_repair(const void *bytes, size_t size, struct buf *out);

#endif

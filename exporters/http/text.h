/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - makes untrusted text safe for a log line, and valid UTF-8 for a server.
 *
 * Threads: all functions may be called from any thread; they keep no state.
 */
#ifndef EXPORTERS_HTTP_TEXT_H
#define EXPORTERS_HTTP_TEXT_H

#include <stddef.h>

/*
 * Writes `bytes` as one line that is safe to print: control characters and bytes that are not UTF-8
 * become \xNN. Cut between two characters; always ends with a NUL.
 *
 * Gives: the bytes written without the NUL, at most out_size - 1.
 */
size_t text_printable(const void *bytes, size_t size, char *out, size_t out_size);

/*
 * Copies up to `max` bytes of a string, cut between two characters; each byte that is not UTF-8
 * becomes '?'. `out` must have room for `max` + 1 bytes.
 */
void text_utf8_copy(const char *str, size_t max, char *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - makes text from outside fit for a log line or a server.
 *
 * Threads: functions of their arguments alone.
 */
#ifndef EXPORTERS_HTTP_TEXT_H
#define EXPORTERS_HTTP_TEXT_H

#include <stddef.h>

/*
 * Writes `bytes` as one line that is safe to print: control characters and what
 * is not UTF-8 become \xNN. Cut between two characters; always NUL-terminated.
 *
 * Gives: the bytes written without the NUL, at most out_size - 1.
 */
size_t text_printable(const void *bytes, size_t size, char *out, size_t out_size);

/*
 * Copies a string of at most `max` bytes, cut between two characters; each byte
 * that is not UTF-8 becomes '?'. `out` has room for max + 1 bytes.
 */
void text_utf8_copy(const char *str, size_t max, char *out);

#endif

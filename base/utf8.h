/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - decodes, encodes, checks and repairs UTF-8.
 *
 * Valid is what the Unicode Standard has in table 3-7: no overlong forms, no surrogates, nothing
 * above U+10FFFF.
 *
 * Threads: functions of their arguments alone.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

enum { UTF8_CHAR_MAX = 4 }; /* bytes of one character */

/*
 * Decodes the character that `bytes` begin with. Reads no byte after the first that is not part of
 * it, so `size` may be UTF8_CHAR_MAX for any string that ends with a NUL.
 *
 * Gives: its length, 1 to 4, and *out; 0 if there is no valid character: *out is untouched.
 */
size_t utf8_decode(const void *bytes, size_t size, uint32_t *out);

/* Encodes a character. Gives its length, 1 to 4; 0: `c` is a surrogate or above U+10FFFF. */
size_t utf8_encode(uint32_t c, char out[UTF8_CHAR_MAX]);

/* True for a byte within a character: text is not cut before it. */
static inline bool utf8_is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* True for control characters, which a terminal obeys: C0, DEL and C1. */
bool utf8_is_control(uint32_t c);

/* True for the marks that change the direction of text (Unicode's Bidi_Control). */
bool utf8_is_bidi_control(uint32_t c);

/* How many bytes from the start are valid and not NUL: `size` if all are. */
size_t utf8_good(const void *bytes, size_t size);

/* Appends the text with U+FFFD for each NUL and each byte that is not part of a valid character. */
void utf8_repair(const void *bytes, size_t size, struct buf *out);

#endif

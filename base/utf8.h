/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - decodes, encodes, checks and repairs UTF-8.
 *
 * Valid UTF-8 is that of table 3-7 of the Unicode Standard: no overlong forms, no surrogates,
 * nothing above U+10FFFF.
 *
 * Threads: all functions may be called from any thread; they keep no state.
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
 * Decodes the character at `bytes`. Stops reading at the first byte that is not part of it, so
 * `size` may be UTF8_CHAR_MAX for any string that ends with a NUL.
 *
 * Gives: the length in bytes, 1 to 4, and *out; 0: no valid character, and *out is untouched.
 */
size_t utf8_decode(const void *bytes, size_t size, uint32_t *out);

/* Encodes a character. Gives its length in bytes; 0: `c` is a surrogate or above U+10FFFF. */
size_t utf8_encode(uint32_t c, char out[UTF8_CHAR_MAX]);

/* True for the second and later bytes of a character: text must not be cut before them. */
static inline bool utf8_is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* True for the control characters C0, DEL and C1, which a terminal executes. */
bool utf8_is_control(uint32_t c);

/* True for the marks that change the direction of text (Unicode's Bidi_Control). */
bool utf8_is_bidi_control(uint32_t c);

/* Gives how many bytes from the start are valid UTF-8 without a NUL: `size` if all are. */
size_t utf8_good(const void *bytes, size_t size);

/* Appends the text with U+FFFD for each NUL and each byte that is not part of a valid character. */
void utf8_repair(const void *bytes, size_t size, struct buf *out);

#endif

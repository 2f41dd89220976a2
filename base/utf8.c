/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c - see utf8.h. */
#include "base/utf8.h"

static bool is_code_point(uint32_t c)
{
    return c < 0xd800 || (c > 0xdfff && c <= 0x10ffff);
}

/* How many bytes a character has that begins with `lead`; 0: none does. */
static size_t measure_utf8_char(unsigned char lead)
{
    return lead < 0x80   ? 1
           : lead < 0xc2 ? 0
           : lead < 0xe0 ? 2
           : lead < 0xf0 ? 3
           : lead < 0xf5 ? 4
                         : 0;
}

size_t utf8_decode(const void *bytes, size_t size, uint32_t *out)
{
    static const uint32_t least[UTF8_CHAR_MAX + 1] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = bytes;
    size_t i, length = size > 0 ? measure_utf8_char(at[0]) : 0;
    uint32_t c;

    if (length == 0 || length > size)
        return 0;
    c = length == 1 ? at[0] : at[0] & (0x7fU >> length);
    for (i = 1; i < length; i++) {
        if (!utf8_is_continuation((char)at[i]))
            return 0;
        c = c << 6 | (at[i] & 0x3f);
    }
    if (c < least[length] || !is_code_point(c))
        return 0;
    *out = c;
    return length;
}

size_t utf8_encode(uint32_t c, char out[UTF8_CHAR_MAX])
{
    static const unsigned char leads[UTF8_CHAR_MAX + 1] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t i, length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (!is_code_point(c))
        return 0;
    for (i = length - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(leads[length] | c);
    return length;
}

bool utf8_is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

bool utf8_is_bidi_control(uint32_t c)
{
    return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

size_t utf8_good(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    size_t good = 0, step = 1;
    uint32_t c;

    for (; good < size && step; good += step) {
        if (at[good] - 1U < 0x7f)
            step = 1;
        else
            step = at[good] ? utf8_decode(at + good, size - good, &c) : 0;
    }
    return good;
}

void utf8_repair(const void *bytes, size_t size, struct buf *out)
{
    const unsigned char *at = bytes;
    size_t good;

    for (;;) {
        good = utf8_good(at, size);
        buf_add(out, at, good);
        if (good == size)
            return;
        buf_add_str(out, UTF8_REPLACEMENT);
        at += good + 1;
        size -= good + 1;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. */
#include "exporters/http/text.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* One character, or one byte that cannot stay, as it is to be shown. */
static size_t escape_char_or_byte(const unsigned char *bytes, size_t size, char shown[5],
                                  size_t *shown_size)
{
    uint32_t c;
    size_t step = utf8_decode(bytes, size, &c);

    if (step > 0 && !utf8_is_control(c)) {
        memcpy(shown, bytes, step);
        *shown_size = step;
        return step;
    }
    *shown_size = (size_t)snprintf(shown, 5, "\\x%02x", bytes[0]);
    return 1;
}

size_t text_printable(const void *bytes, size_t size, char *out, size_t out_size)
{
    const unsigned char *in = bytes;
    size_t used = 0, at = 0;

    if (out_size == 0)
        return 0;
    while (at < size) {
        char shown[5];
        size_t shown_size, step = escape_char_or_byte(in + at, size - at, shown, &shown_size);

        if (shown_size > out_size - 1 - used)
            break;
        memcpy(out + used, shown, shown_size);
        used += shown_size;
        at += step;
    }
    out[used] = '\0';
    return used;
}

void text_utf8_copy(const char *str, size_t max, char *out)
{
    size_t size = strlen(str), at = 0;
    uint32_t c;

    while (at < size) {
        size_t step = utf8_decode(str + at, size - at, &c);
        size_t whole = step > 0 ? step : 1;

        if (whole > max - at)
            break;
        if (step > 0)
            memcpy(out + at, str + at, step);
        else
            out[at] = '?';
        at += whole;
    }
    out[at] = '\0';
}

/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - knows UTF-8, and which characters may not reach a terminal. */
#include "exporters/http/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What a first byte says: how many follow, and the range of the first of those. */
struct lead {
    unsigned char from, to, follow, low, high;
};

/* The Unicode Standard, table 3-7: no overlong forms, no surrogates, nothing past U+10FFFF. */
static const struct lead leads[] = {
    {0x00, 0x7f, 0, 0x00, 0x00}, {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
    {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
    {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

static const struct lead *find_lead(unsigned char byte)
{
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
        if (byte >= leads[i].from && byte <= leads[i].to)
            return &leads[i];
    }
    return NULL;
}

size_t text_utf8_step(const unsigned char *bytes, size_t size)
{
    const struct lead *lead = size > 0 ? find_lead(bytes[0]) : NULL;

    if (!lead || size <= lead->follow)
        return 0;
    if (lead->follow > 0 && (bytes[1] < lead->low || bytes[1] > lead->high))
        return 0;
    for (size_t i = 2; i <= lead->follow; i++) {
        if (bytes[i] < 0x80 || bytes[i] > 0xbf)
            return 0;
    }
    return 1U + lead->follow;
}

/* C0, DEL and C1: terminals obey them. */
static int is_utf8_control(const unsigned char *bytes, size_t step)
{
    if (step == 1)
        return bytes[0] < 0x20 || bytes[0] == 0x7f;
    return step == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0;
}

/* One character, or one byte that cannot stay, as it is to be shown. */
static size_t escape_char_or_byte(const unsigned char *bytes, size_t size, char shown[5],
                                  size_t *shown_size)
{
    size_t step = text_utf8_step(bytes, size);

    if (step > 0 && !is_utf8_control(bytes, step)) {
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
    const unsigned char *in = (const unsigned char *)str;
    size_t size = strlen(str), at = 0;

    while (at < size) {
        size_t step = text_utf8_step(in + at, size - at);
        size_t whole = step > 0 ? step : 1;

        if (whole > max - at)
            break;
        if (step > 0)
            memcpy(out + at, in + at, step);
        else
            out[at] = '?';
        at += whole;
    }
    out[at] = '\0';
}

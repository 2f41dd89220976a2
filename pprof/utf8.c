/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c - see utf8.h. */
#include "pprof/utf8.h"

#include <stdint.h>

/* What lead bytes from `first` on need: how many bytes follow, and the bounds of the next one. */
static const struct lead {
    unsigned char first, last, more, low, high;
} leads[] = {
    {0x01, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
    {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, /* no surrogates */
    {0xee, 0xef, 2, 0x80, 0xbf}, {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf},
    {0xf4, 0xf4, 3, 0x80, 0x8f}, /* up to U+10FFFF */
};

/* The length of the character at `at`; 0 if there is none. */
static size_t measure_utf8_char(const unsigned char *at, size_t size)
{
    const struct lead *lead = leads;
    const struct lead *end = leads + sizeof(leads) / sizeof(leads[0]);
    size_t i;

    while (lead < end && (at[0] < lead->first || at[0] > lead->last))
        lead++;
    if (lead == end || lead->more >= size)
        return 0;
    for (i = 1; i <= lead->more; i++) {
        if (at[i] < (i == 1 ? lead->low : 0x80) || at[i] > (i == 1 ? lead->high : 0xbf))
            return 0;
    }
    return i;
}

size_t utf8_good(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    size_t good = 0, step = 1;

    for (; good < size && step; good += step) {
        step = at[good] - 1U < 0x7f ? 1 : measure_utf8_char(at + good, size - good);
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
        buf_add(out, "\xef\xbf\xbd", 3);
        at += good + 1;
        size -= good + 1;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* escape.c - see escape.h. */
#include "agent/host/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NOT_UTF8 = -1, ESCAPE_MAX = sizeof(((struct escape_char *)NULL)->text) };

struct range {
    int32_t first, last;
};

/* Shown as escapes: C0, DEL and C1, marks of direction, line and paragraph separators, BOM. */
static const struct range hidden[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x61C, 0x61C},   {0x200E, 0x200F},
    {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF},
};

/* No column of their own: combining marks, joiners, variation selectors. */
static const struct range zero_width[] = {
    {0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x64B, 0x65F},
    {0xE31, 0xE31},   {0xE34, 0xE3A},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
    {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};

/* Two columns: East Asian wide and full-width characters, emoji (UAX #11, by blocks). */
static const struct range two_wide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97C},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1B000, 0x1B2FF}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD},
};

#define IS_IN(c, ranges) is_in(c, ranges, sizeof(ranges) / sizeof((ranges)[0]))

static bool is_in(int32_t c, const struct range *ranges, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

/* The character at `text`, NOT_UTF8 for a byte that begins none; gives how many bytes it has. */
static size_t decode_utf8_char(const unsigned char *text, size_t size, int32_t *out)
{
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = text[0];
    size_t i, length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    int32_t c = length < 2 ? lead : lead & (0x7F >> length);

    *out = NOT_UTF8;
    if (length == 0 || length > size || lead > 0xF4)
        return 1;
    for (i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 1;
        c = c << 6 | (text[i] & 0x3F);
    }
    if (c < least[length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 1;
    *out = c;
    return length;
}

/* Writes how a character is shown that is not shown as it is; gives the size, 0: as it is. */
static size_t escape(int32_t c, unsigned char byte, char out[ESCAPE_MAX])
{
    if (c == NOT_UTF8 || (c < 0x80 && IS_IN(c, hidden)))
        return (size_t)snprintf(out, ESCAPE_MAX, "\\x%02x", byte);
    if (IS_IN(c, hidden))
        return (size_t)snprintf(out, ESCAPE_MAX, "\\u%04x", (unsigned)c);
    return 0;
}

struct escape_char escape_next(const char *text, size_t size)
{
    struct escape_char out;
    int32_t c;

    out.taken = decode_utf8_char((const unsigned char *)text, size, &c);
    out.size = out.width = escape(c, (unsigned char)text[0], out.text);
    if (out.size > 0)
        return out;
    out.size = out.taken;
    memcpy(out.text, text, out.taken);
    out.width = IS_IN(c, zero_width) ? 0 : IS_IN(c, two_wide) ? 2 : 1;
    return out;
}

void escape_add(struct buf *out, const char *text, size_t size)
{
    struct escape_char next;
    size_t at;

    for (at = 0; at < size; at += next.taken) {
        next = escape_next(text + at, size - at);
        buf_add(out, next.text, next.size);
    }
}

void escape_add_str(struct buf *out, const char *text)
{
    escape_add(out, text, strlen(text));
}

size_t escape_width(const char *text, size_t size)
{
    struct escape_char next;
    size_t at, width = 0;

    for (at = 0; at < size; at += next.taken) {
        next = escape_next(text + at, size - at);
        width += next.width;
    }
    return width;
}

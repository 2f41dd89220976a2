/* SPDX-License-Identifier: Apache-2.0 */
/* escape.c - see escape.h. */
#include "agent/host/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

enum { ESCAPE_MAX = sizeof(((struct escape_char *)NULL)->text), JSON_TEXT_MAX = 64 * 1024 };

struct range {
    uint32_t first, last;
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

static bool is_in(uint32_t c, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

/* Shown as escapes: what a terminal obeys, marks of direction, line separators, BOM. */
static bool is_hidden(uint32_t c)
{
    return utf8_is_control(c) || utf8_is_bidi_control(c) || c == 0x2028 || c == 0x2029 ||
           c == 0xFEFF;
}

struct escape_char escape_next(const char *text, size_t size)
{
    struct escape_char out;
    uint32_t c = (unsigned char)text[0];
    size_t length = utf8_decode(text, size, &c);

    out.taken = length > 0 ? length : 1;
    if (length == 0 || is_hidden(c)) {
        out.size = out.width = (size_t)snprintf(out.text, ESCAPE_MAX,
                                                out.taken > 1 ? "\\u%04x" : "\\x%02x", (unsigned)c);
        return out;
    }
    out.size = length;
    memcpy(out.text, text, length);
    out.width = IS_IN(c, zero_width) ? 0 : IS_IN(c, two_wide) ? 2 : 1;
    return out;
}

void escape_add(struct buf *out, const char *text, size_t size)
{
    struct escape_char next;

    for (size_t at = 0; at < size; at += next.taken) {
        next = escape_next(text + at, size - at);
        buf_add(out, next.text, next.size);
    }
}

void escape_add_str(struct buf *out, const char *text)
{
    escape_add(out, text, strlen(text));
}

void escape_json(struct buf *out, const char *before, const char *text)
{
    struct buf shown;

    buf_init(&shown, JSON_TEXT_MAX);
    if (text)
        escape_add_str(&shown, text);
    json_member(out, before, !text ? NULL : buf_failed(&shown) ? "" : buf_text(&shown));
    buf_finish(&shown);
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

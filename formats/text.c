/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. */
#include "formats/text.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"

static const char *entity_of(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
    case '\n':
        return NULL;
    default:
        return c < 0x20 || c == 0x7f ? UTF8_REPLACEMENT : NULL;
    }
}

/* U+FFFE and U+FFFF, which are no characters of XML. */
static bool is_no_character(const char *text)
{
    return memcmp(text, "\xef\xbf\xbe", 3) == 0 || memcmp(text, "\xef\xbf\xbf", 3) == 0;
}

void text_markup(struct buf *out, const char *text)
{
    const char *from = text, *entity;
    size_t size;

    for (; *text; text++) {
        entity = entity_of((unsigned char)*text);
        size = 1;
        if (!entity && *text == '\xef' && text[1] && text[2] && is_no_character(text)) {
            entity = UTF8_REPLACEMENT;
            size = 3;
        }
        if (!entity)
            continue;
        buf_add(out, from, (size_t)(text - from));
        buf_add_str(out, entity);
        text += size - 1;
        from = text + 1;
    }
    buf_add(out, from, (size_t)(text - from));
}

/* Appends text with `instead` for what a terminal would obey, and ':' for `separator`. */
static void add_shown(struct buf *out, const char *text, const char *instead, char separator)
{
    size_t size;
    uint32_t c;

    for (; *text; text += size ? size : 1) {
        size = utf8_decode(text, UTF8_CHAR_MAX, &c);
        if (size && (utf8_is_control(c) || utf8_is_bidi_control(c)))
            buf_add(out, instead, 1);
        else if (*text == separator)
            buf_add(out, ":", 1);
        else
            buf_add(out, text, size ? size : 1);
    }
}

void text_line(struct buf *out, const char *text, char separator)
{
    add_shown(out, text, " ", separator);
}

void text_plain(struct buf *out, const char *text)
{
    add_shown(out, text, "?", '\0');
}

const char *text_base(const char *path)
{
    const char *name = file_base_name(path);

    return *name ? name : path;
}

double text_seconds(const char *unit)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {
        {"nanoseconds", 1e-9}, {"microseconds", 1e-6}, {"milliseconds", 1e-3}, {"seconds", 1},
        {"ns", 1e-9},          {"us", 1e-6},           {"ms", 1e-3},           {"s", 1}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(units[i].unit, unit) == 0)
            return units[i].seconds;
    return 0;
}

void text_value(struct buf *out, int64_t value, const char *unit,
                void (*add_text)(struct buf *out, const char *text))
{
    double seconds = (double)value * text_seconds(unit), size = seconds < 0 ? -seconds : seconds;

    if (text_seconds(unit) == 0) {
        buf_add_fmt(out, "%" PRId64 " ", value);
        add_text(out, unit);
    } else if (size >= 3600) {
        buf_add_fmt(out, "%.2f h", seconds / 3600);
    } else if (size >= 1) {
        buf_add_fmt(out, "%.2f s", seconds);
    } else if (size >= 1e-3) {
        buf_add_fmt(out, "%.2f ms", seconds * 1e3);
    } else {
        buf_add_fmt(out, "%.2f us", seconds * 1e6);
    }
}

enum text_kind text_kind_of(const char *file)
{
    static const char *const installed[] = {"/site-packages/", "/dist-packages/", "/lib/python",
                                            "/lib64/python", "<frozen "};

    for (size_t i = 0; i < sizeof(installed) / sizeof(installed[0]); i++)
        if (strstr(file, installed[i]))
            return TEXT_LIBRARY;
    return file[0] == '\0' ? TEXT_RUNTIME : TEXT_APP;
}

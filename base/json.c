/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - see json.h. */
#include "base/json.h"

#include <inttypes.h>

#include "base/utf8.h"

static void add_escaped(struct buf *out, const char *str, bool html)
{
    const char *from = str;
    size_t size;

    for (; *str; str += size ? size : 1) {
        uint32_t c = 0;
        const bool quoted = *str == '"' || *str == '\\';

        size = utf8_decode(str, UTF8_CHAR_MAX, &c);
        if (size == 0 ||
            !(quoted || (html && c == '<') || utf8_is_control(c) || utf8_is_bidi_control(c)))
            continue;
        buf_add(out, from, (size_t)(str - from));
        buf_add_fmt(out, quoted && !html ? "\\%c" : "\\u%04x", (unsigned)c);
        from = str + size;
    }
    buf_add(out, from, (size_t)(str - from));
}

static void add_quoted(struct buf *out, const char *str, bool html)
{
    if (!str) {
        buf_add_str(out, "null");
        return;
    }
    buf_add_str(out, "\"");
    add_escaped(out, str, html);
    buf_add_str(out, "\"");
}

void json_string(struct buf *out, const char *str)
{
    add_quoted(out, str, false);
}

void json_member(struct buf *out, const char *before, const char *str)
{
    buf_add_str(out, before);
    add_quoted(out, str, false);
}

void json_html_string(struct buf *out, const char *str)
{
    add_quoted(out, str, true);
}

void json_html_member(struct buf *out, const char *before, const char *str)
{
    buf_add_str(out, before);
    add_quoted(out, str, true);
}

void json_html_part(struct buf *out, const char *str)
{
    add_escaped(out, str, true);
}

void json_count(struct buf *out, const char *before, int32_t number)
{
    if (number > 0)
        buf_add_fmt(out, "%s%" PRId32, before, number);
    else
        buf_add_fmt(out, "%snull", before);
}

const char *json_bool(bool value)
{
    return value ? "true" : "false";
}

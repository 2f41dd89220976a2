/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - see json.h. */
#include "base/json.h"

#include <inttypes.h>

static void add_escaped(struct buf *out, const char *str, bool html)
{
    const char *from = str;

    for (; *str; str++) {
        const unsigned char c = (unsigned char)*str;
        const bool quoted = c == '"' || c == '\\';

        if (c >= 0x20 && c != 0x7f && !quoted && !(html && c == '<'))
            continue;
        buf_add(out, from, (size_t)(str - from));
        buf_add_fmt(out, quoted && !html ? "\\%c" : "\\u%04x", c);
        from = str + 1;
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

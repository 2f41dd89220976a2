/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - see json.h. */
#include "agent/host/json.h"

#include <string.h>

#include "agent/host/escape.h"

enum { JSON_FOREIGN_MAX = 64 * 1024 };

void json_string(struct buf *out, const char *str)
{
    const char *c;

    if (!str) {
        buf_add_str(out, "null");
        return;
    }
    buf_add_str(out, "\"");
    for (c = str; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_add(out, "\\", 1);
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            buf_add_fmt(out, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            buf_add(out, c, 1);
    }
    buf_add_str(out, "\"");
}

void json_foreign(struct buf *out, const char *str)
{
    struct buf shown;

    if (!str) {
        json_string(out, NULL);
        return;
    }
    buf_init(&shown, JSON_FOREIGN_MAX);
    escape_add_str(&shown, str);
    buf_add(&shown, "", 1);
    json_string(out, buf_failed(&shown) ? "" : (const char *)shown.data);
    buf_finish(&shown);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - see json.h. */
#include "agent/json.h"

#include <string.h>

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

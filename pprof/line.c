/* SPDX-License-Identifier: Apache-2.0 */
/* line.c - see line.h. */
#include "pprof/line.h"

#include "base/protobuf_wire.h"

enum { LINE_FUNCTION = 1, LINE_LINE = 2, LINE_COLUMN = 3 };

void line_put(struct buf *out, uint32_t field, uint32_t function, int32_t line, int32_t column)
{
    size_t before = out->size;

    wire_put_number(out, LINE_FUNCTION, function);
    wire_put_number(out, LINE_LINE, (uint64_t)line);
    wire_put_number(out, LINE_COLUMN, (uint64_t)column);
    wire_wrap(out, field, before);
}

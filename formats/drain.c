/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c - when writers of lines give out what they have written; see writers.h. */
#include "formats/writers.h"

enum { DRAIN_BYTES = 1 << 18 };

void format_drain(const struct format_view *view, struct buf *out)
{
    if (view->drain && out->size >= DRAIN_BYTES && !view->drain(view->drain_ctx, out))
        out->failed = true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - see page.h. */
#include "formats/page.h"

#include <inttypes.h>
#include <string.h>

#include "formats/text.h"

void page_add(struct buf *out, const unsigned char *page, size_t size, const char *title,
              const struct buf *data)
{
    static const char title_mark[] = "@TITLE@", data_mark[] = "@DATA@";
    const unsigned char *at = page, *end = page + size, *mark;

    while ((mark = memchr(at, '@', (size_t)(end - at)))) {
        buf_add(out, at, (size_t)(mark - at));
        size = (size_t)(end - mark);
        if (size >= sizeof(title_mark) - 1 && !memcmp(mark, title_mark, sizeof(title_mark) - 1)) {
            text_markup(out, title);
            at = mark + sizeof(title_mark) - 1;
        } else if (size >= sizeof(data_mark) - 1 &&
                   !memcmp(mark, data_mark, sizeof(data_mark) - 1)) {
            buf_add(out, data->data, data->size);
            at = mark + sizeof(data_mark) - 1;
        } else {
            buf_add(out, mark, 1);
            at = mark + 1;
        }
    }
    buf_add(out, at, (size_t)(end - at));
}

void page_add_head(struct buf *out, const struct format_view *view)
{
    const struct pprof_stacks *stacks = view->stacks;
    size_t i;

    buf_add_str(out, "\"title\":");
    text_json(out, view->title);
    buf_add_str(out, ",\"madeBy\":");
    text_json(out, view->made_by);
    buf_add_fmt(out, ",\"start\":%" PRId64 ",\"duration\":%" PRId64 ",\"type\":%zu,\"base\":",
                view->time_ns / 1000000, view->duration_ns / 1000000, view->type);
    if (view->base == FORMAT_NO_BASE)
        buf_add_str(out, "null");
    else
        buf_add_fmt(out, "%zu", view->base);
    buf_add_str(out, ",\"types\":[");
    for (i = 0; i < stacks->type_count; i++) {
        buf_add_str(out, i ? ",[" : "[");
        text_json(out, stacks->types[i].type);
        buf_add_str(out, ",");
        text_json(out, stacks->types[i].unit);
        buf_add_str(out, "]");
    }
    buf_add_str(out, "],\n");
}

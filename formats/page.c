/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - see page.h. */
#include "formats/page.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/time_units.h"
#include "formats/text.h"

static bool is_at(const unsigned char *at, size_t left, const char *mark)
{
    size_t size = strlen(mark);

    return left >= size && memcmp(at, mark, size) == 0;
}

/* Appends what goes to a '@'; gives how many bytes of the page that stands for. */
static size_t add_mark(struct buf *out, const unsigned char *at, size_t left,
                       const struct page_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_at(at, left, parts[i].mark)) {
            buf_add(out, parts[i].bytes, parts[i].size);
            return strlen(parts[i].mark);
        }
    buf_add(out, at, 1);
    return 1;
}

void page_add(struct buf *out, const unsigned char *page, size_t size, const char *title,
              const struct page_part *parts, size_t count)
{
    static const char title_mark[] = "@TITLE@";
    const unsigned char *at = page, *end = page + size, *mark;

    while ((mark = memchr(at, '@', (size_t)(end - at)))) {
        buf_add(out, at, (size_t)(mark - at));
        at = mark + sizeof(title_mark) - 1;
        if (is_at(mark, (size_t)(end - mark), title_mark))
            text_markup(out, title);
        else
            at = mark + add_mark(out, mark, (size_t)(end - mark), parts, count);
    }
    buf_add(out, at, (size_t)(end - at));
}

void page_add_head(struct buf *out, const struct format_view *view)
{
    const struct pprof_stacks *stacks = view->stacks;

    json_html_member(out, "\"title\":", view->title);
    json_html_member(out, ",\"madeBy\":", view->made_by);
    buf_add_fmt(out, ",\"start\":%" PRId64 ",\"duration\":%" PRId64 ",\"type\":%zu,\"base\":",
                view->time_ns / (int64_t)NS_PER_MS, view->duration_ns / (int64_t)NS_PER_MS,
                view->type);
    if (view->base == FORMAT_NO_BASE)
        buf_add_str(out, "null");
    else
        buf_add_fmt(out, "%zu", view->base);
    buf_add_str(out, ",\"types\":[");
    for (size_t i = 0; i < stacks->type_count; i++) {
        json_html_member(out, i ? ",[" : "[", stacks->types[i].type);
        json_html_member(out, ",", stacks->types[i].unit);
        buf_add_str(out, "]");
    }
    buf_add_str(out, "],\n");
}

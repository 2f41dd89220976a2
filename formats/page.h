/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - fills in the marks of an HTML page that is compiled in from a file.
 *
 * @TITLE@ is replaced by the escaped title, other marks by bytes as they are: @DATA@ by JSON,
 * inside a script element.
 */
#ifndef FORMATS_PAGE_H
#define FORMATS_PAGE_H

#include "formats/format.h"

/* The bytes that replace a mark. All borrowed. */
struct page_part {
    const char *mark; /* "@DATA@" */
    const unsigned char *bytes;
    size_t size;
};

/* Appends the page with its marks replaced. */
void page_add(struct buf *out, const unsigned char *page, size_t size, const char *title,
              const struct page_part *parts, size_t count);

/* Appends the members of the data that all pages need: title, times, types. Ends in a comma. */
void page_add_head(struct buf *out, const struct format_view *view);

#endif

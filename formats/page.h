/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - puts a title, data and more into a page that is kept as a file beside the sources.
 *
 * The page has @TITLE@ where text goes, and other such marks for what goes in as it is: @DATA@
 * stands within a script element of JSON.
 */
#ifndef FORMATS_PAGE_H
#define FORMATS_PAGE_H

#include "formats/format.h"

/* What goes where a mark is. All borrowed. */
struct page_part {
    const char *mark;
    const unsigned char *bytes;
    size_t size;
};

/* Appends the page, with the title and the parts at their places. */
void page_add(struct buf *out, const unsigned char *page, size_t size, const char *title,
              const struct page_part *parts, size_t count);

/* Appends `"title":...,"type":...,` and what else all pages want to know of a view. */
void page_add_head(struct buf *out, const struct format_view *view);

#endif

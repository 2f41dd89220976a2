/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - puts a title and data into a page that is kept as a file beside the sources.
 *
 * The page has @TITLE@ where text goes, and @DATA@ within a script element of JSON.
 */
#ifndef FORMATS_PAGE_H
#define FORMATS_PAGE_H

#include "formats/format.h"

/* Appends the page, `data` where it has its place. */
void page_add(struct buf *out, const unsigned char *page, size_t size, const char *title,
              const struct buf *data);

/* Appends `"title":...,"type":...,` and what else all pages want to know of a view. */
void page_add_head(struct buf *out, const struct format_view *view);

#endif

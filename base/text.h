/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - how texts end. Threads: any. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <string.h>

/* True if a text ends with `end`, and has something before it. */
static inline bool text_ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), end_size = strlen(end);

    return size > end_size && strcmp(text + size - end_size, end) == 0;
}

#endif

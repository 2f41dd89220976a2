/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - how texts end, and words behind a number. Threads: any. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* True if a text ends with `end`, and has something before it. */
static inline bool text_ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), end_size = strlen(end);

    return size > end_size && strcmp(text + size - end_size, end) == 0;
}

/* What stands behind a number: "1 process", "2 processes". */
static inline const char *text_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

#endif

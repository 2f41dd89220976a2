/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - tests the end of a string, and picks singular or plural. Threads: any. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* True if `text` ends with `end` and is longer than it. */
static inline bool text_ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), end_size = strlen(end);

    return size > end_size && strcmp(text + size - end_size, end) == 0;
}

/* Gives the word to print behind `count`: "1 process", "2 processes". */
static inline const char *text_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.h - makes room in arrays that grow.
 *
 * Shape:   a struct has `items` (owned; NULL at first), `count` and `capacity` (0 at first):
 *
 *     if (!ARRAY_RESERVE(list->items, list->capacity, list->count + 1))
 *         return false;
 *     list->items[list->count++] = item;
 *
 *          and ends with free(list->items). A caller that knows a maximum compares `count` first.
 * Threads: an array belongs to one thread at a time.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Makes room for `wanted` items in total. `items` is a typed pointer and `capacity` a size_t, the
 * number of items that fit; both are lvalues.
 *
 * Gives:  true: there is room. `items` may have moved; `capacity` (8 at first) grows by doubling.
 * Errors: false: out of memory, or the size overflows a size_t; nothing has changed.
 * Cost:   a comparison while there is room; else a realloc, amortised constant for each item.
 */
#define ARRAY_RESERVE(items, capacity, wanted) \
    ((wanted) <= (capacity) || array_grow(&(items), &(capacity), (wanted), sizeof(*(items))))

/* ARRAY_RESERVE for items of `item_size` bytes each; `items` is the address of the pointer. */
MUST_CHECK bool array_grow(void *items, size_t *capacity, size_t wanted, size_t item_size);

#endif

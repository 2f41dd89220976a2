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
 * Threads: functions of their arguments alone.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Makes room for `wanted` items in all. `items` and `capacity` are variables or members: a typed
 * pointer, and the size_t that says how many items there is room for.
 *
 * Gives:  true: they may have moved. `capacity` is a power of two.
 * Errors: false: out of memory, or more bytes than a size_t counts; nothing has changed.
 * Cost:   a comparison while there is room; doubling makes it constant for each item over time.
 */
#define ARRAY_RESERVE(items, capacity, wanted) \
    ((wanted) <= (capacity) || array_grow(&(items), &(capacity), (wanted), sizeof(*(items))))

/* The same where the size of an item is not that of a type; `items`: address of the pointer. */
MUST_CHECK bool array_grow(void *items, size_t *capacity, size_t wanted, size_t item_size);

#endif

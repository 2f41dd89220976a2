/* SPDX-License-Identifier: Apache-2.0 */
/* array.c - see array.h. */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_FIRST = 8 };

bool array_grow(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
    const size_t size = item_size > 0 ? item_size : 1; /* realloc may give NULL for 0 bytes */
    size_t wider = *capacity > 0 ? *capacity : CAPACITY_FIRST;
    void *moved;

    if (wanted <= *capacity)
        return true;
    if (wanted > SIZE_MAX / (2 * CAPACITY_FIRST) / size)
        return false;
    while (wider < wanted) /* `wider` stays below twice `wanted`, or is the first capacity */
        wider *= 2;
    memcpy(&moved, items, sizeof(moved)); /* its type is not known here */
    moved = realloc(moved, wider * size);
    if (!moved)
        return false;
    memcpy(items, &moved, sizeof(moved));
    *capacity = wider;
    return true;
}

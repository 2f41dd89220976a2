/* SPDX-License-Identifier: Apache-2.0 */
/* index.c - see index.h. */
#include "agent/delivery/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { KIB = 1024 };

void delivery_index_finish(struct delivery_index *index)
{
    free(index->entries);
    *index = (struct delivery_index){0};
}

static bool grow_index(struct delivery_index *index)
{
    if (index->first + index->count == index->capacity && index->first > index->capacity / 2) {
        memmove(index->entries, index->entries + index->first,
                index->count * sizeof(index->entries[0]));
        index->first = 0;
    }
    return ARRAY_RESERVE(index->entries, index->capacity, index->first + index->count + 1);
}

static bool is_stale(const struct delivery_entry *entry)
{
    return entry->bad || entry->on_disk != entry->owed;
}

bool delivery_index_add(struct delivery_index *index, const struct delivery_entry *entry)
{
    if (index->count > 0 && index->entries[index->first + index->count - 1].order >= entry->order)
        return false;
    if (!grow_index(index))
        return false;
    index->entries[index->first + index->count] = *entry;
    index->count++;
    index->bytes += (uint64_t)entry->kib * KIB;
    index->stale += is_stale(entry) ? 1 : 0;
    return true;
}

struct delivery_entry *delivery_index_find(const struct delivery_index *index, uint64_t order)
{
    size_t low = index->first, high = index->first + index->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (index->entries[middle].order < order)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->first + index->count && index->entries[low].order == order
               ? &index->entries[low]
               : NULL;
}

struct delivery_entry *delivery_index_oldest(const struct delivery_index *index)
{
    return index->count > 0 ? &index->entries[index->first] : NULL;
}

struct delivery_entry *delivery_index_stale(const struct delivery_index *index)
{
    for (size_t i = index->first; index->stale > 0 && i < index->first + index->count; i++) {
        if (is_stale(&index->entries[i]))
            return &index->entries[i];
    }
    return NULL;
}

void delivery_index_set(struct delivery_index *index, struct delivery_entry *entry, uint16_t owed,
                        bool bad)
{
    index->stale -= is_stale(entry) ? 1 : 0;
    entry->owed = owed;
    entry->bad = bad;
    index->stale += is_stale(entry) ? 1 : 0;
}

void delivery_index_written(struct delivery_index *index, struct delivery_entry *entry,
                            uint16_t on_disk)
{
    index->stale -= is_stale(entry) ? 1 : 0;
    entry->on_disk = on_disk;
    entry->owed &= on_disk;
    index->stale += is_stale(entry) ? 1 : 0;
}

void delivery_index_remove(struct delivery_index *index, struct delivery_entry *entry)
{
    size_t i = (size_t)(entry - index->entries);

    index->bytes -= (uint64_t)entry->kib * KIB;
    index->stale -= is_stale(entry) ? 1 : 0;
    index->count--;
    if (i == index->first)
        index->first++;
    else
        memmove(entry, entry + 1, (index->first + index->count - i) * sizeof(*entry));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointer_table.h - hash table from a 64-bit number (an address, an id, a pid) to a pointer.
 *
 * Open addressing with linear probing; at least half of the slots are free.
 *
 * Shape:   a zeroed table is empty; pointer_table_put, pointer_table_find, pointer_table_remove;
 *          pointer_table_finish. To visit all, go over the slots whose value is not NULL.
 * Threads: a table belongs to one thread at a time.
 */
#ifndef BASE_POINTER_TABLE_H
#define BASE_POINTER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct pointer_slot {
    uint64_t key;
    void *value; /* borrowed; NULL: the slot is free */
};

struct pointer_table {
    struct pointer_slot *slots; /* owned */
    size_t slot_count;          /* a power of two; 0: none yet */
    size_t count;               /* slots in use */
};

/* Frees the slots, not what the values point to; the table is empty then. */
void pointer_table_finish(struct pointer_table *table);

/* Removes all keys and keeps the slots. */
void pointer_table_clear(struct pointer_table *table);

/* The index at which the search for a key begins. The multiplier is 2^64 / golden ratio. */
static inline size_t pointer_table_home(const struct pointer_table *table, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (table->slot_count - 1);
}

/* The slot of a key, or the free slot where it would go. `slot_count` must not be 0. */
static inline struct pointer_slot *pointer_table_slot(const struct pointer_table *table,
                                                      uint64_t key)
{
    size_t at = pointer_table_home(table, key);

    while (table->slots[at].key != key && table->slots[at].value)
        at = (at + 1) & (table->slot_count - 1);
    return &table->slots[at];
}

/*
 * The value of a key; NULL: there is none.
 *
 * Cost: about one comparison. Inline, because each frame of a sample is looked up.
 */
static inline void *pointer_table_find(const struct pointer_table *table, uint64_t key)
{
    return table->slot_count > 0 ? pointer_table_slot(table, key)->value : NULL;
}

/*
 * Sets the value of a key, new or old. `value` must not be NULL. May move keys to other slots.
 *
 * Errors: false: out of memory; nothing has changed. Cannot fail if the key is there, or if the
 *         table has held `count` + 1 keys before.
 */
MUST_CHECK bool pointer_table_put(struct pointer_table *table, uint64_t key, void *value);

/* Removes a key if it is there. May move other keys to other slots. */
void pointer_table_remove(struct pointer_table *table, uint64_t key);

#endif

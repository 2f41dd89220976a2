/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointer_table.h - hash table of pointers by number: an address, an id, a pid.
 *
 * Open addressing with linear probing; at least half of the slots are free.
 *
 * Shape:   a table of zeros is empty; pointer_table_put, pointer_table_find, pointer_table_remove;
 *          pointer_table_finish. To see all, look at the slots whose value is not NULL.
 * Threads: functions of their arguments alone.
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

/* Removes all; the slots stay. */
void pointer_table_clear(struct pointer_table *table);

/* The slot that a key is in if no other is there. The multiplier is 2^64 over the golden ratio. */
static inline size_t pointer_table_home(const struct pointer_table *table, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (table->slot_count - 1);
}

/* The slot of a key, or the free one where it would go. There are slots. */
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
 * Sets the value of a key, in place of one that it has. `value` is not NULL.
 *
 * Errors: false: out of memory; nothing has changed. Not if the key is there, nor if the table
 *         has held that many keys before.
 */
MUST_CHECK bool pointer_table_put(struct pointer_table *table, uint64_t key, void *value);

/* Removes a key; nothing if it is not there. Moves others to other slots. */
void pointer_table_remove(struct pointer_table *table, uint64_t key);

#endif

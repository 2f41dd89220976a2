/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - gives every different byte string a small number, 0, 1, 2...
 *
 * Texts, functions, locations, stacks and rows have a table each. The key of a function
 * is the bytes of {name, file, line} with the numbers of its texts; the key of a stack is
 * the numbers of its locations, and so on. Equal items get equal numbers, so looking up
 * a deep stack takes one hash and one memcmp.
 *
 * Shape:   table_init, table_intern..., table_reset (keeps the memory) or
 *          table_finish.
 * Memory:  keys are copied to the arena. The table's own arrays are malloc'd, and their size
 *          is subtracted from arena->max, so that one budget bounds both.
 */
#ifndef PPROF_TABLE_H
#define PPROF_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "pprof/pprof.h"

enum { TABLE_KEY_MAX = 1 << 30 }; /* bytes of one key */
#define TABLE_NONE UINT32_MAX     /* no number; over INT_MAX, so no enum constant */

struct table_slot {
    uint32_t hash;
    uint32_t place; /* number + 1; 0: empty */
};

struct table_entry {
    const void *key; /* borrowed from the arena; aligned for any type, a NUL follows */
    uint32_t size;   /* bytes of `key`, without the NUL */
};

struct table {
    struct arena *arena;         /* borrowed */
    struct table_slot *slots;    /* owned; a power of two, at most 3/4 in use */
    struct table_entry *entries; /* owned; by number */
    uint64_t seed;               /* of the hash */
    uint32_t slot_count;
    uint32_t capacity; /* entries that there is room for */
    uint32_t count;    /* entries in use */
};

/*
 * Makes an empty table; allocates nothing. `seed` should be unknown to an attacker who
 * chooses the keys: it changes the slot of a key, never its number.
 */
void table_init(struct table *table, struct arena *arena, uint64_t seed);

/* Frees the arrays and adds their size to arena->max again. */
void table_finish(struct table *table);

/* Removes all keys and keeps the arrays. The caller resets the arena. */
void table_reset(struct table *table);

/*
 * Gives the number of a key; a new one gets the next number.
 *
 * Errors: PPROF_FULL, PPROF_NOMEM; only a key that is new can fail.
 * Cost:   allocates nothing for a key that is known.
 */
MUST_CHECK enum pprof_rc table_intern(struct table *table, const void *key, size_t size,
                                      uint32_t *out);

/* Looks a key up. Gives its number, or TABLE_NONE. */
uint32_t table_find(const struct table *table, const void *key, size_t size);

/* Allocates from an arena. Errors: PPROF_FULL (over arena->max), PPROF_NOMEM. */
MUST_CHECK enum pprof_rc table_alloc(struct arena *arena, size_t size, void **out);

#endif

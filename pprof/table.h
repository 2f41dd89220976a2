/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - gives every different byte string a small number, 0, 1, 2...
 *
 * One kind of table serves texts, functions, locations, stacks and rows alike:
 * a function is interned as the bytes of {name, file, line} with the numbers of
 * its texts, a stack as the bytes of its location numbers, and so on up. Equal
 * things get equal numbers, so comparing a deep stack is one hash and one memcmp.
 *
 * Shape:   table_init, table_intern..., table_reset (keeps the memory) or
 *          table_finish.
 * Memory:  the bytes go to the arena given at init. What the table itself needs is
 *          taken off the arena's `max`, so that one budget holds for both.
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
    uint32_t size;
};

struct table {
    struct arena *arena;         /* borrowed */
    struct table_slot *slots;    /* owned; a power of two, at most 3/4 in use */
    struct table_entry *entries; /* owned; by number */
    uint64_t seed;
    uint32_t slot_count;
    uint32_t capacity; /* entries */
    uint32_t count;
};

/*
 * Makes an empty table; allocates nothing. `seed` should be what an attacker does
 * not know, for the keys may come from one: it changes where a key lies, never
 * its number.
 */
void table_init(struct table *table, struct arena *arena, uint64_t seed);

/* Frees it, and gives the arena its budget back. */
void table_finish(struct table *table);

/* Forgets all keys and keeps the memory. The arena is the caller's to reset. */
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

/* Allocates from an arena and says why if it cannot: PPROF_FULL or PPROF_NOMEM. */
MUST_CHECK enum pprof_rc table_alloc(struct arena *arena, size_t size, void **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - many small allocations that end together.
 *
 * Shape:   arena_init, arena_alloc..., arena_reset (keeps the memory for reuse) or
 *          arena_finish (frees it).
 * Threads: an arena belongs to one thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/err.h"

struct arena_block;

struct arena {
    struct arena_block *first;   /* owned: list of all blocks */
    struct arena_block *current; /* borrowed: the block that is being filled; NULL: none yet */
    size_t used;                 /* bytes allocated since init or reset, alignment included */
    size_t max;                  /* upper limit of `used` */
};

/* Makes an empty arena with room for at most `max` bytes; allocates nothing. */
void arena_init(struct arena *arena, size_t max);

/* Frees all blocks; the arena is empty then and can be used again. NULL is fine. */
void arena_finish(struct arena *arena);

/* Ends all allocations and keeps the blocks for the next ones. */
void arena_reset(struct arena *arena);

/*
 * Allocates `size` bytes, aligned for any type, uninitialised.
 *
 * Lends:  the memory, until arena_reset or arena_finish.
 * Errors: NULL when out of memory or over the maximum.
 */
MUST_CHECK void *arena_alloc(struct arena *arena, size_t size);

/* Copies the first `size` bytes of `str` and adds a NUL. Lends and fails as arena_alloc. */
MUST_CHECK char *arena_strndup(struct arena *arena, const char *str, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - many small allocations that end together.
 *
 * Shape:   arena_init, arena_alloc..., arena_reset (keeps the memory) or
 *          arena_finish (gives it back).
 * Threads: an arena belongs to one thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/err.h"

struct arena_block;

struct arena {
    struct arena_block *first;   /* owned list */
    struct arena_block *current; /* borrowed: the block that is being filled */
    size_t used;                 /* bytes handed out since init or reset */
    size_t max;                  /* bytes it may ever hand out */
};

/* Makes an empty arena that hands out at most `max` bytes; allocates nothing. */
void arena_init(struct arena *arena, size_t max);

/* Frees all blocks. NULL is fine. */
void arena_finish(struct arena *arena);

/* Forgets all allocations and keeps the blocks. */
void arena_reset(struct arena *arena);

/*
 * Gives `size` bytes, aligned for any type, uninitialised.
 *
 * Lends:  the memory, until reset or finish.
 * Errors: NULL when out of memory or over the maximum.
 */
MUST_CHECK void *arena_alloc(struct arena *arena, size_t size);

/* Copies `size` bytes of `str` and a NUL. Lends and fails as arena_alloc. */
MUST_CHECK char *arena_strndup(struct arena *arena, const char *str, size_t size);

#endif

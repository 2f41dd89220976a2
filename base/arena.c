/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - see arena.h. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BLOCK = 64 * 1024 - 64 };

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t capacity;
    alignas(max_align_t) unsigned char data[];
};

void arena_init(struct arena *arena, size_t max)
{
    *arena = (struct arena){.max = max};
}

void arena_finish(struct arena *arena)
{
    struct arena_block *block, *next;

    if (!arena)
        return;
    for (block = arena->first; block; block = next) {
        next = block->next;
        free(block);
    }
    arena_init(arena, arena->max);
}

void arena_reset(struct arena *arena)
{
    struct arena_block *block;

    for (block = arena->first; block; block = block->next)
        block->used = 0;
    arena->current = arena->first;
    arena->used = 0;
}

/* The next block with room for `size`, a new one if none has. */
static struct arena_block *advance(struct arena *arena, size_t size)
{
    size_t capacity = size > ARENA_BLOCK ? size : ARENA_BLOCK;
    struct arena_block *block;

    while (arena->current && arena->current->next) {
        arena->current = arena->current->next;
        if (arena->current->capacity >= size)
            return arena->current;
    }
    block = malloc(sizeof(*block) + capacity);
    if (!block)
        return NULL;
    *block = (struct arena_block){.capacity = capacity};
    if (arena->current)
        arena->current->next = block;
    else
        arena->first = block;
    arena->current = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct arena_block *block = arena->current;
    size_t step = alignof(max_align_t);
    void *room;

    if (size > arena->max - arena->used || size > SIZE_MAX / 2)
        return NULL;
    size = (size + step - 1) / step * step;
    if (size > arena->max - arena->used)
        return NULL;
    if (!block || size > block->capacity - block->used)
        block = advance(arena, size);
    if (!block)
        return NULL;
    room = block->data + block->used;
    block->used += size;
    arena->used += size;
    return room;
}

char *arena_strndup(struct arena *arena, const char *str, size_t size)
{
    char *copy = size == SIZE_MAX ? NULL : arena_alloc(arena, size + 1);

    if (!copy)
        return NULL;
    memcpy(copy, str, size);
    copy[size] = '\0';
    return copy;
}

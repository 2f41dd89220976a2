/* SPDX-License-Identifier: Apache-2.0 */
/* thread_cache.c - see thread_cache.h. */
#include "unwind/stack/thread_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { ROOM_LEAST = 8 }; /* frames of a stack */

void thread_cache_init(struct thread_cache *thread_cache)
{
    *thread_cache = (struct thread_cache){0};
}

void thread_name_finish(struct thread_name *name)
{
    free(name->text);
    *name = (struct thread_name){0};
}

static void free_cached(struct thread_cache *thread_cache, struct prefetch *prefetch,
                        struct cached *cached)
{
    prefetch_set_finish(prefetch, &cached->set);
    sched_idle_finish(&cached->sched_idle);
    thread_name_finish(&cached->name);
    thread_cache->frames -= cached->stack.room;
    free(cached->stack.raw);
    free(cached->stack.frames);
    free(cached);
}

void thread_cache_finish(struct thread_cache *thread_cache, struct prefetch *prefetch)
{
    for (size_t i = 0; i < thread_cache->count; i++)
        free_cached(thread_cache, prefetch, thread_cache->all[i]);
    free(thread_cache->all);
    pointer_table_finish(&thread_cache->by_state);
    thread_cache_init(thread_cache);
}

/* Adds an entry to the array and the table. False: no memory. */
static bool add_cached(struct thread_cache *thread_cache, struct cached *cached)
{
    if (!ARRAY_RESERVE(thread_cache->all, thread_cache->capacity, thread_cache->count + 1) ||
        !pointer_table_put(&thread_cache->by_state, cached->state, cached))
        return false;
    thread_cache->all[thread_cache->count++] = cached;
    return true;
}

struct cached *thread_cache_get(struct thread_cache *thread_cache, cpy_addr state)
{
    struct cached *cached = pointer_table_find(&thread_cache->by_state, state);

    if (!cached) {
        cached = calloc(1, sizeof(*cached));
        if (!cached)
            return NULL;
        cached->state = state;
        prefetch_set_init(&cached->set, false);
        sched_idle_init(&cached->sched_idle);
        if (!add_cached(thread_cache, cached)) {
            free(cached);
            return NULL;
        }
    }
    cached->seen = thread_cache->lists;
    return cached;
}

void thread_cache_begin_list(struct thread_cache *thread_cache)
{
    thread_cache->lists++;
}

void thread_cache_end_list(struct thread_cache *thread_cache, struct prefetch *prefetch)
{
    struct cached *cached;
    size_t i, count = 0;

    for (i = 0; i < thread_cache->count; i++) {
        cached = thread_cache->all[i];
        if (cached->seen == thread_cache->lists) {
            thread_cache->all[count++] = cached;
        } else {
            pointer_table_remove(&thread_cache->by_state, cached->state);
            free_cached(thread_cache, prefetch, cached);
        }
    }
    thread_cache->count = count;
}

void thread_cache_forget_stacks(struct thread_cache *thread_cache)
{
    for (size_t i = 0; i < thread_cache->count; i++) {
        thread_cache->all[i]->whole = false;
        thread_cache->all[i]->stack.depth = 0;
    }
}

/* Moves an array of `depth` items to the end of a larger one. */
static void *copy_to_array_end(const void *items, size_t size, const struct cached_stack *stack,
                               uint32_t room)
{
    unsigned char *wider = malloc(room * size);

    if (wider && stack->depth > 0)
        memcpy(wider + (room - stack->depth) * size,
               (const unsigned char *)items + (stack->room - stack->depth) * size,
               stack->depth * size);
    return wider;
}

bool thread_cache_reserve(struct thread_cache *thread_cache, struct cached_stack *stack,
                          uint32_t depth)
{
    uint32_t room = stack->room ? stack->room : ROOM_LEAST;
    struct raw_frame *raw;
    struct cpy_frame *frames;

    while (room < depth)
        room *= 2;
    if (room == stack->room)
        return true;
    if (room - stack->room > THREAD_CACHE_FRAMES_MAX - thread_cache->frames)
        return false;
    raw = copy_to_array_end(stack->raw, sizeof(*raw), stack, room);
    frames = raw ? copy_to_array_end(stack->frames, sizeof(*frames), stack, room) : NULL;
    if (!frames) {
        free(raw);
        return false;
    }
    free(stack->raw);
    free(stack->frames);
    thread_cache->frames += room - stack->room;
    stack->raw = raw;
    stack->frames = frames;
    stack->room = room;
    return true;
}

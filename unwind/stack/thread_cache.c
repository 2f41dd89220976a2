/* SPDX-License-Identifier: Apache-2.0 */
/* thread_cache.c - see thread_cache.h. */
#include "unwind/stack/thread_cache.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_LEAST = 8 }; /* frames of a stack */

void thread_cache_init(struct thread_cache *thread_cache)
{
    *thread_cache = (struct thread_cache){0};
}

static void free_cached(struct thread_cache *thread_cache, struct prefetch *prefetch,
                        struct cached *cached)
{
    prefetch_set_finish(prefetch, &cached->set);
    sched_idle_finish(&cached->sched_idle);
    thread_cache->frames -= cached->stack.room;
    free(cached->stack.raw);
    free(cached->stack.frames);
    free(cached);
}

void thread_cache_finish(struct thread_cache *thread_cache, struct prefetch *prefetch)
{
    size_t i;

    for (i = 0; i < thread_cache->count; i++)
        free_cached(thread_cache, prefetch, thread_cache->all[i]);
    free(thread_cache->all);
    free(thread_cache->slots);
    thread_cache_init(thread_cache);
}

/* The slot where `state` is or would be; the table is never full. */
static struct cached **find_thread_slot(struct thread_cache *thread_cache, cpy_addr state)
{
    size_t i = (size_t)((state >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) &
               (thread_cache->slot_count - 1);

    while (thread_cache->slots[i] && thread_cache->slots[i]->state != state)
        i = (i + 1) & (thread_cache->slot_count - 1);
    return &thread_cache->slots[i];
}

static void fill_thread_slots(struct thread_cache *thread_cache)
{
    size_t i;

    memset(thread_cache->slots, 0, thread_cache->slot_count * sizeof(struct cached *));
    for (i = 0; i < thread_cache->count; i++)
        *find_thread_slot(thread_cache, thread_cache->all[i]->state) = thread_cache->all[i];
}

/* Room for one more; there are twice as many slots. */
static bool grow_thread_cache(struct thread_cache *thread_cache)
{
    size_t capacity = thread_cache->capacity ? thread_cache->capacity * 2 : 8;
    struct cached **all, **slots;

    if (thread_cache->count < thread_cache->capacity)
        return true;
    all = realloc(thread_cache->all, capacity * sizeof(struct cached *));
    if (!all)
        return false;
    thread_cache->all = all;
    slots = realloc(thread_cache->slots, 2 * capacity * sizeof(struct cached *));
    if (!slots)
        return false;
    thread_cache->slots = slots;
    thread_cache->slot_count = 2 * capacity;
    thread_cache->capacity = capacity;
    fill_thread_slots(thread_cache);
    return true;
}

struct cached *thread_cache_get(struct thread_cache *thread_cache, cpy_addr state)
{
    struct cached *cached =
        thread_cache->slot_count > 0 ? *find_thread_slot(thread_cache, state) : NULL;

    if (!cached) {
        cached = grow_thread_cache(thread_cache) ? calloc(1, sizeof(*cached)) : NULL;
        if (!cached)
            return NULL;
        cached->state = state;
        prefetch_set_init(&cached->set, false);
        sched_idle_init(&cached->sched_idle);
        thread_cache->all[thread_cache->count++] = cached;
        *find_thread_slot(thread_cache, state) = cached;
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
    size_t i, count = 0;

    for (i = 0; i < thread_cache->count; i++) {
        if (thread_cache->all[i]->seen == thread_cache->lists)
            thread_cache->all[count++] = thread_cache->all[i];
        else
            free_cached(thread_cache, prefetch, thread_cache->all[i]);
    }
    if (count == thread_cache->count)
        return;
    thread_cache->count = count;
    fill_thread_slots(thread_cache);
}

void thread_cache_forget_stacks(struct thread_cache *thread_cache)
{
    size_t i;

    for (i = 0; i < thread_cache->count; i++) {
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

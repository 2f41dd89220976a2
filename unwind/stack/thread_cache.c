/* SPDX-License-Identifier: Apache-2.0 */
/* thread_cache.c - see thread_cache.h. */
#include "unwind/stack/thread_cache.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_LEAST = 8 }; /* frames of a stack */

void keep_init(struct keep *keep)
{
    *keep = (struct keep){0};
}

static void free_kept(struct keep *keep, struct ahead *ahead, struct kept *kept)
{
    ahead_set_finish(ahead, &kept->set);
    slumber_finish(&kept->slumber);
    keep->frames -= kept->stack.room;
    free(kept->stack.raw);
    free(kept->stack.frames);
    free(kept);
}

void keep_finish(struct keep *keep, struct ahead *ahead)
{
    size_t i;

    for (i = 0; i < keep->count; i++)
        free_kept(keep, ahead, keep->all[i]);
    free(keep->all);
    free(keep->slots);
    keep_init(keep);
}

/* The slot where `state` is or would be; the table is never full. */
static struct kept **slot_of(struct keep *keep, cpy_addr state)
{
    size_t i = (size_t)((state >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (keep->slot_count - 1);

    while (keep->slots[i] && keep->slots[i]->state != state)
        i = (i + 1) & (keep->slot_count - 1);
    return &keep->slots[i];
}

static void fill_slots(struct keep *keep)
{
    size_t i;

    memset(keep->slots, 0, keep->slot_count * sizeof(struct kept *));
    for (i = 0; i < keep->count; i++)
        *slot_of(keep, keep->all[i]->state) = keep->all[i];
}

/* Room for one more; there are twice as many slots. */
static bool grow(struct keep *keep)
{
    size_t capacity = keep->capacity ? keep->capacity * 2 : 8;
    struct kept **all, **slots;

    if (keep->count < keep->capacity)
        return true;
    all = realloc(keep->all, capacity * sizeof(struct kept *));
    if (!all)
        return false;
    keep->all = all;
    slots = realloc(keep->slots, 2 * capacity * sizeof(struct kept *));
    if (!slots)
        return false;
    keep->slots = slots;
    keep->slot_count = 2 * capacity;
    keep->capacity = capacity;
    fill_slots(keep);
    return true;
}

struct kept *keep_of(struct keep *keep, cpy_addr state)
{
    struct kept *kept = keep->slot_count > 0 ? *slot_of(keep, state) : NULL;

    if (!kept) {
        kept = grow(keep) ? calloc(1, sizeof(*kept)) : NULL;
        if (!kept)
            return NULL;
        kept->state = state;
        ahead_set_init(&kept->set, false);
        slumber_init(&kept->slumber);
        keep->all[keep->count++] = kept;
        *slot_of(keep, state) = kept;
    }
    kept->seen = keep->lists;
    return kept;
}

void keep_begin_list(struct keep *keep)
{
    keep->lists++;
}

void keep_end_list(struct keep *keep, struct ahead *ahead)
{
    size_t i, count = 0;

    for (i = 0; i < keep->count; i++) {
        if (keep->all[i]->seen == keep->lists)
            keep->all[count++] = keep->all[i];
        else
            free_kept(keep, ahead, keep->all[i]);
    }
    if (count == keep->count)
        return;
    keep->count = count;
    fill_slots(keep);
}

void keep_forget_stacks(struct keep *keep)
{
    size_t i;

    for (i = 0; i < keep->count; i++) {
        keep->all[i]->whole = false;
        keep->all[i]->stack.depth = 0;
    }
}

/* Moves an array of `depth` items to the end of a larger one. */
static void *move_up(const void *items, size_t size, const struct kept_stack *stack, uint32_t room)
{
    unsigned char *wider = malloc(room * size);

    if (wider && stack->depth > 0)
        memcpy(wider + (room - stack->depth) * size,
               (const unsigned char *)items + (stack->room - stack->depth) * size,
               stack->depth * size);
    return wider;
}

bool keep_room(struct keep *keep, struct kept_stack *stack, uint32_t depth)
{
    uint32_t room = stack->room ? stack->room : ROOM_LEAST;
    struct raw_frame *raw;
    struct cpy_frame *frames;

    while (room < depth)
        room *= 2;
    if (room == stack->room)
        return true;
    if (room - stack->room > KEPT_FRAMES_MAX - keep->frames)
        return false;
    raw = move_up(stack->raw, sizeof(*raw), stack, room);
    frames = raw ? move_up(stack->frames, sizeof(*frames), stack, room) : NULL;
    if (!frames) {
        free(raw);
        return false;
    }
    free(stack->raw);
    free(stack->frames);
    keep->frames += room - stack->room;
    stack->raw = raw;
    stack->frames = frames;
    stack->room = room;
    return true;
}

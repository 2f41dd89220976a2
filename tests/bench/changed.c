/* SPDX-License-Identifier: Apache-2.0 */
/* changed.c - see changed.h. */
#include "tests/bench/changed.h"

#include <stdlib.h>

enum {
    STACKS_MAX = 1 << 15,
    FRAMES_MAX = 1 << 20,
    FRAME_BYTES = 88, /* of a frame's head, 3.11 to 3.15 */
    WORD = 8
};

static bool make(struct changed_sample *sample)
{
    sample->stacks = malloc(STACKS_MAX * sizeof(*sample->stacks));
    sample->frames = malloc(FRAMES_MAX * sizeof(*sample->frames));
    return sample->stacks && sample->frames;
}

bool changed_init(struct changed *changed)
{
    bool good;

    *changed = (struct changed){.bytes = 0};
    good = make(&changed->last);
    good &= make(&changed->now);
    if (!good)
        changed_finish(changed);
    return good;
}

void changed_finish(struct changed *changed)
{
    free(changed->last.stacks);
    free(changed->last.frames);
    free(changed->now.stacks);
    free(changed->now.frames);
    *changed = (struct changed){.bytes = 0};
}

/* The same stack in the last sample; the order hardly ever changes. */
static const struct changed_stack *find(struct changed *changed, cpy_addr key)
{
    const struct changed_sample *last = &changed->last;
    size_t i, at;

    for (i = 0; i < last->stack_count; i++) {
        at = (changed->guess + i) % last->stack_count;
        if (last->stacks[at].key == key) {
            changed->guess = at + 1;
            return &last->stacks[at];
        }
    }
    return NULL;
}

static bool is_same(const struct changed_frame *a, const struct changed_frame *b)
{
    return a->code == b->code && a->line == b->line;
}

/* Frames of `now` that are not as in `last`, counted from the outermost. */
static uint32_t count_new(const struct changed_stack *now, const struct changed_stack *last)
{
    uint32_t same = 0;

    while (same < now->depth && same < last->depth &&
           is_same(&now->frames[now->depth - 1 - same], &last->frames[last->depth - 1 - same]))
        same++;
    return now->depth - same;
}

static uint64_t bytes_of(struct changed *changed, const struct changed_stack *now)
{
    const struct changed_stack *last = find(changed, now->key);
    uint32_t count = last ? count_new(now, last) : now->depth;

    if (count == 0 && last && last->depth == now->depth)
        return 0;
    return WORD + (uint64_t)count * FRAME_BYTES;
}

void changed_add(struct changed *changed, cpy_addr key, const struct cpy_frame *frames,
                 uint32_t depth)
{
    struct changed_sample *now = &changed->now;
    struct changed_stack *stack = &now->stacks[now->stack_count];
    uint32_t i;

    if (now->stack_count == STACKS_MAX || depth > FRAMES_MAX - now->frame_count) {
        changed->nomem = true;
        return;
    }
    *stack = (struct changed_stack){key, depth, now->frames + now->frame_count};
    for (i = 0; i < depth; i++)
        stack->frames[i] = (struct changed_frame){frames[i].code->id, frames[i].line};
    now->stack_count++;
    now->frame_count += depth;
}

void changed_next(struct changed *changed, bool whole)
{
    struct changed_sample last = changed->last;
    size_t i;

    if (whole && changed->any) {
        changed->guess = 0;
        for (i = 0; i < changed->now.stack_count; i++)
            changed->bytes += bytes_of(changed, &changed->now.stacks[i]);
        changed->pairs++;
    }
    if (whole) {
        changed->last = changed->now;
        changed->now = last;
        changed->any = true;
    }
    changed->now.stack_count = changed->now.frame_count = 0;
}

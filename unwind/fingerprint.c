/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fingerprint.c - hash of the contents of a thread's frames: tells a thread that stays in one call
 * from a thread that makes the same call again and again. See cpy_fingerprint.
 *
 * From 3.11 on the code object says how many values a frame has: co_nlocalsplus variables, then
 * co_stacksize slots of the evaluation stack. Both are next to co_firstlineno in all versions
 * (Include/cpython/code.h). Before, the frame is an object of variable size and says so itself.
 */
#include <string.h>

#include "base/hash.h"
#include "unwind/target.h"

enum {
    FRAMES = 64,  /* innermost ones that are looked at */
    BATCH = 8,    /* of them with one call */
    VALUES = 128, /* of each frame, the first ones */
    STACKSIZE = 0,
    NLOCALSPLUS = 2 /* of the ints from co_stacksize on */
};

static const struct listed *find_thread(const struct cpy_target *t, cpy_addr state)
{
    for (size_t i = 0; i < t->list.thread_count; i++)
        if (t->list.threads[i].words.addr == state)
            return &t->list.threads[i];
    return NULL;
}

/* What says how many values a frame has; false: it is none. */
static bool counts_at(const struct layout *l, const struct raw_frame *frame, cpy_addr *from,
                      size_t *size)
{
    if (frame->code == 0)
        return false;
    *from = l->frames == FRAMES_OBJECT ? frame->addr + l->object.ob_size
                                       : frame->code + l->code.firstlineno - 4;
    *size = l->frames == FRAMES_OBJECT ? 8 : 12;
    return true;
}

static size_t count_values(const struct layout *l, const int32_t words[3])
{
    int64_t count = l->frames == FRAMES_OBJECT
                        ? words[0]
                        : (int64_t)words[NLOCALSPLUS] + (int64_t)words[STACKSIZE];

    return count < 0 ? 0 : count > VALUES ? VALUES : (size_t)count;
}

/* Mixes the values of up to BATCH frames into *hash. */
static enum cpy_rc mix_batch(struct cpy_target *t, const struct raw_frame *frames, size_t count,
                             uint64_t *hash)
{
    const struct layout *l = &t->found.layout;
    const uint32_t values = l->frame.values ? l->frame.values : l->frame.size;
    int32_t words[BATCH][3] = {{0}};
    uint64_t held[BATCH * VALUES];
    struct mem_range ranges[BATCH];
    cpy_addr addrs[BATCH];
    size_t i, wanted = 0, used = 0;
    enum cpy_rc rc;

    for (i = 0; i < count; i++) {
        if (!counts_at(l, &frames[i], &ranges[wanted].from, &ranges[wanted].size))
            continue;
        ranges[wanted].into = words[wanted];
        addrs[wanted++] = frames[i].addr;
    }
    rc = mem_read_ranges(&t->prefetch.mem, ranges, wanted);
    for (i = 0; i < wanted; i++) {
        ranges[i] = (struct mem_range){addrs[i] + values, held + used, 8};
        ranges[i].size = 8 * count_values(l, words[i]);
        used += ranges[i].size / 8;
    }
    if (rc == CPY_OK)
        rc = mem_read_ranges(&t->prefetch.mem, ranges, wanted);
    if (rc == CPY_OK)
        *hash = hash_fnv(*hash, held, used * 8);
    return rc;
}

/* The same of a whole stack. */
static enum cpy_rc mix_stack(struct cpy_target *t, const struct raw_stack *stack, uint64_t *hash)
{
    const size_t depth = stack->depth < FRAMES ? stack->depth : FRAMES;
    const struct raw_frame *frame;
    enum cpy_rc rc = CPY_OK;

    for (size_t i = 0; i < depth; i++) {
        frame = &stack->frames[i];
        *hash = hash_fnv(*hash, &frame->addr, sizeof(frame->addr));
        *hash = hash_fnv(*hash, &frame->code, sizeof(frame->code));
        *hash = hash_fnv(*hash, &frame->unit, sizeof(frame->unit));
    }
    for (size_t i = 0; i < depth && rc == CPY_OK; i += BATCH)
        rc = mix_batch(t, &stack->frames[i], depth - i < BATCH ? depth - i : BATCH, hash);
    return rc;
}

enum cpy_rc cpy_fingerprint(struct cpy_target *t, cpy_addr state, uint64_t *out)
{
    const struct listed *thread = find_thread(t, state);
    const struct reader reader = target_reader(t);
    const struct walk_marks marks = {0};
    const struct raw_before before = {0};
    uint64_t hash = HASH_START, generation = 0;
    struct thread_words words;
    enum cpy_rc rc;

    if (!thread)
        return CPY_RACED;
    hash = hash_fnv(hash, &t->list.interps[thread->interp].switches, sizeof(uint64_t));
    t->prefetch.now = NULL;
    rc = walk_read_thread(&reader, state, &words);
    if (rc == CPY_OK)
        rc = walk_stack(&reader, t->scratch->walk, &words, &marks, &before, 0, t->scratch->raw,
                        &generation);
    if (rc == CPY_OK)
        rc = mix_stack(t, t->scratch->raw, &hash);
    if (rc == CPY_OK)
        *out = hash;
    return rc;
}

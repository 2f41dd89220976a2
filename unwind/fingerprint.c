/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fingerprint.c - hash of the contents of a thread's frames: tells a thread that stays in one call
 * from a thread that makes the same call again and again. See cpy_fingerprint.
 */
#include "base/hash.h"
#include "unwind/frame_values.h"

/* Mixes the frames of a stack and their values into *hash. */
static enum cpy_rc mix_stack(struct cpy_target *t, const struct raw_stack *stack, uint64_t *hash)
{
    const size_t depth = stack->depth < FRAME_VALUES_DEPTH ? stack->depth : FRAME_VALUES_DEPTH;
    const struct raw_frame *frame;
    struct frame_values values;
    enum cpy_rc rc = CPY_OK;

    for (size_t i = 0; i < depth; i++) {
        frame = &stack->frames[i];
        *hash = hash_fnv(*hash, &frame->addr, sizeof(frame->addr));
        *hash = hash_fnv(*hash, &frame->code, sizeof(frame->code));
        *hash = hash_fnv(*hash, &frame->unit, sizeof(frame->unit));
    }
    for (size_t i = 0; i < depth && rc == CPY_OK; i += FRAME_VALUES_BATCH) {
        rc = frame_values_read(t, &stack->frames[i],
                               depth - i < FRAME_VALUES_BATCH ? depth - i : FRAME_VALUES_BATCH,
                               &values);
        if (rc == CPY_OK)
            *hash = hash_fnv(*hash, values.values, values.used * 8);
    }
    return rc;
}

enum cpy_rc cpy_fingerprint(struct cpy_target *t, cpy_addr state, uint64_t *out)
{
    uint64_t hash = HASH_START;
    const struct listed *thread;
    enum cpy_rc rc = frame_values_walk(t, state, &thread);

    if (rc != CPY_OK)
        return rc;
    hash = hash_fnv(hash, &t->list.interps[thread->interp].switches, sizeof(uint64_t));
    rc = mix_stack(t, t->scratch->raw, &hash);
    if (rc == CPY_OK)
        *out = hash;
    return rc;
}

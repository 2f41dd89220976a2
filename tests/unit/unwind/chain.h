/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h - threads and chains of frames in a fake target. */
#ifndef TESTS_UNIT_UNWIND_CHAIN_H
#define TESTS_UNIT_UNWIND_CHAIN_H

#include "tests/unit/unwind/fake.h"

enum { OWNER_THREAD = 0, OWNER_GENERATOR = 1, OWNER_SHIM = 3 };
enum { CHAIN_STATUS_BOUND = 1 << 1 };
#define CHAIN_CODE UINT64_C(0x7e0000001000) /* the walk does not read code objects */

/* What a frame says. */
struct chain_frame {
    cpy_addr code, previous;
    int64_t unit;
    uint8_t owner;
    bool is_entry; /* 3.11 */
};

static inline void chain_put_frame(struct fake *fake, cpy_addr at, const struct chain_frame *frame)
{
    const struct layout *l = &fake->layout;

    fake_put64(fake, at + l->frame.executable, frame->code);
    fake_put64(fake, at + l->frame.previous, frame->previous);
    fake_put64(fake, at + l->frame.instr,
               frame->code + l->code.bytecode + (uint64_t)(frame->unit * 2));
    fake_put8(fake, at + l->frame.owner, frame->owner);
    if (l->frame.is_entry != NO_FIELD)
        fake_put8(fake, at + l->frame.is_entry, frame->is_entry);
}

/* A frame of its own memory, called by `previous`. */
static inline cpy_addr chain_frame(struct fake *fake, cpy_addr code, int64_t unit,
                                   cpy_addr previous)
{
    cpy_addr at = fake_room(fake, fake->layout.frame.size);

    chain_put_frame(fake, at, &(struct chain_frame){code, previous, unit, OWNER_THREAD, false});
    return at;
}

/* A frame that stands for C code. */
static inline cpy_addr chain_shim(struct fake *fake, cpy_addr previous)
{
    cpy_addr at = fake_room(fake, fake->layout.frame.size);

    chain_put_frame(fake, at, &(struct chain_frame){CHAIN_CODE, previous, 0, OWNER_SHIM, false});
    return at;
}

/* A thread state; where its current frame is kept is made, too. */
static inline cpy_addr chain_thread(struct fake *fake, cpy_addr current_frame)
{
    const struct layout *l = &fake->layout;
    cpy_addr thread = fake_room(fake, l->thread.size), cframe;

    if (l->thread.status != NO_FIELD)
        fake_put32(fake, thread + l->thread.status, CHAIN_STATUS_BOUND);
    if (l->thread.cframe == NO_FIELD) {
        fake_put64(fake, thread + l->thread.current_frame, current_frame);
        return thread;
    }
    cframe = fake_room(fake, 64);
    fake_put64(fake, thread + l->thread.cframe, cframe);
    fake_put64(fake, cframe + l->cframe.current_frame, current_frame);
    return thread;
}

static inline void chain_set_data_stack(struct fake *fake, cpy_addr thread, cpy_addr chunk,
                                        cpy_addr top)
{
    fake_put64(fake, thread + fake->layout.thread.datastack_chunk, chunk);
    fake_put64(fake, thread + fake->layout.thread.datastack_chunk + 8, top);
}

/* Walks the stack of a thread state. */
static inline enum cpy_rc chain_walk(struct fake *fake, cpy_addr thread, struct raw_stack *out)
{
    struct walk_scratch *scratch = walk_scratch_new();
    struct thread_words words;
    enum cpy_rc rc;

    assert_non_null(scratch);
    rc = walk_read_thread(&fake->reader, thread, &words);
    if (rc == CPY_OK)
        rc = walk_stack(&fake->reader, scratch, &words, &(const struct walk_marks){0},
                        &(const struct raw_before){0}, 0, out, NULL);
    walk_scratch_free(scratch);
    return rc;
}

#endif

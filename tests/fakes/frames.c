/* SPDX-License-Identifier: Apache-2.0 */
/* frames.c - threads and chains of frames of a fake process. */
#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { CHUNK_SIZE = 8, CHUNK_TOP = 16, CHUNK_HEAD = 24 };

void fake_put_frame(struct fake *fake, cpy_addr at, const struct fake_frame *frame)
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

/* The chunk that `addr` is in; chunk_count: in none. */
static size_t chunk_of(const struct fake *fake, cpy_addr addr)
{
    size_t i = 0;

    while (i < fake->chunk_count && (addr < fake->chunks[i] || addr >= fake->chunk_ends[i]))
        i++;
    return i;
}

/* Room for a frame: behind the one that called it, else at the start of a new chunk. */
static cpy_addr push_frame(struct fake *fake, cpy_addr previous)
{
    cpy_addr at = FAKE_BASE + fake->used;
    size_t i = chunk_of(fake, previous);

    if (i == fake->chunk_count || fake->chunk_ends[i] != at) {
        assert_true(fake->chunk_count < FAKE_CHUNKS);
        i = fake->chunk_count++;
        fake->chunks[i] = at;
        fake_put64(fake, at + CHUNK_SIZE, FAKE_SIZE);
        at += CHUNK_HEAD;
    }
    (void)fake_room(fake, at - FAKE_BASE - fake->used + fake->layout.frame.size);
    fake->chunk_ends[i] = FAKE_BASE + fake->used;
    fake_put64(fake, fake->chunks[i] + CHUNK_TOP,
               (fake->chunk_ends[i] - fake->chunks[i] - CHUNK_HEAD) / 8);
    return at;
}

cpy_addr fake_frame(struct fake *fake, cpy_addr code, int64_t unit, cpy_addr previous)
{
    cpy_addr at = push_frame(fake, previous);

    fake_put_frame(fake, at, &(struct fake_frame){code, previous, unit, OWNER_THREAD, false});
    return at;
}

cpy_addr fake_shim(struct fake *fake, cpy_addr previous)
{
    cpy_addr at = fake_room(fake, fake->layout.frame.size);

    fake_put_frame(fake, at, &(struct fake_frame){FAKE_CODE, previous, 0, OWNER_SHIM, false});
    return at;
}

cpy_addr fake_thread(struct fake *fake, cpy_addr current_frame)
{
    const struct layout *l = &fake->layout;
    cpy_addr thread = fake_room(fake, l->thread.size);

    if (l->thread.status != NO_FIELD)
        fake_put32(fake, thread + l->thread.status, FAKE_BOUND);
    fake_put_stack(fake, thread, current_frame);
    return thread;
}

/* Links the chunks of a chain; gives the newest, chunk_count if there is none. */
static size_t link_chunks(struct fake *fake, cpy_addr addr)
{
    size_t newest = fake->chunk_count, last = newest, i;

    /* Frames are made in the order of their calls: those that go up are a loop. */
    for (int steps = 0; addr != 0 && !(addr & 7) && steps < 3 * CPY_DEPTH_MAX; steps++) {
        if (addr < FAKE_BASE || addr >= FAKE_BASE + fake->used)
            break;
        i = chunk_of(fake, addr);
        if (i < fake->chunk_count && newest == fake->chunk_count)
            newest = i;
        else if (i < last && last < fake->chunk_count)
            fake_put64(fake, fake->chunks[last], fake->chunks[i]);
        last = i < fake->chunk_count ? i : last;
        addr = fake_get64(fake, addr + fake->layout.frame.previous);
    }
    return newest;
}

cpy_addr fake_own_cframe(const struct fake *fake, cpy_addr thread)
{
    return thread + fake->layout.thread.size - fake->layout.cframe.current_frame - 16;
}

void fake_put_stack(struct fake *fake, cpy_addr thread, cpy_addr current_frame)
{
    const struct layout *l = &fake->layout;
    size_t newest;
    cpy_addr root, record;

    if (l->frames == FRAMES_INTERPRETER) {
        newest = link_chunks(fake, current_frame);
        if (newest < fake->chunk_count)
            fake_set_data_stack(fake, thread, fake->chunks[newest], fake->chunk_ends[newest]);
        else
            fake_set_data_stack(fake, thread, 0, 0);
    }

    if (l->thread.cframe == NO_FIELD) {
        fake_put64(fake, thread + l->thread.current_frame, current_frame);
        return;
    }
    root = fake_own_cframe(fake, thread);
    record = fake_get64(fake, thread + l->thread.cframe);
    if (current_frame == 0)
        record = root;
    else if (record == 0 || record == root)
        record = fake_room(fake, 64);
    fake_put64(fake, thread + l->thread.cframe, record);
    fake_put64(fake, record + l->cframe.current_frame, current_frame);
}

void fake_set_data_stack(struct fake *fake, cpy_addr thread, cpy_addr chunk, cpy_addr top)
{
    fake_put64(fake, thread + fake->layout.thread.datastack_chunk, chunk);
    fake_put64(fake, thread + fake->layout.thread.datastack_chunk + 8, top);
}

enum cpy_rc fake_walk(struct fake *fake, cpy_addr thread, const struct raw_before *before,
                      struct raw_stack *out)
{
    struct walk_scratch *scratch = walk_scratch_new();
    struct thread_words words;
    enum cpy_rc rc;

    assert_non_null(scratch);
    rc = walk_read_thread(&fake->reader, thread, &words);
    if (rc == CPY_OK)
        rc = walk_stack(&fake->reader, scratch, &words, &(const struct walk_marks){0},
                        before ? before : &(const struct raw_before){0}, 0, out, NULL);
    walk_scratch_free(scratch);
    return rc;
}

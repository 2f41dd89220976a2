/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - see snapshot.h. */
#include "agent/dump/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void snapshot_init(struct snapshot *snapshot)
{
    *snapshot = (struct snapshot){0};
    arena_init(&snapshot->arena, SNAPSHOT_BYTES_MAX);
}

void snapshot_finish(struct snapshot *snapshot)
{
    if (!snapshot)
        return;
    free(snapshot->threads);
    pointer_table_finish(&snapshot->codes);
    arena_finish(&snapshot->arena);
    snapshot_init(snapshot);
}

void snapshot_reset(struct snapshot *snapshot)
{
    snapshot->count = snapshot->torn = 0;
    snapshot->failed = false;
    pointer_table_clear(&snapshot->codes);
    arena_reset(&snapshot->arena);
}

/* A copy of the code object, the same one for the same. NULL: out of memory. */
static const struct cpy_code *intern_code(struct snapshot *snapshot, const struct cpy_code *code)
{
    struct cpy_code *copy = pointer_table_find(&snapshot->codes, code->id);

    if (copy)
        return copy;
    copy = arena_alloc(&snapshot->arena, sizeof(*copy));
    if (!copy)
        return NULL;
    *copy = *code;
    copy->func = arena_strndup(&snapshot->arena, code->func, strlen(code->func));
    copy->file = arena_strndup(&snapshot->arena, code->file, strlen(code->file));
    if (!copy->func || !copy->file || !pointer_table_put(&snapshot->codes, code->id, copy))
        return NULL;
    return copy;
}

static bool intern_frames(struct snapshot *snapshot, struct cpy_thread *thread)
{
    struct cpy_frame *frames = arena_alloc(&snapshot->arena, thread->depth * sizeof(*frames) + 1);

    for (uint32_t i = 0; frames && i < thread->depth; i++) {
        frames[i] = thread->frames[i];
        frames[i].code = intern_code(snapshot, thread->frames[i].code);
        if (!frames[i].code)
            return false;
    }
    thread->frames = frames;
    return frames != NULL;
}

void snapshot_add(void *ctx, const struct cpy_thread *thread)
{
    struct snapshot *snapshot = ctx;
    struct cpy_thread copy = *thread;

    if (snapshot->failed)
        return;
    snapshot->failed = true;
    if (thread->name) {
        copy.name = arena_strndup(&snapshot->arena, thread->name, strlen(thread->name));
        if (!copy.name)
            return;
    }
    if (!intern_frames(snapshot, &copy) ||
        !ARRAY_RESERVE(snapshot->threads, snapshot->capacity, snapshot->count + 1))
        return;
    snapshot->threads[snapshot->count++] = copy;
    snapshot->torn += thread->torn;
    snapshot->failed = false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - see snapshot.h. */
#include "agent/dump/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { CODES_LEAST = 256 };

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
    free(snapshot->codes);
    arena_finish(&snapshot->arena);
    snapshot_init(snapshot);
}

void snapshot_reset(struct snapshot *snapshot)
{
    snapshot->count = snapshot->torn = snapshot->code_count = 0;
    snapshot->failed = false;
    if (snapshot->codes)
        memset(snapshot->codes, 0, snapshot->code_capacity * sizeof(*snapshot->codes));
    arena_reset(&snapshot->arena);
}

/* True if both are the same; the ids alone would do for what is a code object. */
static bool is_same_code(const struct cpy_code *one, const struct cpy_code *other)
{
    return one->id == other->id && strcmp(one->func, other->func) == 0 &&
           strcmp(one->file, other->file) == 0;
}

/* The slot that holds a code object, or an empty one. */
static size_t find_code_copy_slot(const struct snapshot *snapshot, const struct cpy_code *code)
{
    size_t mask = snapshot->code_capacity - 1;
    size_t slot = (size_t)(code->id * 0x9E3779B97F4A7C15U >> 32) & mask;

    while (snapshot->codes[slot] && !is_same_code(snapshot->codes[slot], code))
        slot = (slot + 1) & mask;
    return slot;
}

/* Makes room for one more code object. */
static bool widen_codes(struct snapshot *snapshot)
{
    const struct cpy_code **before = snapshot->codes;
    size_t i, capacity = snapshot->code_capacity;

    if (snapshot->code_count < capacity / 2)
        return true;
    snapshot->code_capacity = capacity ? capacity * 2 : CODES_LEAST;
    snapshot->codes = calloc(snapshot->code_capacity, sizeof(*snapshot->codes));
    if (!snapshot->codes) {
        snapshot->codes = before;
        snapshot->code_capacity = capacity;
        return false;
    }
    for (i = 0; i < capacity; i++)
        if (before[i])
            snapshot->codes[find_code_copy_slot(snapshot, before[i])] = before[i];
    free(before);
    return true;
}

/* A copy of the code object, the same one for the same. NULL: out of memory. */
static const struct cpy_code *intern_code(struct snapshot *snapshot, const struct cpy_code *code)
{
    struct cpy_code *copy;
    size_t slot;

    if (!widen_codes(snapshot))
        return NULL;
    slot = find_code_copy_slot(snapshot, code);
    if (snapshot->codes[slot])
        return snapshot->codes[slot];
    copy = arena_alloc(&snapshot->arena, sizeof(*copy));
    if (!copy)
        return NULL;
    *copy = *code;
    copy->func = arena_strndup(&snapshot->arena, code->func, strlen(code->func));
    copy->file = arena_strndup(&snapshot->arena, code->file, strlen(code->file));
    if (!copy->func || !copy->file)
        return NULL;
    snapshot->codes[slot] = copy;
    snapshot->code_count++;
    return copy;
}

static bool intern_frames(struct snapshot *snapshot, struct cpy_thread *thread)
{
    struct cpy_frame *frames = arena_alloc(&snapshot->arena, thread->depth * sizeof(*frames) + 1);
    uint32_t i;

    for (i = 0; frames && i < thread->depth; i++) {
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

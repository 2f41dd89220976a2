/* SPDX-License-Identifier: Apache-2.0 */
/* frame_values.c - see frame_values.h. */
#include "unwind/frame_values.h"

enum { STACKSIZE = 0, NLOCALSPLUS = 2 /* of the ints from co_stacksize on */ };

static const struct listed *find_thread(const struct cpy_target *t, cpy_addr state)
{
    for (size_t i = 0; i < t->list.thread_count; i++)
        if (t->list.threads[i].words.addr == state)
            return &t->list.threads[i];
    return NULL;
}

enum cpy_rc frame_values_walk(struct cpy_target *t, cpy_addr state, const struct listed **out)
{
    const struct reader reader = target_reader(t);
    const struct walk_marks marks = {0};
    const struct raw_before before = {0};
    struct thread_words words;
    uint64_t generation = 0;
    enum cpy_rc rc;

    *out = find_thread(t, state);
    if (!*out)
        return CPY_RACED;
    t->prefetch.now = NULL;
    rc = walk_read_thread(&reader, state, &words);
    if (rc == CPY_OK)
        rc = walk_stack(&reader, t->scratch->walk, &words, &marks, &before, 0, t->scratch->raw,
                        &generation);
    return rc;
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

    return count < 0 ? 0 : count > FRAME_VALUES_MAX ? FRAME_VALUES_MAX : (size_t)count;
}

enum cpy_rc frame_values_read(struct cpy_target *t, const struct raw_frame *frames, size_t count,
                              struct frame_values *out)
{
    const struct layout *l = &t->found.layout;
    const uint32_t values = l->frame.values ? l->frame.values : l->frame.size;
    int32_t words[FRAME_VALUES_BATCH][3] = {{0}};
    struct mem_range ranges[FRAME_VALUES_BATCH];
    enum cpy_rc rc;

    out->count = out->used = 0;
    for (size_t i = 0; i < count; i++) {
        if (!counts_at(l, &frames[i], &ranges[out->count].from, &ranges[out->count].size))
            continue;
        ranges[out->count].into = words[out->count];
        out->parts[out->count++].frame = frames[i].addr;
    }
    rc = mem_read_ranges(&t->prefetch.mem, ranges, out->count);
    for (size_t i = 0; i < out->count; i++) {
        struct frame_values_part *part = &out->parts[i];

        part->from = part->frame + values;
        part->values = out->values + out->used;
        part->count = count_values(l, words[i]);
        ranges[i] = (struct mem_range){part->from, out->values + out->used, 8 * part->count};
        out->used += part->count;
    }
    return rc == CPY_OK ? mem_read_ranges(&t->prefetch.mem, ranges, out->count) : rc;
}

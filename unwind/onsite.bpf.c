/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * onsite.bpf.c - runs in the kernel, in an interrupt of the thread that is read: copies the ranges
 * that are asked for and, of the stack as it is just now, what is not among them.
 *
 * For clang -target bpf: `make bpf` makes onsite.bpf.inc of it, so that nobody else needs that
 * compiler. The kernel's verifier sees to it that it ends, and writes nowhere but into
 * the area. To the kernel it is offered under the second of the licences above, which
 * bpf_probe_read_user asks for.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include "unwind/onsite_program.h"

static uint64_t (*const ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static uint64_t (*const current_pid_tgid)(void) = (void *)BPF_FUNC_get_current_pid_tgid;
static long (*const probe_read_user)(void *into, uint32_t size,
                                     uint64_t from) = (void *)BPF_FUNC_probe_read_user;

/* Copies a range to its place. */
static inline __attribute__((always_inline)) bool copy(struct onsite_area *area, uint64_t from,
                                                       uint32_t size, uint32_t at)
{
    if (size > ONSITE_PIECE || at > ONSITE_BYTES)
        return false;
    return probe_read_user(area->bytes + at, size, from) == 0;
}

/* Its highest bit is 0 if the range has all of that: the verifier follows each branch by itself. */
static inline __attribute__((always_inline)) uint64_t lacks(const struct onsite_range *range,
                                                            uint64_t from, uint64_t size)
{
    const uint64_t at = from - range->from;

    return at | (range->size - size - at);
}

/* True if it is in a range that was asked for, or in the data stack as it was found. */
static inline __attribute__((always_inline)) bool is_there(const struct onsite_area *area,
                                                           uint64_t from, uint64_t size)
{
    uint64_t lacking = UINT64_MAX;

#pragma clang loop unroll(full)
    for (uint32_t i = 0; i < ONSITE_CHUNKS; i++)
        lacking &= lacks(&area->found[i], from, size);
#pragma clang loop unroll(full)
    for (uint32_t i = 0; i < ONSITE_LOOKED; i++)
        lacking &= lacks(&area->ranges[i], from, size);
    return lacking >> 63 == 0;
}

/*
 * Copies what is not there yet. What cannot be read is left out: whoever needs it finds that out.
 * Bounds are held by masks, not by branches; that there was no room tells onsite.c by the counts.
 */
static inline __attribute__((always_inline)) void find(struct onsite_area *area, uint64_t from,
                                                       uint32_t size)
{
    const uint32_t found = area->found_count & (ONSITE_FOUND - 1);
    const uint32_t at = area->used & (ONSITE_BYTES - 1);

    if (is_there(area, from, size) || probe_read_user(area->bytes + at, size, from) != 0)
        return;
    area->found[found].from = from;
    area->found[found].size = size;
    area->found[found].at = at;
    area->found_count++;
    area->used += (size + 7) & ~7U;
}

/* Where the current frame is said: in 3.11 and 3.12 in a record of the call into the interpreter.
 */
static inline __attribute__((always_inline)) uint64_t current_frame_at(struct onsite_area *area)
{
    uint64_t record = 0, words[2] = {0}; /* _PyCFrame: current_frame, previous */

    if (area->chain.cframe == ONSITE_NONE)
        return area->thread + area->chain.current_frame;
    if (probe_read_user(&record, sizeof(record), area->thread + area->chain.cframe) != 0)
        return 0;
    record += area->chain.current_frame;
    find(area, record, sizeof(words));
    if (probe_read_user(words, sizeof(words), record) == 0 && words[1] != 0)
        find(area, words[1] + area->chain.current_frame, sizeof(words[1]));
    return record;
}

/* Copies what is used of the data stack, the newest chunk first. */
static inline __attribute__((always_inline)) void follow_chunks(struct onsite_area *area)
{
    uint64_t words[2] = {0}; /* of the thread: where the newest begins, and the top */
    uint64_t head[3] = {0};  /* _PyStackChunk: previous, size, top */
    uint64_t size;

    if (probe_read_user(words, sizeof(words), area->thread + area->chain.datastack_chunk) != 0)
        return;
    for (uint32_t i = 0; i < ONSITE_CHUNKS && words[0] != 0; i++) {
        if (probe_read_user(head, sizeof(head), words[0]) != 0)
            return;
        size = i == 0 ? words[1] - words[0] : sizeof(head) + head[2] * 8;
        if (size <= ONSITE_PIECE)
            find(area, words[0], (uint32_t)size);
        words[0] = head[0];
    }
}

/* Copies the frames that are elsewhere. */
static inline __attribute__((always_inline)) void follow_frames(struct onsite_area *area)
{
    uint64_t frame = 0;

    if (probe_read_user(&frame, sizeof(frame), current_frame_at(area)) != 0)
        return;
    for (uint32_t i = 0; i < ONSITE_FRAMES && frame != 0; i++) {
        find(area, frame + area->chain.frame_from, area->chain.frame_size & (ONSITE_FRAME - 1));
        if (probe_read_user(&frame, sizeof(frame), frame + area->chain.previous) != 0)
            return;
    }
}

__attribute__((section("program"))) int onsite_program(void *ctx)
{
    const uint64_t begin_ns = ktime_get_ns();
    struct onsite_area *area;

    (void)ctx;
    /* onsite.c puts the map there: ONSITE_HERE. */
    __asm__ volatile("%0 = 0x6f6e7369 ll" : "=r"(area));
    if ((uint32_t)current_pid_tgid() != area->tid)
        return ONSITE_ELSEWHERE;
    for (uint32_t i = 0; i < ONSITE_RANGES && i < area->count; i++)
        if (!copy(area, area->ranges[i].from, area->ranges[i].size, area->ranges[i].at))
            return ONSITE_FAULT;
    area->found_count = 0;
    if (area->thread != 0) {
        if (area->chain.datastack_chunk != ONSITE_NONE)
            follow_chunks(area);
        follow_frames(area);
    }
    area->took_ns = ktime_get_ns() - begin_ns;
    return ONSITE_COPIED;
}

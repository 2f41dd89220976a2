/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * bpf_reader.bpf.c - BPF program that runs in an interrupt of the thread that is read: copies the
 * requested ranges, and the parts of the thread's stack that are not among them.
 *
 * For clang -target bpf: `make bpf` makes bpf_reader.bpf.inc from it, so that a build does not need
 * that compiler. The kernel's verifier ensures that it ends, and writes only to the area. The
 * kernel gets it under the second of the licences above, because bpf_probe_read_user requires that.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include "unwind/fast/bpf_program.h"

static uint64_t (*const ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static uint64_t (*const current_pid_tgid)(void) = (void *)BPF_FUNC_get_current_pid_tgid;
static long (*const probe_read_user)(void *into, uint32_t size,
                                     uint64_t from) = (void *)BPF_FUNC_probe_read_user;

/* Functions that bpf_reader.c declares as global to the kernel, whose verifier then follows each
 * once, not at each call. */
#define SUBPROGRAM __attribute__((noinline, section("program")))

/* bpf_reader.c replaces the constant, BPF_READER_AREA_ADDRESS, by the address of the map. */
static inline __attribute__((always_inline)) struct bpf_reader_area *the_area(void)
{
    struct bpf_reader_area *area;

    __asm__ volatile("%0 = 0x6f6e7369 ll" : "=r"(area));
    return area;
}

static inline __attribute__((always_inline)) bool
range_contains(const struct bpf_reader_range *range, uint64_t from, uint64_t size)
{
    const uint64_t at = from - range->from;

    return at < range->size && size <= range->size - at;
}

/* True if the bytes are in one of the first requested ranges, or in a chunk of the data stack. */
static inline __attribute__((always_inline)) bool is_there(const struct bpf_reader_area *area,
                                                           uint64_t from, uint64_t size)
{
    for (uint32_t i = 0; i < BPF_READER_CHUNKS; i++)
        if (range_contains(&area->found[i], from, size))
            return true;
    for (uint32_t i = 0; i < BPF_READER_SEARCHED; i++)
        if (range_contains(&area->ranges[i], from, size))
            return true;
    return false;
}

/* Copies the next BPF_READER_STEP requested ranges: 1; 0: one cannot be read. */
static SUBPROGRAM uint64_t copy_next_ranges(uint64_t from)
{
    struct bpf_reader_area *area = the_area();
    const struct bpf_reader_range *range;

    for (uint64_t i = 0; i < BPF_READER_STEP && from + i < area->count; i++) {
        range = &area->ranges[(from + i) & (BPF_READER_RANGES - 1)];
        if (range->size > BPF_READER_PIECE || range->at > BPF_READER_BYTES ||
            probe_read_user(area->bytes + range->at, range->size, range->from) != 0)
            return 0;
    }
    return 1;
}

/*
 * Copies bytes that are not there yet: 1; 0: they cannot be read, which bpf_reader.c finds out when
 * it needs them. Without room only the counts grow, and tell bpf_reader.c so.
 */
static SUBPROGRAM uint64_t copy_missing_bytes(uint64_t from, uint64_t size)
{
    struct bpf_reader_area *area = the_area();
    const uint32_t found = area->found_count, at = area->used;

    if (size > BPF_READER_PIECE)
        return 0;
    if (is_there(area, from, size))
        return 1;
    if (found < BPF_READER_FOUND && at <= BPF_READER_BYTES) {
        if (probe_read_user(area->bytes + at, (uint32_t)size, from) != 0)
            return 0;
        area->found[found].from = from;
        area->found[found].size = (uint32_t)size;
        area->found[found].at = at;
    }
    area->found_count = found + 1;
    area->used = at + (((uint32_t)size + 7) & ~7U);
    return 1;
}

/* Address of the pointer to the current frame: in 3.11 and 3.12 in a record of the call into the
 * interpreter.
 */
static inline __attribute__((always_inline)) uint64_t
locate_current_frame(struct bpf_reader_area *area)
{
    uint64_t record = 0, words[2] = {0}; /* _PyCFrame: current_frame, previous */

    if (area->chain.cframe == BPF_READER_NO_FIELD)
        return area->thread + area->chain.current_frame;
    if (probe_read_user(&record, sizeof(record), area->thread + area->chain.cframe) != 0)
        return 0;
    record += area->chain.current_frame;
    (void)copy_missing_bytes(record, sizeof(words));
    if (probe_read_user(words, sizeof(words), record) == 0 && words[1] != 0)
        (void)copy_missing_bytes(words[1] + area->chain.current_frame, sizeof(words[1]));
    return record;
}

/* Copies the used part of each chunk of the data stack, the newest first. */
static inline __attribute__((always_inline)) void follow_chunks(struct bpf_reader_area *area)
{
    uint64_t words[2] = {0}; /* of the thread: where the newest begins, and the top */
    uint64_t head[3] = {0};  /* _PyStackChunk: previous, size, top */
    uint64_t size;

    if (probe_read_user(words, sizeof(words), area->thread + area->chain.datastack_chunk) != 0)
        return;
    for (uint64_t i = 0; i < BPF_READER_CHUNKS && words[0] != 0; i++) {
        if (probe_read_user(head, sizeof(head), words[0]) != 0)
            return;
        size = i == 0 ? words[1] - words[0] : sizeof(head) + head[2] * 8;
        (void)copy_missing_bytes(words[0], size);
        words[0] = head[0];
    }
}

/* Copies the next BPF_READER_STEP frames, unless they are there: the caller of the last; 0: none.
 */
static SUBPROGRAM uint64_t copy_next_frames(uint64_t frame)
{
    const struct bpf_reader_chain *chain = &the_area()->chain;

    for (uint64_t i = 0; i < BPF_READER_STEP && frame != 0; i++)
        if (!copy_missing_bytes(frame + chain->frame_from, chain->frame_size) ||
            probe_read_user(&frame, sizeof(frame), frame + chain->previous) != 0)
            return 0;
    return frame;
}

static inline __attribute__((always_inline)) void follow_frames(struct bpf_reader_area *area)
{
    uint64_t frame = 0;

    if (probe_read_user(&frame, sizeof(frame), locate_current_frame(area)) != 0)
        return;
    for (uint64_t i = 0; i < BPF_READER_FRAMES && frame != 0; i += BPF_READER_STEP)
        frame = copy_next_frames(frame);
}

__attribute__((section("program"))) int bpf_reader_program(void *ctx)
{
    const uint64_t begin_ns = ktime_get_ns();
    struct bpf_reader_area *area = the_area();

    (void)ctx;
    if ((uint32_t)current_pid_tgid() != area->tid)
        return BPF_READER_ELSEWHERE;
    for (uint64_t i = 0; i < BPF_READER_RANGES && i < area->count; i += BPF_READER_STEP)
        if (!copy_next_ranges(i))
            return BPF_READER_FAULT;
    area->found_count = 0;
    if (area->thread != 0) {
        if (area->chain.datastack_chunk != BPF_READER_NO_FIELD)
            follow_chunks(area);
        follow_frames(area);
    }
    area->took_ns = ktime_get_ns() - begin_ns;
    return BPF_READER_COPIED;
}

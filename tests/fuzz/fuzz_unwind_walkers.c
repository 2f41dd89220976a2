/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_unwind_walkers.c - any memory of a target of any version: a sample ends, reads nothing
 * of our own that it must not, and shows only what can be.
 *
 * Input: a byte for the version (3.6 to 3.12; 3.13 to 3.15 with and without the GIL; any whose
 * table of offsets is in the memory itself), a byte of options, four for where the runtime is,
 * then the memory. It is mapped at BASE, again and again up to WINDOW, so that most pointers that
 * a mutation makes lead somewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake_process.h"

enum { HEAD = 6, WINDOW = 1 << 18, READS_MAX = 20000, ROWS = 7, LAYOUTS = 14, THREADS_MARKED = 4 };
#define BASE UINT64_C(0x7f0000000000)

struct memory {
    struct mem mem;
    unsigned char *bytes; /* owned: exact, so that a sanitizer sees one byte too many */
    size_t size;
    uint64_t reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Makes a failed promise a crash. */
static void must(bool held)
{
    if (!held)
        abort();
}

static void copy(const struct memory *memory, size_t at, unsigned char *into, size_t size)
{
    size_t part;

    for (; size > 0; size -= part, into += part, at = 0) {
        at %= memory->size;
        part = size < memory->size - at ? size : memory->size - at;
        memcpy(into, memory->bytes + at, part);
    }
}

static enum cpy_rc memory_read(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    struct memory *memory = (struct memory *)mem;
    size_t i;

    must(count <= MEM_RANGES_MAX);
    memory->reads += count;
    if (memory->reads > READS_MAX)
        return CPY_GONE; /* long enough */
    for (i = 0; i < count; i++) {
        if (ranges[i].from < BASE || ranges[i].size > WINDOW ||
            ranges[i].from - BASE > WINDOW - ranges[i].size)
            return CPY_RACED;
        copy(memory, ranges[i].from - BASE, ranges[i].into, ranges[i].size);
    }
    return CPY_OK;
}

static void memory_close(struct mem *mem)
{
    struct memory *memory = (struct memory *)mem;

    free(memory->bytes);
    free(memory);
}

static struct memory *memory_new(const uint8_t *data, size_t size)
{
    struct memory *memory = calloc(1, sizeof(*memory));

    must(memory != NULL);
    memory->mem.read = memory_read;
    memory->mem.close = memory_close;
    memory->size = size;
    memory->bytes = malloc(size);
    must(memory->bytes != NULL);
    memcpy(memory->bytes, data, size);
    return memory;
}

/* Finds the version that the input asks for in its memory. */
static enum cpy_rc accept(struct cpy_target *t, unsigned profile, struct err *err)
{
    unsigned char table[FAKE_DEBUG_OFFSETS];
    unsigned debug = profile - ROWS; /* 3.13 to 3.15, then those without the GIL, then its own */

    if (profile < ROWS || debug >= 2 * FAKE_MINORS)
        return find_accept(t->process.mem, 3U << 24 | (6 + profile % ROWS) << 16, &t->found, err);
    fake_debug_offsets(FAKE_FIRST_MINOR + debug % FAKE_MINORS, debug >= FAKE_MINORS, table);
    return layout_from_debug_offsets(table, &t->found.layout, &t->found.hexversion, err);
}

static void check_thread(void *ctx, const struct cpy_thread *thread)
{
    size_t *text = ctx;
    uint32_t i;

    must(thread->depth <= CPY_DEPTH_MAX && (!thread->torn || thread->depth == 0));
    *text += thread->name ? strlen(thread->name) : 0;
    for (i = 0; i < thread->depth; i++) {
        const struct cpy_frame *frame = &thread->frames[i];

        *text += strlen(frame->code->func) + strlen(frame->code->file);
        must(frame->line >= 0 && frame->end_line >= 0);
        must(frame->column >= 0 && frame->end_column >= 0);
        *text += frame->opcode ? strlen(frame->opcode) : 0;
    }
}

static void sample(struct cpy_target *t, uint8_t asked)
{
    const struct cpy_options options = {
        .frames = asked & 0xF,
        .status = asked & 0x10 ? CPY_STATUS_EXCEPTION : 0,
        .only = asked & 0x20   ? CPY_STATUS_MAIN
                : asked & 0x40 ? CPY_STATUS_GIL
                               : 0,
        .tasks = asked & 0x80,
    };
    struct cpy_lock_wait waits[THREADS_MARKED] = {{0}};
    size_t text = 0, thread;
    uint64_t mark = 0;
    int i;

    target_choose_readers(t);
    cpy_set_options(t, &options);
    for (i = 0; i < 2; i++) /* read, then from the caches */
        (void)!cpy_sample(t, check_thread, &text);
    for (thread = 0; thread < t->list.thread_count && thread < THREADS_MARKED; thread++) {
        waits[thread].state = t->list.threads[thread].words.addr;
        waits[thread].futex = t->list.threads[thread].words.thread_id;
        (void)!cpy_fingerprint(t, waits[thread].state, &mark);
    }
    (void)!cpy_lock_holders(t, waits, thread);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cpy_target *t;
    struct err err = {""};
    uint32_t at;

    if (size <= HEAD)
        return 0;
    t = target_new();
    must(t != NULL);
    t->process.mem = &memory_new(data + HEAD, size - HEAD)->mem;
    memcpy(&at, data + 2, sizeof(at));
    t->found.runtime = BASE + at % WINDOW;
    if (accept(t, data[0] % LAYOUTS, &err) == CPY_OK)
        sample(t, data[1]);
    cpy_close(t);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.h - prediction over a memory that shows when and how it was read. */
#ifndef TESTS_UNIT_UNWIND_PREFETCH_H
#define TESTS_UNIT_UNWIND_PREFETCH_H

#include <stdlib.h>

#include "tests/unit/unit_test.h"
#include "unwind/fast/prefetch.h"

#define PREFETCH_BASE UINT64_C(0x7f0000000000)
enum { PREFETCH_PAGE = 4096, PREFETCH_FAR = 3 * PREFETCH_PAGE }; /* too far to be one range */

/* Memory in which each byte tells its address and `age`. */
struct source {
    struct mem mem; /* first: read finds the rest by it */
    unsigned char age;
    cpy_addr hole;                          /* a read that touches it fails; 0: none */
    struct mem_range asked[MEM_RANGES_MAX]; /* by the last call */
    size_t asked_count;
};

struct prefetch_fixture {
    struct source source;
    struct mem *inner;
    struct prefetch prefetch;
    struct prefetch_set set, other;
};

static inline unsigned char source_byte(cpy_addr at, unsigned char age)
{
    return (unsigned char)((at ^ at >> 8 ^ at >> 16) + age * 17U);
}

static inline enum cpy_rc source_read(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    struct source *source = (struct source *)mem;
    unsigned char *into;
    size_t i, at;

    mem->reads++;
    source->asked_count = count;
    for (i = 0; i < count; i++) {
        source->asked[i] = ranges[i];
        if (source->hole >= ranges[i].from && source->hole - ranges[i].from < ranges[i].size)
            return CPY_RACED;
        into = ranges[i].into;
        for (at = 0; at < ranges[i].size; at++)
            into[at] = source_byte(ranges[i].from + at, source->age);
    }
    return CPY_OK;
}

static inline int prefetch_set_up(void **state, bool by_address)
{
    struct prefetch_fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->source.mem.read = source_read;
    f->inner = &f->source.mem;
    prefetch_init(&f->prefetch, &f->inner);
    prefetch_set_init(&f->set, by_address);
    prefetch_set_init(&f->other, by_address);
    *state = f;
    return 0;
}

static inline int prefetch_tear_down(void **state)
{
    struct prefetch_fixture *f = *state;

    prefetch_set_finish(&f->prefetch, &f->set);
    prefetch_set_finish(&f->prefetch, &f->other);
    assert_int_equal(f->prefetch.bytes, 0);
    prefetch_finish(&f->prefetch);
    free(f);
    return 0;
}

/* The next sample: memory is another one, and what is wanted of it is fetched. */
static inline void next_sample(struct prefetch_fixture *f)
{
    struct prefetch_set *set = &f->set;

    f->source.age++;
    prefetch_fetch(&f->prefetch, &set, 1);
    f->prefetch.now = set;
}

/* Reads; true if that was served. The bytes must be those of the age `fetched`, or else of now. */
static inline bool is_served(struct prefetch_fixture *f, cpy_addr from, size_t size,
                             enum mem_when when, unsigned char fetched)
{
    unsigned char *bytes = malloc(size);
    const uint64_t reads = f->source.mem.reads;
    unsigned char age;
    size_t i;

    assert_non_null(bytes);
    f->prefetch.mem.when = when;
    assert_int_equal(mem_read(&f->prefetch.mem, from, bytes, size), CPY_OK);
    f->prefetch.mem.when = MEM_FIRST;
    age = f->source.mem.reads == reads ? fetched : f->source.age;
    for (i = 0; i < size; i++)
        if (bytes[i] != source_byte(from + i, age))
            fail_msg("byte %zu of what was read is wrong", i);
    free(bytes);
    return f->source.mem.reads == reads;
}

/* The same for what is read first, and was fetched at this age of memory. */
static inline bool is_there(struct prefetch_fixture *f, cpy_addr from, size_t size)
{
    return is_served(f, from, size, MEM_FIRST, f->source.age);
}

/* True if the last call asked for a range that begins there; *size: its size. */
static inline bool was_asked(const struct prefetch_fixture *f, cpy_addr from, size_t *size)
{
    size_t i;

    for (i = 0; i < f->source.asked_count; i++) {
        *size = f->source.asked[i].size;
        if (f->source.asked[i].from == from)
            return true;
    }
    return false;
}

#endif

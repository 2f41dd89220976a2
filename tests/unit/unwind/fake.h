/* SPDX-License-Identifier: Apache-2.0 */
/* fake.h - a target's memory made by hand, for tests of unwind/. */
#ifndef TESTS_UNIT_UNWIND_FAKE_H
#define TESTS_UNIT_UNWIND_FAKE_H

#include <stdlib.h>
#include <string.h>

#include "tests/images/image.h"
#include "tests/unit/unit_test.h"
#include "unwind/objects/object.h"
#include "unwind/target.h"

enum { FAKE_SIZE = 2 << 20, FAKE_ALIGN = 16 };
#define FAKE_BASE UINT64_C(0x7f0000000000)
#define NOWHERE   UINT64_C(0x123456789000) /* an address where nothing is mapped */

struct fake {
    struct mem mem; /* first: read finds the rest by it */
    struct layout layout;
    struct reader reader;
    size_t used;
    cpy_addr hole, hole_end;           /* a read that touches it fails */
    uint64_t change_at;                /* before this read (1 is the first) ... */
    void (*change)(struct fake *fake); /* ... this is called */
    unsigned char bytes[FAKE_SIZE];
};

static inline enum cpy_rc fake_read(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    struct fake *fake = (struct fake *)mem;
    size_t i;

    mem->reads++;
    if (fake->change && mem->reads == fake->change_at)
        fake->change(fake);
    for (i = 0; i < count; i++) {
        if (ranges[i].from < FAKE_BASE || ranges[i].size > FAKE_SIZE ||
            ranges[i].from - FAKE_BASE > FAKE_SIZE - ranges[i].size)
            return CPY_RACED;
        if (ranges[i].from < fake->hole_end && ranges[i].from + ranges[i].size > fake->hole)
            return CPY_RACED;
        memcpy(ranges[i].into, fake->bytes + (ranges[i].from - FAKE_BASE), ranges[i].size);
        mem->bytes += ranges[i].size;
    }
    return CPY_OK;
}

static inline void fake_close(struct mem *mem)
{
    free(mem);
}

/* Ended by mem_close(&fake->mem). */
static inline struct fake *fake_new(const struct layout *layout)
{
    struct fake *fake = calloc(1, sizeof(*fake));

    assert_non_null(fake);
    fake->mem.read = fake_read;
    fake->mem.close = fake_close;
    if (layout)
        fake->layout = *layout;
    layout_find_spans(&fake->layout);
    fake->reader = (struct reader){&fake->mem, &fake->layout, false};
    return fake;
}

/* `size` bytes of zeros. */
static inline cpy_addr fake_room(struct fake *fake, size_t size)
{
    size_t at = fake->used;

    assert_true(size <= FAKE_SIZE - at);
    fake->used += (size + FAKE_ALIGN - 1) / FAKE_ALIGN * FAKE_ALIGN;
    return FAKE_BASE + at;
}

static inline void fake_put(struct fake *fake, cpy_addr at, const void *bytes, size_t size)
{
    assert_true(at >= FAKE_BASE && at - FAKE_BASE <= FAKE_SIZE - size);
    memcpy(fake->bytes + (at - FAKE_BASE), bytes, size);
}

static inline void fake_put64(struct fake *fake, cpy_addr at, uint64_t value)
{
    fake_put(fake, at, &value, sizeof(value));
}

static inline void fake_put32(struct fake *fake, cpy_addr at, uint32_t value)
{
    fake_put(fake, at, &value, sizeof(value));
}

static inline void fake_put8(struct fake *fake, cpy_addr at, uint8_t value)
{
    fake_put(fake, at, &value, sizeof(value));
}

/* PyASCIIObject.state */
enum { FAKE_COMPACT = 32, FAKE_ASCII = 64 };

/* A str of `length` characters of `kind` bytes. */
static inline cpy_addr fake_str_of(struct fake *fake, uint32_t kind, bool ascii, const void *chars,
                                   size_t length)
{
    const struct layout *l = &fake->layout;
    uint32_t data = ascii ? l->unicode.ascii_data : l->unicode.compact_data;
    cpy_addr str = fake_room(fake, data + (length + 1) * kind);

    fake_put64(fake, str + l->unicode.length, length);
    fake_put32(fake, str + l->unicode.state, kind << 2 | FAKE_COMPACT | (ascii ? FAKE_ASCII : 0));
    fake_put(fake, str + data, chars, length * kind);
    return str;
}

static inline cpy_addr fake_str(struct fake *fake, const char *text)
{
    return fake_str_of(fake, 1, true, text, strlen(text));
}

static inline cpy_addr fake_bytes(struct fake *fake, const void *bytes, size_t size)
{
    cpy_addr object = fake_room(fake, fake->layout.bytes.ob_sval + size + 1);

    fake_put64(fake, object + fake->layout.object.ob_size, size);
    fake_put(fake, object + fake->layout.bytes.ob_sval, bytes, size);
    return object;
}

/* A type object of the given tp_name. */
static inline cpy_addr fake_type(struct fake *fake, const char *name)
{
    cpy_addr type = fake_room(fake, 1024), text = fake_room(fake, strlen(name) + 1);

    fake_put(fake, text, name, strlen(name) + 1);
    fake_put64(fake, type + fake->layout.type.tp_name, text);
    return type;
}

/* The layout of CPython 3.`minor`: a row, or what a golden image's own table says. */
static inline struct layout fake_layout(unsigned minor)
{
    static const char *const images[] = {
        [13] = "tests/golden/unwind/3.13.18-debian.img",
        [14] = "tests/golden/unwind/3.14.10-debian.img",
        [15] = "tests/golden/unwind/3.15.2-debian.img",
    };
    struct cpy_target *target;
    struct layout layout;
    struct err err = {""};

    if (minor < 13)
        return *layout_of_version(3U << 24 | minor << 16);
    if (image_open_target(images[minor], &target, &err) != CPY_OK)
        fail_msg("%s", err.text);
    layout = target->found.layout;
    cpy_close(target);
    return layout;
}

#endif

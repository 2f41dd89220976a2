/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the memory of a fake process, and how it is written. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/images/image.h"
#include "tests/unit/unit_test.h"

enum { ALIGN = 16 };

static enum cpy_rc fake_read(struct mem *mem, const struct mem_range *ranges, size_t count)
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

static void fake_close(struct mem *mem)
{
    free(mem);
}

struct fake *fake_new(const struct layout *layout)
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

struct fake *fake_of(unsigned minor)
{
    const struct layout layout = fake_layout(minor);

    return fake_new(&layout);
}

struct layout fake_layout(unsigned minor)
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

cpy_addr fake_room(struct fake *fake, size_t size)
{
    size_t at = fake->used;

    assert_true(size <= FAKE_SIZE - at);
    fake->used += (size + ALIGN - 1) / ALIGN * ALIGN;
    return FAKE_BASE + at;
}

void fake_put(struct fake *fake, cpy_addr at, const void *bytes, size_t size)
{
    assert_true(at >= FAKE_BASE && at - FAKE_BASE <= FAKE_SIZE - size);
    memcpy(fake->bytes + (at - FAKE_BASE), bytes, size);
}

void fake_put64(struct fake *fake, cpy_addr at, uint64_t value)
{
    fake_put(fake, at, &value, sizeof(value));
}

void fake_put32(struct fake *fake, cpy_addr at, uint32_t value)
{
    fake_put(fake, at, &value, sizeof(value));
}

void fake_put8(struct fake *fake, cpy_addr at, uint8_t value)
{
    fake_put(fake, at, &value, sizeof(value));
}

uint64_t fake_get64(const struct fake *fake, cpy_addr at)
{
    uint64_t value;

    assert_true(at >= FAKE_BASE && at - FAKE_BASE <= FAKE_SIZE - sizeof(value));
    memcpy(&value, fake->bytes + (at - FAKE_BASE), sizeof(value));
    return value;
}

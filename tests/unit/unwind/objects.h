/* SPDX-License-Identifier: Apache-2.0 */
/* objects.h - dicts and instances in a fake target. */
#ifndef TESTS_UNIT_UNWIND_OBJECTS_H
#define TESTS_UNIT_UNWIND_OBJECTS_H

#include "tests/unit/unwind/fake.h"

/* PyDictKeysObject */
enum {
    KEYS_LOG2_INDEX_BYTES = 9,
    KEYS_KIND = 10,
    KEYS_NENTRIES = 24,
    KEYS_INDICES = 32,
    KEYS_GENERAL = 0,
    KEYS_UNICODE = 1,
    KEYS_SPLIT = 2
};
/* PyTypeObject.tp_flags */
enum { TYPE_INLINE_VALUES = 1 << 2, TYPE_MANAGED_DICT = 1 << 4, TYPE_BASICSIZE = 32 };

/* A key and its value; 0 and 0: a hole. */
struct item {
    cpy_addr key, value;
};

static inline size_t objects_entry_size(uint8_t kind)
{
    return kind == KEYS_GENERAL ? 24 : 16;
}

/* The keys of a dict; those of a split one hold no values. */
static inline cpy_addr objects_keys(struct fake *fake, uint8_t kind, const struct item *items,
                                    size_t count)
{
    size_t size = objects_entry_size(kind), index_bytes = 8, log2 = 3, i;
    cpy_addr keys, at;

    while (index_bytes < count)
        index_bytes = (size_t)1 << ++log2;
    keys = fake_room(fake, KEYS_INDICES + index_bytes + count * size);
    fake_put8(fake, keys + KEYS_LOG2_INDEX_BYTES, (uint8_t)log2);
    fake_put8(fake, keys + KEYS_KIND, kind);
    fake_put64(fake, keys + KEYS_NENTRIES, count);
    for (i = 0; i < count; i++) {
        at = keys + KEYS_INDICES + index_bytes + i * size;
        if (kind == KEYS_GENERAL)
            fake_put64(fake, at, 12345); /* the hash */
        fake_put64(fake, at + size - 16, items[i].key);
        fake_put64(fake, at + size - 8, kind == KEYS_SPLIT ? 0 : items[i].value);
    }
    return keys;
}

/* The values of a split dict, behind the header that the version has. */
static inline cpy_addr objects_values(struct fake *fake, const struct item *items, size_t count)
{
    size_t skip = fake->layout.dict.values_skip, i;
    cpy_addr values = fake_room(fake, skip + count * 8);

    if (skip > 3)
        fake_put8(fake, values + 3, 1); /* valid */
    for (i = 0; i < count; i++)
        fake_put64(fake, values + skip + i * 8, items[i].value);
    return values;
}

static inline cpy_addr objects_dict(struct fake *fake, uint8_t kind, const struct item *items,
                                    size_t count)
{
    cpy_addr dict = fake_room(fake, 64);

    fake_put64(fake, dict + fake->layout.dict.ma_keys, objects_keys(fake, kind, items, count));
    if (kind == KEYS_SPLIT)
        fake_put64(fake, dict + fake->layout.dict.ma_values, objects_values(fake, items, count));
    return dict;
}

/* A class whose instances keep their attributes as `flags` and `dictoffset` say. */
static inline cpy_addr objects_class(struct fake *fake, uint64_t flags, int64_t dictoffset,
                                     cpy_addr cached_keys)
{
    const struct layout *l = &fake->layout;
    cpy_addr type = fake_type(fake, "Thing");

    fake_put64(fake, type + l->type.tp_flags, flags);
    fake_put64(fake, type + l->type.tp_basicsize, TYPE_BASICSIZE);
    fake_put64(fake, type + l->type.tp_dictoffset, (uint64_t)dictoffset);
    fake_put64(fake, type + l->type.ht_cached_keys, cached_keys);
    return type;
}

/* An instance with room before it and 16 values after it. */
static inline cpy_addr objects_instance(struct fake *fake, cpy_addr type)
{
    cpy_addr object = fake_room(fake, 32 + TYPE_BASICSIZE + 8 + 16 * 8) + 32;

    fake_put64(fake, object + fake->layout.object.ob_type, type);
    return object;
}

#endif

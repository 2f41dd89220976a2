/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c - objects of a fake process: what Python's own types look like in memory. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

/* PyDictKeysObject */
enum { KEYS_KIND = 10, KEYS_INDICES = 32 };
enum { OLD_KEYS_SIZE = 8, OLD_KEYS_NENTRIES = 32, OLD_KEYS_INDICES = 40 }; /* 3.6 to 3.10 */
enum { DIGIT_BITS = 30, DIGIT_MASK = (1 << DIGIT_BITS) - 1, DIGIT_COUNT_SHIFT = 3 };

/* 3.13 and before: `interned` takes two bits, and a byte in later builds without the GIL. */
static uint32_t kind_shift(const struct layout *l)
{
    return l->free_threaded && l->minor > 13 ? 8 : 2;
}

cpy_addr fake_str_of(struct fake *fake, uint32_t kind, bool ascii, const void *chars, size_t length)
{
    const struct layout *l = &fake->layout;
    uint32_t data = ascii ? l->unicode.ascii_data : l->unicode.compact_data;
    cpy_addr str = fake_room(fake, data + (length + 1) * kind);

    fake_put64(fake, str + l->unicode.length, length);
    fake_put32(fake, str + l->unicode.state,
               (kind | FAKE_COMPACT | (ascii ? FAKE_ASCII : 0)) << kind_shift(l));
    fake_put(fake, str + data, chars, length * kind);
    return str;
}

cpy_addr fake_str(struct fake *fake, const char *text)
{
    return fake_str_of(fake, 1, true, text, strlen(text));
}

cpy_addr fake_bytes(struct fake *fake, const void *bytes, size_t size)
{
    cpy_addr object = fake_room(fake, fake->layout.bytes.ob_sval + size + 1);

    fake_put64(fake, object + fake->layout.object.ob_size, size);
    if (bytes)
        fake_put(fake, object + fake->layout.bytes.ob_sval, bytes, size);
    return object;
}

cpy_addr fake_int(struct fake *fake, uint64_t value)
{
    const uint32_t digits[] = {value & DIGIT_MASK, (uint32_t)(value >> DIGIT_BITS)};
    cpy_addr object = fake_room(fake, fake->layout.integer.digit + sizeof(digits));

    assert_true(value >> 2 * DIGIT_BITS == 0);
    fake_put64(fake, object + fake->layout.integer.tag, (digits[1] ? 2U : 1U) << DIGIT_COUNT_SHIFT);
    fake_put(fake, object + fake->layout.integer.digit, digits, sizeof(digits));
    return object;
}

cpy_addr fake_type(struct fake *fake, const char *name, uint64_t flags)
{
    cpy_addr type = fake_room(fake, 1024), text = fake_room(fake, strlen(name) + 1);

    fake_put(fake, text, name, strlen(name) + 1);
    fake_put64(fake, type + fake->layout.type.tp_name, text);
    fake_put64(fake, type + fake->layout.type.tp_flags, flags);
    return type;
}

cpy_addr fake_object(struct fake *fake, cpy_addr type, uint64_t word)
{
    cpy_addr object = fake_room(fake, 64);

    fake_put64(fake, object + fake->layout.object.ob_type, type);
    fake_put64(fake, object + fake->layout.object.ob_size, word);
    return object;
}

cpy_addr fake_class(struct fake *fake, uint64_t flags, int64_t dictoffset, cpy_addr cached_keys)
{
    const struct layout *l = &fake->layout;
    cpy_addr type = fake_type(fake, "Thing", flags);

    fake_put64(fake, type + l->type.tp_basicsize, TYPE_BASICSIZE);
    fake_put64(fake, type + l->type.tp_dictoffset, (uint64_t)dictoffset);
    fake_put64(fake, type + l->type.ht_cached_keys, cached_keys);
    return type;
}

cpy_addr fake_instance(struct fake *fake, cpy_addr type)
{
    cpy_addr object = fake_room(fake, 32 + TYPE_BASICSIZE + 8 + 16 * 8) + 32;

    fake_put64(fake, object + fake->layout.object.ob_type, type);
    return object;
}

cpy_addr fake_keys(struct fake *fake, uint8_t kind, const struct fake_item *items, size_t count)
{
    size_t size = kind == KEYS_GENERAL ? 24 : 16, index_bytes = 8, log2 = 3, i;
    cpy_addr keys, at;

    while (index_bytes < count)
        index_bytes = (size_t)1 << ++log2;
    keys = fake_room(fake, KEYS_INDICES + index_bytes + count * size);
    fake_put8(fake, keys + KEYS_LOG2_SIZE, (uint8_t)log2); /* of a byte each */
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

cpy_addr fake_values(struct fake *fake, const struct fake_item *items, size_t count)
{
    size_t skip = fake->layout.dict.values_skip, i;
    cpy_addr values = fake_room(fake, skip + count * 8);

    if (skip > 3)
        fake_put8(fake, values + 3, 1); /* valid */
    for (i = 0; i < count; i++)
        fake_put64(fake, values + skip + i * 8, items[i].value);
    return values;
}

cpy_addr fake_dict(struct fake *fake, uint8_t kind, const struct fake_item *items, size_t count)
{
    cpy_addr dict = fake_room(fake, 64);

    fake_put64(fake, dict + fake->layout.dict.ma_keys, fake_keys(fake, kind, items, count));
    if (kind == KEYS_SPLIT)
        fake_put64(fake, dict + fake->layout.dict.ma_values, fake_values(fake, items, count));
    return dict;
}

/* Where the hash table of an int dict begins: behind the head of its keys. */
static cpy_addr put_int_keys(struct fake *fake, cpy_addr keys, size_t log2, size_t width,
                             size_t count)
{
    if (fake->layout.minor < 11) {
        fake_put64(fake, keys + OLD_KEYS_SIZE, UINT64_C(1) << log2);
        fake_put64(fake, keys + OLD_KEYS_NENTRIES, count);
        return keys + OLD_KEYS_INDICES;
    }
    fake_put8(fake, keys + KEYS_LOG2_SIZE, (uint8_t)log2);
    fake_put8(fake, keys + KEYS_LOG2_INDEX_BYTES, (uint8_t)(log2 + (width == 2)));
    fake_put8(fake, keys + KEYS_KIND, KEYS_GENERAL);
    fake_put64(fake, keys + KEYS_NENTRIES, count);
    return keys + KEYS_INDICES;
}

/* Finds a slot for a key; -1: empty. */
static size_t free_slot(const int16_t *table, size_t mask, uint64_t key)
{
    uint64_t perturb = key;
    size_t slot = key & mask;

    while (table[slot] != -1) {
        perturb >>= 5;
        slot = (slot * 5 + perturb + 1) & mask;
    }
    return slot;
}

cpy_addr fake_int_dict(struct fake *fake, const struct fake_int_item *items, size_t count)
{
    enum { ENTRY = 24, DELETED = -2 };
    size_t log2 = 3, width, i, slot;
    cpy_addr dict = fake_room(fake, 64), keys, slots, entry;
    int16_t *table;

    while (((size_t)2 << log2) / 3 < count)
        log2++;
    width = log2 < 8 ? 1 : 2;
    table = malloc(sizeof(*table) << log2);
    assert_non_null(table);
    memset(table, 0xff, sizeof(*table) << log2);
    keys = fake_room(fake, OLD_KEYS_INDICES + (width << log2) + count * ENTRY);
    fake_put64(fake, dict + fake->layout.dict.ma_keys, keys);
    slots = put_int_keys(fake, keys, log2, width, count);
    entry = slots + (width << log2);
    for (i = 0; i < count; i++, entry += ENTRY) {
        slot = free_slot(table, ((size_t)1 << log2) - 1, items[i].key);
        table[slot] = items[i].value ? (int16_t)i : DELETED;
        fake_put64(fake, entry, items[i].value ? items[i].key : 0);
        fake_put64(fake, entry + 8, items[i].value ? fake_int(fake, items[i].key) : 0);
        fake_put64(fake, entry + 16, items[i].value);
    }
    for (i = 0; i < (size_t)1 << log2; i++)
        fake_put(fake, slots + i * width, &table[i], width);
    free(table);
    return dict;
}

void fake_put_code(struct fake *fake, cpy_addr at, const struct fake_code *code)
{
    const struct layout *l = &fake->layout;

    fake_put64(fake, at + l->object.ob_type, code->type);
    if (l->code.co_code == NO_FIELD)
        fake_put64(fake, at + l->object.ob_size, code->units);
    else
        fake_put64(fake, at + l->code.co_code, fake_bytes(fake, NULL, (size_t)2 * code->units));
    fake_put64(fake, at + l->code.qualname,
               code->qualname ? code->qualname : fake_str(fake, code->func));
    fake_put64(fake, at + l->code.filename, fake_str(fake, "/srv/app.py"));
    fake_put64(fake, at + l->code.linetable, fake_bytes(fake, code->table, code->table_size));
    fake_put32(fake, at + l->code.firstlineno, code->first_line);
    if (l->code.firsttraceable != NO_FIELD)
        fake_put32(fake, at + l->code.firsttraceable, code->first_traceable);
    if (l->code.version != NO_FIELD)
        fake_put32(fake, at + l->code.version, code->version);
}

cpy_addr fake_code(struct fake *fake, const struct fake_code *code)
{
    cpy_addr at = fake_room(fake, fake->layout.code.size + (size_t)2 * code->units);

    fake_put_code(fake, at, code);
    return at;
}

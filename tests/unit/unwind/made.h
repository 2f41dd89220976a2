/* SPDX-License-Identifier: Apache-2.0 */
/*
 * made.h - the memory of a free-threaded CPython, made by hand.
 *
 * No package has such an interpreter, so no image of one can be taken.
 */
#ifndef TESTS_UNIT_UNWIND_MADE_H
#define TESTS_UNIT_UNWIND_MADE_H

#include "tests/unit/unwind/fake.h"
#include "tests/unit/unwind/made_fields.h"

/* What is under construction: `minor` 13 to 15 in `fake`. */
struct made {
    struct fake *fake;
    unsigned minor;
};

static inline uint32_t made_offset(const struct made *made, enum made_field field)
{
    return made_fields[field][MADE_MINORS + made->minor - MADE_FIRST_MINOR];
}

static inline void made_set(const struct made *made, cpy_addr base, enum made_field field,
                            uint64_t value)
{
    fake_put64(made->fake, base + made_offset(made, field), value);
}

static inline void made_set32(const struct made *made, cpy_addr base, enum made_field field,
                              uint32_t value)
{
    fake_put32(made->fake, base + made_offset(made, field), value);
}

/* _PyRuntime with its table; `interp` is its only interpreter. */
static inline cpy_addr made_runtime(const struct made *made, cpy_addr interp)
{
    unsigned char table[MADE_TABLE];
    cpy_addr runtime = fake_room(made->fake, MADE_TABLE);

    made_table(made->minor, true, table);
    fake_put(made->fake, runtime, table, sizeof(table));
    /* The words of the runtime begin behind its table. */
    made_set(made, runtime, MADE_RUNTIME_INTERPRETERS, interp);
    return runtime;
}

/* A str of characters of `kind` bytes. */
static inline cpy_addr made_str_of(const struct made *made, uint32_t kind, bool ascii,
                                   const void *chars, size_t length)
{
    uint32_t data = made_offset(made, ascii ? MADE_STR_ASCII_DATA : MADE_STR_DATA);
    cpy_addr str = fake_room(made->fake, data + (length + 1) * kind);
    /* 3.13: interned takes two bits, 3.14: a byte; then kind (3 bits), compact, ascii. */
    uint32_t state = (kind | 1U << 3 | (uint32_t)ascii << 4) << (made->minor == 13 ? 2 : 8);

    made_set(made, str, MADE_STR_LENGTH, length);
    made_set32(made, str, MADE_STR_STATE, state | 1 /* interned */);
    fake_put(made->fake, str + data, chars, length * kind);
    return str;
}

static inline cpy_addr made_str(const struct made *made, const char *text)
{
    return made_str_of(made, 1, true, text, strlen(text));
}

/* An int that takes two digits of 30 bits or less. */
static inline cpy_addr made_int(const struct made *made, uint64_t value)
{
    cpy_addr object = fake_room(made->fake, 64);

    assert_true(value >> 60 == 0);
    made_set(made, object, MADE_INT_TAG, value >> 30 ? 2U << 3 : 1U << 3);
    made_set32(made, object, MADE_INT_DIGIT, (uint32_t)(value & 0x3FFFFFFF));
    fake_put32(made->fake, object + made_offset(made, MADE_INT_DIGIT) + 4, (uint32_t)(value >> 30));
    return object;
}

static inline cpy_addr made_type(const struct made *made, const char *name, uint64_t flags,
                                 uint64_t basicsize, uint64_t dictoffset)
{
    cpy_addr type = fake_room(made->fake, 1024), text = fake_room(made->fake, strlen(name) + 1);

    fake_put(made->fake, text, name, strlen(name) + 1);
    made_set(made, type, MADE_TYPE_NAME, text);
    made_set(made, type, MADE_TYPE_FLAGS, flags);
    made_set(made, type, MADE_TYPE_BASICSIZE, basicsize);
    made_set(made, type, MADE_TYPE_DICTOFFSET, dictoffset);
    return type;
}

/* PyDictKeysObject with `count` pairs of keys and values; keys only if `values` is NULL. */
static inline cpy_addr made_keys(const struct made *made, bool general, const cpy_addr *keys,
                                 const cpy_addr *values, size_t count)
{
    enum { HEAD = 32, INDICES_LOG2 = 3, KIND_SPLIT = 2 };
    size_t i, size = general ? 24 : 16, key = general ? 8 : 0;
    cpy_addr at = fake_room(made->fake, HEAD + (1 << INDICES_LOG2) + count * size), entry;

    fake_put8(made->fake, at + 8, INDICES_LOG2);
    fake_put8(made->fake, at + 9, INDICES_LOG2);
    fake_put8(made->fake, at + 10, general ? 0 : values ? 1 : KIND_SPLIT);
    fake_put64(made->fake, at + 24, count);
    for (i = 0; i < count; i++) {
        entry = at + HEAD + (1 << INDICES_LOG2) + i * size + key;
        fake_put64(made->fake, entry, keys[i]);
        fake_put64(made->fake, entry + 8, values ? values[i] : 0);
    }
    return at;
}

static inline cpy_addr made_dict(const struct made *made, bool general, const cpy_addr *keys,
                                 const cpy_addr *values, size_t count)
{
    cpy_addr dict = fake_room(made->fake, 64);

    made_set(made, dict, MADE_DICT_KEYS, made_keys(made, general, keys, values, count));
    return dict;
}

#endif

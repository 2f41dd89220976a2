/* SPDX-License-Identifier: Apache-2.0 */
/* dict.c - knows how dicts and instance attributes lie in memory. */
#include <string.h>

#include "unwind/objects/object.h"

/* PyDictKeysObject, 3.11 to 3.15: Include/internal/pycore_dict.h. */
enum {
    KEYS_LOG2_SIZE = 8,
    KEYS_LOG2_INDEX_BYTES = 9,
    KEYS_KIND = 10,
    KEYS_NENTRIES = 24,
    KEYS_INDICES = 32,
    KEYS_HEAD = 32
};
/* The same before: Objects/dict-common.h, tags v3.6.15 to v3.10.13. */
enum { OLD_KEYS_SIZE = 8, OLD_KEYS_NENTRIES = 32, OLD_KEYS_INDICES = 40, OLD_KEYS_HEAD = 40 };
enum { KIND_GENERAL = 0 };
enum { NAME_MAX_BYTES = 31, BATCH = 64 };

/* PyTypeObject.tp_flags */
enum { FLAG_INLINE_VALUES = 1 << 2, FLAG_MANAGED_DICT = 1 << 4 };

/* A dict's keys, and the values of a split dict. */
struct entries {
    cpy_addr first; /* the first entry */
    uint64_t count;
    size_t size;     /* of an entry */
    size_t key;      /* in an entry; the value follows it */
    cpy_addr values; /* of a split dict, else 0 */
};

typedef bool each_entry(void *ctx, cpy_addr key, cpy_addr value);

/* 3.6 to 3.10: the width of an index follows from the size; all entries are general. */
static enum cpy_rc read_old_keys(const struct reader *reader, cpy_addr keys, struct entries *out)
{
    unsigned char head[OLD_KEYS_HEAD];
    int64_t size, count;
    enum cpy_rc rc = mem_read(reader->mem, keys, head, sizeof(head));
    uint64_t width;

    if (rc != CPY_OK)
        return rc;
    memcpy(&size, head + OLD_KEYS_SIZE, sizeof(size));
    memcpy(&count, head + OLD_KEYS_NENTRIES, sizeof(count));
    if (count < 0 || count > OBJECT_ENTRIES_MAX || size < count || size > UINT32_MAX)
        return CPY_RACED;
    width = size <= 0xFF ? 1 : size <= 0xFFFF ? 2 : 4;
    *out = (struct entries){.first = keys + OLD_KEYS_INDICES + (uint64_t)size * width,
                            .count = (uint64_t)count,
                            .size = 24,
                            .key = 8};
    return CPY_OK;
}

static enum cpy_rc read_keys(const struct reader *reader, cpy_addr keys, struct entries *out)
{
    unsigned char head[KEYS_HEAD];
    int64_t count;
    enum cpy_rc rc;

    if (reader->layout->keys == KEYS_3_6)
        return read_old_keys(reader, keys, out);
    rc = mem_read(reader->mem, keys, head, sizeof(head));
    if (rc != CPY_OK)
        return rc;
    memcpy(&count, head + KEYS_NENTRIES, sizeof(count));
    if (count < 0 || count > OBJECT_ENTRIES_MAX || head[KEYS_LOG2_INDEX_BYTES] > 32)
        return CPY_RACED;
    out->first = keys + KEYS_INDICES + (UINT64_C(1) << head[KEYS_LOG2_INDEX_BYTES]);
    out->count = (uint64_t)count;
    out->size = head[KEYS_KIND] == KIND_GENERAL ? 24 : 16;
    out->key = head[KEYS_KIND] == KIND_GENERAL ? 8 : 0;
    return CPY_OK;
}

/* Reads entry i: key and value, 0 for a hole. `block` holds BATCH entries from `base` on. */
static enum cpy_rc walk_entries(const struct reader *reader, const struct entries *entries,
                                each_entry *each, void *ctx)
{
    unsigned char block[BATCH * 24];
    cpy_addr pair[2], values[BATCH];
    uint64_t base, i, count;
    enum cpy_rc rc;

    for (base = 0; base < entries->count; base += BATCH) {
        count = entries->count - base < BATCH ? entries->count - base : BATCH;
        rc = mem_read(reader->mem, entries->first + base * entries->size, block,
                      count * entries->size);
        if (rc == CPY_OK && entries->values)
            rc = mem_read(reader->mem, entries->values + base * 8, values, count * 8);
        if (rc != CPY_OK)
            return rc;
        for (i = 0; i < count; i++) {
            memcpy(pair, block + i * entries->size + entries->key, sizeof(pair));
            if (entries->values)
                pair[1] = values[i];
            if (pair[0] && pair[1] && !each(ctx, pair[0], pair[1]))
                return CPY_OK;
        }
    }
    return CPY_OK;
}

enum cpy_rc object_dict_each(const struct reader *reader, cpy_addr dict, each_entry *each,
                             void *ctx)
{
    const struct layout *l = reader->layout;
    struct entries entries = {0};
    cpy_addr keys, values;
    struct mem_range ranges[] = {{dict + l->dict.ma_keys, &keys, sizeof(keys)},
                                 {dict + l->dict.ma_values, &values, sizeof(values)}};
    enum cpy_rc rc = mem_read_ranges(reader->mem, ranges, 2);

    if (rc == CPY_OK)
        rc = read_keys(reader, keys, &entries);
    if (rc != CPY_OK)
        return rc;
    entries.values = values ? values + l->dict.values_skip : 0;
    return walk_entries(reader, &entries, each, ctx);
}

/* Looks for a key by its text. */
struct search {
    const struct reader *reader;
    const char *name;
    size_t size;
    cpy_addr found;
    enum cpy_rc rc;
};

/* A key that is no ASCII str of the right length is passed over; so is one that cannot be read. */
static bool key_is(const struct search *search, cpy_addr key)
{
    const struct layout *l = search->reader->layout;
    char text[NAME_MAX_BYTES];
    uint64_t length;

    return mem_read_word(search->reader->mem, key + l->unicode.length, &length) == CPY_OK &&
           length == search->size &&
           mem_read(search->reader->mem, key + l->unicode.ascii_data, text, search->size) ==
               CPY_OK &&
           memcmp(text, search->name, search->size) == 0;
}

static bool compare_key(void *ctx, cpy_addr key, cpy_addr value)
{
    struct search *search = ctx;

    if (!key_is(search, key))
        return true;
    search->found = value;
    return false;
}

enum cpy_rc object_dict_find(const struct reader *reader, cpy_addr dict, const char *name,
                             cpy_addr *out)
{
    struct search search = {reader, name, strlen(name), 0, CPY_OK};
    enum cpy_rc rc = search.size > NAME_MAX_BYTES
                         ? CPY_RACED
                         : object_dict_each(reader, dict, compare_key, &search);

    if (rc == CPY_OK)
        *out = search.found;
    return rc;
}

/* What a type says of the attributes of its instances. */
struct class_facts {
    uint64_t flags;
    int64_t basicsize, dictoffset;
    cpy_addr cached_keys;
};

static enum cpy_rc read_class(const struct reader *reader, cpy_addr object, struct class_facts *out)
{
    const struct layout *l = reader->layout;
    cpy_addr type;
    enum cpy_rc rc = mem_read_word(reader->mem, object + l->object.ob_type, &type);
    struct mem_range ranges[4];

    if (rc != CPY_OK)
        return rc;
    ranges[0] = (struct mem_range){type + l->type.tp_flags, &out->flags, 8};
    ranges[1] = (struct mem_range){type + l->type.tp_basicsize, &out->basicsize, 8};
    ranges[2] = (struct mem_range){type + l->type.tp_dictoffset, &out->dictoffset, 8};
    ranges[3] = (struct mem_range){type + l->type.ht_cached_keys, &out->cached_keys, 8};
    rc = mem_read_ranges(reader->mem, ranges, 3);
    if (l->attributes == ATTRIBUTES_DICT)
        out->flags = 0;                                 /* the bits meant something else */
    if (rc == CPY_OK && out->flags & FLAG_MANAGED_DICT) /* only heap types have cached keys */
        rc = mem_read_ranges(reader->mem, &ranges[3], 1);
    return rc;
}

/* Finds an attribute in a values array whose names are in the class's cached keys. */
static enum cpy_rc find_in_values(const struct reader *reader, const struct class_facts *facts,
                                  cpy_addr values, const char *name, cpy_addr *out)
{
    struct search search = {reader, name, strlen(name), 0, CPY_OK};
    struct entries entries = {0};
    enum cpy_rc rc =
        search.size > NAME_MAX_BYTES ? CPY_RACED : read_keys(reader, facts->cached_keys, &entries);

    if (rc != CPY_OK)
        return rc;
    entries.values = values + reader->layout->dict.values_skip;
    rc = walk_entries(reader, &entries, compare_key, &search);
    if (rc == CPY_OK)
        *out = search.found;
    return rc;
}

/* Where a managed object keeps its attributes: a dict, or (values) an array; both 0: none. */
static enum cpy_rc find_managed(const struct reader *reader, const struct class_facts *facts,
                                cpy_addr object, cpy_addr *dict, cpy_addr *values)
{
    cpy_addr word, before;
    unsigned char valid;
    enum cpy_rc rc = mem_read_word(reader->mem, object - reader->layout->dict.managed, &word);

    *dict = *values = 0;
    if (rc != CPY_OK)
        return rc;
    switch (reader->layout->attributes) {
    case ATTRIBUTES_DICT: /* has no managed objects */
        return CPY_RACED;
    case ATTRIBUTES_3_11:
        rc = mem_read_word(reader->mem, object - 32, &before);
        *values = rc == CPY_OK ? before : 0;
        *dict = word;
        return rc;
    case ATTRIBUTES_3_12:
        *values = word & 1 ? word + 1 : 0;
        *dict = word & 1 ? 0 : word;
        return CPY_OK;
    case ATTRIBUTES_3_13:
        *dict = word;
        if (word || !(facts->flags & FLAG_INLINE_VALUES))
            return CPY_OK;
        if (facts->basicsize < 0 || facts->basicsize > OBJECT_SIZE_MAX)
            return CPY_RACED;
        *values = object + (uint64_t)facts->basicsize;
        rc = mem_read(reader->mem, *values + 3, &valid, 1); /* _dictvalues.valid */
        return rc == CPY_OK && !valid ? CPY_RACED : rc;
    }
    return CPY_RACED;
}

enum cpy_rc object_attribute(const struct reader *reader, cpy_addr object, const char *name,
                             cpy_addr *out)
{
    struct class_facts facts = {0};
    cpy_addr dict = 0, values = 0;
    enum cpy_rc rc = read_class(reader, object, &facts);

    if (rc != CPY_OK)
        return rc;
    if (facts.flags & FLAG_MANAGED_DICT) {
        rc = find_managed(reader, &facts, object, &dict, &values);
    } else {
        if (facts.dictoffset <= 0 || facts.dictoffset > OBJECT_SIZE_MAX)
            return CPY_RACED;
        rc = mem_read_word(reader->mem, object + (uint64_t)facts.dictoffset, &dict);
    }
    if (rc != CPY_OK)
        return rc;
    if (values)
        return find_in_values(reader, &facts, values, name, out);
    if (dict)
        return object_dict_find(reader, dict, name, out);
    *out = 0;
    return CPY_OK;
}

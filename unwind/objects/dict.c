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
/* Slots of a hash table that are looked at together, and how often; the mark of an empty one; the
 * base 2 logarithm of the bytes of the largest. */
enum { PROBES = 16, PROBE_ROUNDS_MAX = 16, SLOT_EMPTY = -1, SLOT_LOG2_MAX = 3 };
/* Hashes of ints: Include/internal/pycore_pyhash.h, PyHASH_MODULUS. */
#define INT_HASH_MODULUS ((UINT64_C(1) << 61) - 1)

/* PyTypeObject.tp_flags */
enum { FLAG_INLINE_VALUES = 1 << 2, FLAG_MANAGED_DICT = 1 << 4 };

/* A dict's keys, and the values of a split dict. */
struct entries {
    cpy_addr first; /* the first entry */
    uint64_t count;
    size_t size;     /* of an entry */
    size_t key;      /* in an entry; the value follows it */
    cpy_addr values; /* of a split dict, else 0 */

    cpy_addr slots;      /* the hash table, which has the number of an entry in a slot */
    uint64_t slot_count; /* a power of 2 */
    uint32_t slot_size;  /* 1, 2 or 4 */
};

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
                            .key = 8,
                            .slots = keys + OLD_KEYS_INDICES,
                            .slot_count = (uint64_t)size,
                            .slot_size = (uint32_t)width};
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
    if (count < 0 || count > OBJECT_ENTRIES_MAX || head[KEYS_LOG2_INDEX_BYTES] > 32 ||
        head[KEYS_LOG2_SIZE] > head[KEYS_LOG2_INDEX_BYTES] ||
        head[KEYS_LOG2_INDEX_BYTES] - head[KEYS_LOG2_SIZE] > SLOT_LOG2_MAX)
        return CPY_RACED;
    out->first = keys + KEYS_INDICES + (UINT64_C(1) << head[KEYS_LOG2_INDEX_BYTES]);
    out->count = (uint64_t)count;
    out->size = head[KEYS_KIND] == KIND_GENERAL ? 24 : 16;
    out->key = head[KEYS_KIND] == KIND_GENERAL ? 8 : 0;
    out->slots = keys + KEYS_INDICES;
    out->slot_count = UINT64_C(1) << head[KEYS_LOG2_SIZE];
    out->slot_size = UINT32_C(1) << (head[KEYS_LOG2_INDEX_BYTES] - head[KEYS_LOG2_SIZE]);
    return CPY_OK;
}

/* Calls `each` for each entry that is no hole. `block` holds BATCH entries from `base` on. */
static enum cpy_rc walk_entries(const struct reader *reader, const struct entries *entries,
                                object_each_entry *each, void *ctx)
{
    unsigned char block[BATCH * 24];
    cpy_addr pair[2], values[BATCH], at;
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
            at = entries->first + (base + i) * entries->size + entries->key + 8;
            if (entries->values) {
                pair[1] = values[i];
                at = entries->values + (base + i) * 8;
            }
            if (pair[0] && pair[1] && !each(ctx, pair[0], pair[1], at))
                return CPY_OK;
        }
    }
    return CPY_OK;
}

static enum cpy_rc read_dict(const struct reader *reader, cpy_addr dict, struct entries *out)
{
    const struct layout *l = reader->layout;
    cpy_addr keys, values;
    struct mem_range ranges[] = {{dict + l->dict.ma_keys, &keys, sizeof(keys)},
                                 {dict + l->dict.ma_values, &values, sizeof(values)}};
    enum cpy_rc rc = mem_read_ranges(reader->mem, ranges, 2);

    *out = (struct entries){0};
    if (rc == CPY_OK)
        rc = read_keys(reader, keys, out);
    if (rc == CPY_OK)
        out->values = values ? values + l->dict.values_skip : 0;
    return rc;
}

/* Looks for a key by its text. */
struct search {
    const struct reader *reader;
    const char *name;
    size_t size;
    cpy_addr found, at;
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

static bool compare_key(void *ctx, cpy_addr key, cpy_addr value, cpy_addr at)
{
    struct search *search = ctx;

    if (!key_is(search, key))
        return true;
    search->found = value;
    search->at = at;
    return false;
}

static enum cpy_rc find_entry(const struct reader *reader, const struct entries *entries,
                              const char *name, struct object_slot *out)
{
    struct search search = {reader, name, strlen(name), 0, 0};
    enum cpy_rc rc = search.size > NAME_MAX_BYTES
                         ? CPY_RACED
                         : walk_entries(reader, entries, compare_key, &search);

    if (rc == CPY_OK)
        *out = (struct object_slot){search.found, search.at};
    return rc;
}

enum cpy_rc object_dict_find(const struct reader *reader, cpy_addr dict, const char *name,
                             struct object_slot *out)
{
    return object_dict_find_first(reader, dict, name, OBJECT_ENTRIES_MAX, out);
}

enum cpy_rc object_dict_find_first(const struct reader *reader, cpy_addr dict, const char *name,
                                   uint64_t most, struct object_slot *out)
{
    struct entries entries;
    enum cpy_rc rc = read_dict(reader, dict, &entries);

    if (rc != CPY_OK)
        return rc;
    if (entries.count > most)
        entries.count = most;
    return find_entry(reader, &entries, name, out);
}

enum cpy_rc object_dict_each(const struct reader *reader, cpy_addr dict, object_each_entry *each,
                             void *ctx)
{
    struct entries entries;
    enum cpy_rc rc = read_dict(reader, dict, &entries);

    return rc == CPY_OK ? walk_entries(reader, &entries, each, ctx) : rc;
}

/* An entry of a dict whose keys are not all str. */
struct general_entry {
    uint64_t hash;
    cpy_addr key, value;
};

/* The slots that a hash leads to, one after the other; Objects/dictobject.c, "perturb". */
struct probe {
    uint64_t slot, perturb;
};

static void next_probe(const struct entries *entries, struct probe *probe)
{
    probe->perturb >>= 5;
    probe->slot = (probe->slot * 5 + probe->perturb + 1) & (entries->slot_count - 1);
}

/* Reads the next PROBES slots. */
static enum cpy_rc read_slots(const struct reader *reader, const struct entries *entries,
                              struct probe *probe, int64_t *out)
{
    uint32_t raw[PROBES] = {0};
    struct mem_range ranges[PROBES];
    enum cpy_rc rc;

    for (size_t i = 0; i < PROBES; i++, next_probe(entries, probe))
        ranges[i] = (struct mem_range){entries->slots + probe->slot * entries->slot_size, &raw[i],
                                       entries->slot_size};
    rc = mem_read_ranges(reader->mem, ranges, PROBES);
    for (size_t i = 0; i < PROBES && rc == CPY_OK; i++)
        out[i] = entries->slot_size == 1   ? (int8_t)raw[i]
                 : entries->slot_size == 2 ? (int16_t)raw[i]
                                           : (int32_t)raw[i];
    return rc;
}

/* Looks for a hash in PROBES slots; *end: it is none of the further ones. */
static enum cpy_rc find_in_slots(const struct reader *reader, const struct entries *entries,
                                 uint64_t hash, struct probe *probe, struct object_slot *out,
                                 bool *end)
{
    struct general_entry found[PROBES];
    struct mem_range ranges[PROBES];
    int64_t slots[PROBES];
    size_t count = 0;
    enum cpy_rc rc = read_slots(reader, entries, probe, slots);

    for (size_t i = 0; i < PROBES && rc == CPY_OK && !*end; i++) {
        *end = slots[i] == SLOT_EMPTY;
        if (slots[i] < 0 || (uint64_t)slots[i] >= entries->count)
            continue; /* what was there is deleted */
        ranges[count] = (struct mem_range){entries->first + (uint64_t)slots[i] * sizeof(found[0]),
                                           &found[count], sizeof(found[0])};
        count++;
    }
    if (rc == CPY_OK && count > 0)
        rc = mem_read_ranges(reader->mem, ranges, count);
    for (size_t i = 0; i < count && rc == CPY_OK && out->at == 0; i++)
        if (found[i].hash == hash && found[i].key && found[i].value)
            *out = (struct object_slot){found[i].value,
                                        ranges[i].from + offsetof(struct general_entry, value)};
    *end |= out->at != 0;
    return rc;
}

enum cpy_rc object_dict_find_int(const struct reader *reader, cpy_addr dict, uint64_t key,
                                 struct object_slot *out)
{
    struct probe probe = {.perturb = key};
    struct object_slot found = {0, 0};
    struct entries entries;
    bool end = false;
    enum cpy_rc rc = read_dict(reader, dict, &entries);

    if (rc != CPY_OK || key >= INT_HASH_MODULUS)
        return rc == CPY_OK ? CPY_RACED : rc;
    end = entries.count == 0 || entries.size != sizeof(struct general_entry) || entries.values != 0;
    if (!end && ((entries.slot_count & (entries.slot_count - 1)) != 0 || entries.slot_count == 0 ||
                 entries.slot_size > 4))
        return CPY_RACED;
    probe.slot = key & (entries.slot_count - 1);
    for (int i = 0; i < PROBE_ROUNDS_MAX && rc == CPY_OK && !end; i++)
        rc = find_in_slots(reader, &entries, key, &probe, &found, &end);
    if (rc == CPY_OK)
        *out = found;
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
                                  cpy_addr values, const char *name, struct object_slot *out)
{
    struct entries entries = {0};
    enum cpy_rc rc = read_keys(reader, facts->cached_keys, &entries);

    if (rc != CPY_OK)
        return rc;
    entries.values = values + reader->layout->dict.values_skip;
    return find_entry(reader, &entries, name, out);
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
                             struct object_slot *out)
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
    *out = (struct object_slot){0, 0};
    return CPY_OK;
}

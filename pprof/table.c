/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - see table.h. */
#include "pprof/table.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_FIRST = 64, TABLE_COUNT_MAX = 1 << 29 };

void table_init(struct table *table, struct arena *arena, uint64_t seed)
{
    *table = (struct table){.arena = arena, .seed = seed};
}

static size_t table_bytes(const struct table *table)
{
    return table->slot_count * sizeof(*table->slots) + table->capacity * sizeof(*table->entries);
}

void table_finish(struct table *table)
{
    if (table->arena)
        table->arena->max += table_bytes(table);
    free(table->slots);
    free(table->entries);
    table_init(table, table->arena, table->seed);
}

void table_reset(struct table *table)
{
    if (table->slots)
        memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
    table->count = 0;
}

/* Eight bytes a step; the multiplier is 2^64 over the golden ratio. */
static uint32_t hash_bytes(uint64_t seed, const void *key, size_t size)
{
    const uint64_t multiplier = UINT64_C(0x9e3779b97f4a7c15);
    const unsigned char *at = key;
    uint64_t hash = seed ^ (size * multiplier);
    uint64_t word;

    for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        hash = (hash ^ word) * multiplier;
        hash ^= hash >> 29;
    }
    word = 0;
    memcpy(&word, at, size);
    hash = (hash ^ word) * multiplier;
    hash ^= hash >> 32;
    hash *= multiplier;
    return (uint32_t)(hash >> 32);
}

/* The slot where the key is, or the empty one where it would go. */
static struct table_slot *probe(const struct table *table, uint32_t hash, const void *key,
                                size_t size)
{
    uint32_t mask = table->slot_count - 1;
    const struct table_entry *entry;
    uint32_t at;

    for (at = hash & mask; table->slots[at].place; at = (at + 1) & mask) {
        if (table->slots[at].hash != hash)
            continue;
        entry = &table->entries[table->slots[at].place - 1];
        if (entry->size == size && memcmp(entry->key, key, size) == 0)
            break;
    }
    return &table->slots[at];
}

uint32_t table_find(const struct table *table, const void *key, size_t size)
{
    if (table->count == 0)
        return TABLE_NONE;
    return probe(table, hash_bytes(table->seed, key, size), key, size)->place - 1;
}

/* Takes `bytes` off the arena's budget. */
static bool charge(struct arena *arena, size_t bytes)
{
    if (bytes > arena->max - arena->used)
        return false;
    arena->max -= bytes;
    return true;
}

static enum pprof_rc grow_slots(struct table *table)
{
    uint32_t count = table->slot_count ? table->slot_count * 2 : TABLE_FIRST * 2;
    size_t added = (count - table->slot_count) * sizeof(*table->slots);
    struct table_slot *slots;
    uint32_t i, at;

    if (!charge(table->arena, added))
        return PPROF_FULL;
    slots = calloc(count, sizeof(*slots));
    if (!slots) {
        table->arena->max += added;
        return PPROF_NOMEM;
    }
    for (i = 0; i < table->slot_count; i++) {
        if (!table->slots[i].place)
            continue;
        for (at = table->slots[i].hash & (count - 1); slots[at].place; at = (at + 1) & (count - 1))
            continue;
        slots[at] = table->slots[i];
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = count;
    return PPROF_OK;
}

static enum pprof_rc grow_entries(struct table *table)
{
    uint32_t capacity = table->capacity ? table->capacity * 2 : TABLE_FIRST;
    size_t added = (capacity - table->capacity) * sizeof(*table->entries);
    struct table_entry *entries;

    if (!charge(table->arena, added))
        return PPROF_FULL;
    entries = realloc(table->entries, capacity * sizeof(*entries));
    if (!entries) {
        table->arena->max += added;
        return PPROF_NOMEM;
    }
    table->entries = entries;
    table->capacity = capacity;
    return PPROF_OK;
}

static enum pprof_rc reserve_table_entry(struct table *table)
{
    enum pprof_rc rc = PPROF_OK;

    if (table->count >= TABLE_COUNT_MAX)
        return PPROF_FULL;
    if (table->count >= table->slot_count / 4 * 3)
        rc = grow_slots(table);
    if (rc == PPROF_OK && table->count == table->capacity)
        rc = grow_entries(table);
    return rc;
}

enum pprof_rc table_alloc(struct arena *arena, size_t size, void **out)
{
    size_t room = arena->max - arena->used;
    void *got = arena_alloc(arena, size);

    if (!got) /* the arena rounds up by less than 64 */
        return room < 64 || size > room - 64 ? PPROF_FULL : PPROF_NOMEM;
    *out = got;
    return PPROF_OK;
}

/* Copies the key with a NUL, so that texts can be used as they lie. */
static enum pprof_rc add_table_entry(struct table *table, uint32_t hash, const void *key,
                                     size_t size)
{
    enum pprof_rc rc = reserve_table_entry(table);
    struct table_slot *slot;
    void *copy;

    if (rc == PPROF_OK)
        rc = table_alloc(table->arena, size + 1, &copy);
    if (rc != PPROF_OK)
        return rc;
    memcpy(copy, key, size);
    ((char *)copy)[size] = '\0';
    slot = probe(table, hash, key, size); /* not before: the slots may have moved */
    table->entries[table->count] = (struct table_entry){.key = copy, .size = (uint32_t)size};
    *slot = (struct table_slot){.hash = hash, .place = ++table->count};
    return PPROF_OK;
}

enum pprof_rc table_intern(struct table *table, const void *key, size_t size, uint32_t *out)
{
    uint32_t hash = hash_bytes(table->seed, key, size);
    const struct table_slot *slot;
    enum pprof_rc rc;

    if (size > TABLE_KEY_MAX)
        return PPROF_FULL;
    if (table->count) {
        slot = probe(table, hash, key, size);
        if (slot->place) {
            *out = slot->place - 1;
            return PPROF_OK;
        }
    }
    rc = add_table_entry(table, hash, key, size);
    if (rc == PPROF_OK)
        *out = table->count - 1;
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* items.c - see items.h. */
#include "agent/top/items.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

static size_t hash_top_key(const struct top_key *key)
{
    const uint32_t numbers[] = {(uint32_t)key->line, key->function, (uint32_t)key->pid,
                                (uint32_t)key->tid};
    uint64_t hash = hash_fnv(HASH_START, key->name, strlen(key->name) + 1);

    hash = hash_fnv(hash, key->file, strlen(key->file) + 1);
    return (size_t)hash_fnv(hash, numbers, sizeof(numbers));
}

static bool is_equal(const struct top_key *a, const struct top_key *b)
{
    return a->line == b->line && a->function == b->function && a->pid == b->pid &&
           a->tid == b->tid && strcmp(a->name, b->name) == 0 && strcmp(a->file, b->file) == 0;
}

/* The place of a key, or the free one where it is to go. */
static size_t find_bucket(const struct top_items *items, const struct top_key *key)
{
    size_t mask = items->bucket_count - 1, at = hash_top_key(key) & mask;

    while (items->buckets[at] && !is_equal(&items->items[items->buckets[at]].key, key))
        at = (at + 1) & mask;
    return at;
}

/* Makes room for one more item, with at least half of the places free. False: out of memory. */
static bool grow_top_items(struct top_items *items)
{
    uint32_t *buckets;

    if (!ARRAY_RESERVE(items->items, items->capacity, items->count + 1))
        return false;
    if (items->bucket_count == 2 * items->capacity)
        return true;
    buckets = calloc(2 * items->capacity, sizeof(*buckets));
    if (!buckets)
        return false;
    free(items->buckets);
    items->buckets = buckets;
    items->bucket_count = 2 * items->capacity;
    for (size_t i = 1; i < items->count; i++)
        buckets[find_bucket(items, &items->items[i].key)] = (uint32_t)i;
    return true;
}

/* Appends an item with copies of its key's strings. False: there is no room. */
static bool append_top_item(struct top_items *items, const struct top_key *key)
{
    struct top_item item = {.key = *key};

    if (items->count >= TOP_ITEMS_MAX || !grow_top_items(items))
        return false;
    item.key.name = arena_strndup(&items->text, key->name, strlen(key->name));
    item.key.file = arena_strndup(&items->text, key->file, strlen(key->file));
    if (!item.key.name || !item.key.file)
        return false;
    items->items[items->count++] = item;
    return true;
}

bool top_items_init(struct top_items *items, const char *overflow_name)
{
    const struct top_key key = {.name = overflow_name, .file = ""};

    *items = (struct top_items){0};
    arena_init(&items->text, TOP_ITEMS_TEXT_MAX);
    return append_top_item(items, &key);
}

uint32_t top_items_get(struct top_items *items, const struct top_key *key)
{
    size_t at = find_bucket(items, key);

    if (items->buckets[at])
        return items->buckets[at];
    if (!append_top_item(items, key))
        return 0;
    /* The places may be others now. */
    items->buckets[find_bucket(items, key)] = (uint32_t)(items->count - 1);
    return (uint32_t)(items->count - 1);
}

void top_items_finish(struct top_items *items)
{
    free(items->items);
    free(items->buckets);
    arena_finish(&items->text);
    *items = (struct top_items){0};
}

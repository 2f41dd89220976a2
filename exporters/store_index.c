/* SPDX-License-Identifier: Apache-2.0 */
/* store_index.c - a binary heap of the store's files by age, and the names of their directories. */
#include "exporters/store_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void store_index_finish(struct store_index *index)
{
    if (!index)
        return;
    for (size_t i = 0; i < index->service_count; i++)
        free(index->services[i].name);
    free(index->services);
    free(index->heap);
    *index = (struct store_index){0};
}

static bool is_older(const struct store_entry *a, const struct store_entry *b)
{
    if (a->file.start_ms != b->file.start_ms)
        return a->file.start_ms < b->file.start_ms;
    return a->file.id < b->file.id;
}

static bool has_service_name(const struct store_index *index, size_t slot, const char *name)
{
    const char *its = slot < index->service_count ? index->services[slot].name : NULL;

    return its && strcmp(its, name) == 0;
}

/* The slot that has `name`, else one without files, else service_count. */
static size_t find_slot(const struct store_index *index, const char *name)
{
    size_t found = index->service_count;

    if (has_service_name(index, index->recent, name)) /* a scan asks for the same one many times */
        return index->recent;
    for (size_t i = 0; i < index->service_count; i++) {
        if (has_service_name(index, i, name))
            return i;
        if (index->services[i].files == 0)
            found = i;
    }
    return found;
}

static bool add_slot(struct store_index *index)
{
    if (!ARRAY_RESERVE(index->services, index->service_capacity, index->service_count + 1))
        return false;
    index->services[index->service_count++] = (struct store_service){0};
    return true;
}

static bool set_service_name(struct store_service *service, const char *name)
{
    char *copy;

    if (service->name && strcmp(service->name, name) == 0)
        return true;
    copy = strdup(name);
    if (!copy)
        return false;
    free(service->name);
    service->name = copy;
    return true;
}

bool store_index_service(struct store_index *index, const char *name, uint32_t *out)
{
    size_t slot = find_slot(index, name);

    if (slot >= UINT32_MAX || (slot == index->service_count && !add_slot(index)))
        return false;
    if (!set_service_name(&index->services[slot], name))
        return false;
    index->recent = slot;
    *out = (uint32_t)slot;
    return true;
}

static size_t find_store_owner(const struct store_index *index, uint32_t owner)
{
    size_t place = 0;

    while (place < index->owner_count && index->owners[place].owner != owner)
        place++;
    return place;
}

/* What the files of an owner are added to. The first place is for those that are not known. */
static struct store_owner *owner_of(struct store_index *index, uint32_t owner)
{
    size_t place;

    if (index->owner_count == 0)
        index->owners[index->owner_count++] = (struct store_owner){.owner = 0};
    place = find_store_owner(index, owner);
    if (place < index->owner_count)
        return &index->owners[place];
    for (place = 1; place < index->owner_count && index->owners[place].files > 0;)
        place++;
    if (place == STORE_OWNERS_MAX)
        return &index->owners[0];
    if (place == index->owner_count)
        index->owner_count++;
    index->owners[place] = (struct store_owner){.owner = owner};
    return &index->owners[place];
}

/* Puts an entry at a place of the heap whose parents may be younger. */
static void rise(struct store_index *index, size_t at, const struct store_entry *entry)
{
    struct store_entry *heap = index->heap;

    while (at > 0 && is_older(entry, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = *entry;
}

bool store_index_add(struct store_index *index, const struct store_entry *entry)
{
    struct store_entry added = *entry;
    struct store_owner *owner;

    if (!ARRAY_RESERVE(index->heap, index->capacity, index->count + 1))
        return false;
    owner = owner_of(index, entry->file.owner);
    owner->files++;
    owner->bytes += entry->size;
    added.owner = (uint32_t)(owner - index->owners);
    rise(index, index->count++, &added);
    index->bytes += entry->size;
    index->services[entry->service].files++;
    return true;
}

const struct store_entry *store_index_oldest(const struct store_index *index)
{
    return index->count > 0 ? &index->heap[0] : NULL;
}

const struct store_entry *store_index_oldest_of_largest(const struct store_index *index)
{
    const struct store_entry *found = NULL;
    size_t i, largest = 0;

    for (i = 1; i < index->owner_count; i++)
        if (index->owners[i].bytes > index->owners[largest].bytes)
            largest = i;
    for (i = 0; i < index->count; i++)
        if (index->heap[i].owner == largest && (!found || is_older(&index->heap[i], found)))
            found = &index->heap[i];
    return found;
}

static void forget_service(struct store_index *index, uint32_t number)
{
    struct store_service *service = &index->services[number];

    if (--service->files > 0)
        return;
    free(service->name);
    *service = (struct store_service){0};
}

/* Lets an entry sink from a place of the heap to where none below is older; gives that place. */
static size_t sink(struct store_index *index, size_t at, const struct store_entry *entry)
{
    struct store_entry *heap = index->heap;
    size_t child;

    while ((child = at * 2 + 1) < index->count) {
        if (child + 1 < index->count && is_older(&heap[child + 1], &heap[child]))
            child++;
        if (!is_older(&heap[child], entry))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = *entry;
    return at;
}

void store_index_drop(struct store_index *index, const struct store_entry *entry)
{
    const struct store_entry last = index->heap[index->count - 1];
    const size_t at = (size_t)(entry - index->heap);

    index->owners[entry->owner].files--;
    index->owners[entry->owner].bytes -= entry->size;
    index->bytes -= entry->size;
    forget_service(index, entry->service);
    index->count--;
    if (at < index->count)
        rise(index, sink(index, at, &last), &last);
}

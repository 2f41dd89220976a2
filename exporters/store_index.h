/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_index.h - index of the files of a store: a heap by age, and sums by owner.
 *
 * Shape:   zero it; store_index_service for a directory, store_index_add for a file in it,
 *          store_index_oldest or store_index_oldest_of_largest, store_index_drop;
 *          store_index_finish.
 * Threads: an index belongs to one thread at a time.
 */
#ifndef EXPORTERS_STORE_INDEX_H
#define EXPORTERS_STORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "exporters/store_name.h"

struct store_entry {
    struct store_file file;
    uint32_t service; /* number that store_index_service gave */
    uint32_t size;    /* bytes; UINT32_MAX: that many or more */
    uint32_t owner;   /* index in store_index.owners; store_index_add sets it */
};

struct store_service {
    char *name;     /* owned: name of the directory; NULL: the slot is free */
    uint32_t files; /* number of its entries */
};

/* Sums of the files of one owner. */
struct store_owner {
    uint32_t owner; /* as in the names of the files; 0: not known */
    uint32_t files;
    uint64_t bytes;
};

/* Further owners are counted as owner 0. */
enum { STORE_OWNERS_MAX = 256 };

struct store_index {
    struct store_entry *heap; /* owned: a binary heap, the oldest file first */
    size_t count, capacity;
    struct store_service *services; /* owned */
    size_t service_count;           /* slots, free ones included */
    size_t service_capacity;
    size_t recent;  /* slot of the last store_index_service, tried first by the next */
    uint64_t bytes; /* of all entries */
    struct store_owner owners[STORE_OWNERS_MAX];
    size_t owner_count;
};

/* Frees all memory; the index is empty then and can be used again. NULL is fine. */
void store_index_finish(struct store_index *index);

/*
 * Gives the number of the directory `name`. The number is valid while the directory has files; that
 * of one without files may go to the next new name. False: out of memory.
 */
MUST_CHECK bool store_index_service(struct store_index *index, const char *name, uint32_t *out);

/* Adds a file. False: out of memory. */
MUST_CHECK bool store_index_add(struct store_index *index, const struct store_entry *entry);

/* Gives the oldest file; NULL: there is none. Lends it until the next add or drop. */
const struct store_entry *store_index_oldest(const struct store_index *index);

/* As store_index_oldest, of the owner whose files take most bytes. Cost: goes over all files. */
const struct store_entry *store_index_oldest_of_largest(const struct store_index *index);

/* Removes `entry`, which the index lent; frees its directory's number if it was the last file. */
void store_index_drop(struct store_index *index, const struct store_entry *entry);

#endif

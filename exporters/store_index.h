/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_index.h - remembers which files a store has and whose they are, the oldest at hand.
 *
 * Shape:   zeroed; store_index_service to name a directory, store_index_add a file of it,
 *          store_index_oldest or store_index_oldest_of_largest, store_index_drop;
 * store_index_finish. Threads: an index belongs to one thread at a time.
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
    uint32_t service; /* index of a store_service */
    uint32_t size;    /* bytes; UINT32_MAX: so many or more */
    uint32_t owner;   /* index of owners; set by store_index_add */
};

struct store_service {
    char *name;     /* owned: of the directory; NULL: the slot is free */
    uint32_t files; /* entries that name it */
};

/* What the files of an owner take. */
struct store_owner {
    uint32_t owner; /* as in their names */
    uint32_t files;
    uint64_t bytes;
};

/* Owners beyond that count as one that is not known. */
enum { STORE_OWNERS_MAX = 256 };

struct store_index {
    struct store_entry *heap; /* owned: no entry is older than that at (its place - 1) / 2 */
    size_t count, capacity;
    struct store_service *services; /* owned */
    size_t service_count;           /* slots, free ones too */
    size_t service_capacity;
    size_t recent;  /* the slot that was asked for last */
    uint64_t bytes; /* of all entries */
    struct store_owner owners[STORE_OWNERS_MAX];
    size_t owner_count;
};

/* Frees what it holds and makes it empty again. NULL is fine. */
void store_index_finish(struct store_index *index);

/*
 * The number of the directory `name`. It holds while it has files; one without may
 * go to the next new name. False: no memory.
 */
MUST_CHECK bool store_index_service(struct store_index *index, const char *name, uint32_t *out);

/* Adds a file. False: no memory. */
MUST_CHECK bool store_index_add(struct store_index *index, const struct store_entry *entry);

/* The oldest file; NULL: there is none. Lends it until the next add or drop. */
const struct store_entry *store_index_oldest(const struct store_index *index);

/* The oldest file of the owner whose files take most. Likewise. Cost: a look at each file. */
const struct store_entry *store_index_oldest_of_largest(const struct store_index *index);

/* Forgets one of its files, and its directory's number if it was the last. */
void store_index_drop(struct store_index *index, const struct store_entry *entry);

#endif

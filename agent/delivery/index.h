/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.h - what is in the spool, in memory: a few bytes an entry.
 *
 * Shape:   delivery_index_add, find, and delivery_index_remove; the oldest is the first.
 * Threads: belongs to whoever holds its shelf's lock.
 */
#ifndef AGENT_DELIVERY_INDEX_H
#define AGENT_DELIVERY_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Entries that a spool may hold, so that its index stays small. */
enum { DELIVERY_INDEX_MAX = 16 * 1024 };

struct delivery_entry {
    uint64_t order;
    int64_t born_ns;  /* as delivery_item has it */
    uint32_t kib;     /* on the disk, rounded up */
    uint16_t on_disk; /* who owes it by the file's name */
    uint16_t owed;    /* who does in truth: what is not on disk yet */
    uint16_t sending; /* who is at it */
    bool bad;         /* to be set aside */
    bool going;       /* being removed, to make room */
};

struct delivery_index {
    struct delivery_entry *entries; /* owned: [first, first + count), by order */
    size_t first, count, capacity;
    uint64_t bytes; /* of all */
    size_t stale;   /* entries whose file does not say yet what is true */
};

void delivery_index_finish(struct delivery_index *index);

/* Adds an entry, newer than all. False: no memory, or not newer. */
MUST_CHECK bool delivery_index_add(struct delivery_index *index,
                                   const struct delivery_entry *entry);

/* NULL: there is none. Lends it until the next add or remove. */
struct delivery_entry *delivery_index_find(const struct delivery_index *index, uint64_t order);
struct delivery_entry *delivery_index_oldest(const struct delivery_index *index);

/* The oldest entry whose file is stale; NULL: there is none. */
struct delivery_entry *delivery_index_stale(const struct delivery_index *index);

/* Says who owes an entry, or that it is bad. */
void delivery_index_set(struct delivery_index *index, struct delivery_entry *entry, uint16_t owed,
                        bool bad);

/* Says what the file's name says now. */
void delivery_index_written(struct delivery_index *index, struct delivery_entry *entry,
                            uint16_t on_disk);

void delivery_index_remove(struct delivery_index *index, struct delivery_entry *entry);

#endif

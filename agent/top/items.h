/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.h - table of the functions, lines or threads that pystrobe top has seen, with sums.
 *
 * Shape:   top_items_init; top_items_get for each one that is met; read `items`; top_items_finish.
 * Threads: a table belongs to one thread at a time.
 */
#ifndef AGENT_TOP_ITEMS_H
#define AGENT_TOP_ITEMS_H

#include <stdbool.h>

#include "agent/sampling/service.h"
#include "base/arena.h"

enum {
    TOP_VALUES = VALUES_USUAL,
    TOP_ITEMS_MAX = 1 << 16,      /* items of one table; what comes later shares the first item */
    TOP_ITEMS_TEXT_MAX = 32 << 20 /* bytes of their names and files */
};

/* Sums by enum service_value: of the item itself, and with all that it called. */
struct top_sum {
    int64_t own[TOP_VALUES], total[TOP_VALUES];
};

/*
 * Identifies an item. Members that a kind of item does not have are 0 or "".
 *
 * Cache: sums of functions, lines and threads
 * Key:   name, file and line; of a thread pid, the kernel's thread id and its name
 * Ends:  never; a later thread with the same ids and name adds to the same item
 * Test:  tests/unit/top/test_model.c: threads_have_their_shares_and_what_they_do
 */
struct top_key {
    const char *name;  /* of a function or thread, as the profile has it */
    const char *file;  /* of a function */
    int32_t line;      /* first line of a function; number of a line; 0: not known */
    uint32_t function; /* of a line: index of its function in the table of functions */
    pid_t pid, tid;    /* of a thread; tid 0: CPU time that no thread was seen with */
};

struct top_item {
    struct top_key key;           /* its strings are in top_items.text */
    struct top_sum whole, recent; /* since the start; in the window of the model */
    uint32_t slice;               /* number of the last slice that had it; 0: none */
    uint32_t part;                /* index of its share in that slice */
    uint64_t row;                 /* number of the last row whose stack had it */
    /* Of threads: */
    uint32_t doing;   /* function that was innermost for longest in its last slice */
    int64_t doing_ns; /* wall time of that function in that slice; -1: not known yet */
    char state;       /* state letter of proc(5), e.g. 'R'; 0: not known, or it ended */
};

struct top_items {
    struct top_item *items; /* owned; the first stands for all for which there is no room */
    size_t count, capacity;
    uint32_t *buckets; /* owned: hash table of indices in `items`; 0: free */
    size_t bucket_count;
    struct arena text; /* owned */
};

/* Makes a table of the first item alone, which is called `overflow_name`. False: out of memory. */
MUST_CHECK bool top_items_init(struct top_items *items, const char *overflow_name);

/* The index of the item with this key, made if it is new; 0 if there is no room. May move items. */
MUST_CHECK uint32_t top_items_get(struct top_items *items, const struct top_key *key);

void top_items_finish(struct top_items *items);

#endif
